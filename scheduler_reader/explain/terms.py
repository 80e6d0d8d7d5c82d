"""The terms of the field, from `compat_matrix/terms.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError

FILE = "terms.yaml"


@dataclass(frozen=True, slots=True)
class Term:
    """One term: what it means, what vLLM calls it, and what is often believed of it."""

    name: str
    meaning: str
    in_vllm: str
    mistaken: str | None
    also: tuple[str, ...]
    flags: tuple[str, ...]
    source: str


@cache
def all_terms() -> tuple[Term, ...]:
    """Every term, in the order of the file."""
    return tuple(
        _term(name, entry) for name, entry in documents("compat_matrix")[FILE]["terms"].items()
    )


def find_term(word: str) -> Term | None:
    """The term of that name or spelling; upper case, dashes and underscores do not matter."""
    wanted = plain(word)
    return next(
        (term for term in all_terms() if wanted in {plain(one) for one in (term.name, *term.also)}),
        None,
    )


def plain(word: str) -> str:
    """A word as it is compared: `Inter-Token_Latency` → `inter token latency`."""
    return " ".join(word.lower().replace("-", " ").replace("_", " ").split())


def _term(name: str, entry: Mapping[str, Any]) -> Term:
    try:
        return Term(
            name=name,
            meaning=entry["is"],
            in_vllm=entry["vllm"],
            mistaken=entry.get("mistaken"),
            also=tuple(entry.get("also", ())),
            flags=tuple(entry.get("flags", ())),
            source=entry["source"],
        )
    except KeyError as error:
        raise DataError(f"compat_matrix/{FILE}: {name}: {error} is missing") from None
