"""The architectures (`architectures` of a config.json) each vLLM release registers."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from scheduler_reader.data import json_file
from scheduler_reader.knowledge.versions import Release

# Registry tables whose models embed, classify or score instead of generating.
_POOLING = frozenset(
    {
        "embedding",
        "late_interaction",
        "sequence_classification",
        "token_classification",
        "reward",
        "cross_encoder",
    }
)
_GENERATES = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel")


@dataclass(frozen=True, slots=True)
class Support:
    """Whether a release registers an architecture, and which releases do.

    `since` and `until` bound the range that holds the release, or else the nearest one; both are
    None for an architecture that no known release registers: vLLM may still run it through
    transformers, which an offline reader cannot know.
    """

    is_registered: bool
    kind: str | None = None
    since: str | None = None
    until: str | None = None


def knows_architecture(release: Release, architecture: str) -> Support:
    """Whether `release` registers `architecture`, from the release's own model registry."""
    entry = json_file("architectures.json")["architectures"].get(architecture)
    if entry is None:
        return Support(is_registered=False)
    ranges = [(first, last) for first, last in entry["versions"]]
    for first, last in ranges:
        if release.within(first, last):
            return Support(True, entry["kind"], first, last)
    earlier = [r for r in ranges if Version(r[1]) < release.version]
    first, last = earlier[-1] if earlier else ranges[0]
    return Support(False, entry["kind"], first, last)


def is_pooling(architecture: str | None) -> bool:
    """Whether the architecture embeds, scores or classifies and writes no text.

    Generating architectures that are also registered for pooling (`Qwen2ForCausalLM`) generate.
    """
    entry = json_file("architectures.json")["architectures"].get(architecture)
    return (
        architecture is not None
        and entry is not None
        and entry["kind"] in _POOLING
        and not architecture.endswith(_GENERATES)
    )
