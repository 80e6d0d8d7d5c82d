"""What vLLM's argument parser does in one release, where releases differ."""

from __future__ import annotations

from functools import cache

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import Release, releases


@cache
def parser_behaves(release: str, behaviour: str) -> bool:
    """Whether a behaviour of `compat_matrix/argument_parser.yaml` holds in a known release."""
    last = _entry(behaviour).get("until", releases()[-1])
    return Release(release).within(behaviour_since(behaviour), last)


def behaviour_since(behaviour: str) -> str:
    """The first release with the behaviour."""
    return _entry(behaviour).get("from", releases()[0])


def _entry(behaviour: str) -> dict[str, str]:
    behaviours: dict[str, dict[str, str]] = documents("compat_matrix")["argument_parser.yaml"][
        "behaviours"
    ]
    return behaviours[behaviour]
