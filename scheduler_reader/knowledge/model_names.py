"""What a model id or path says: its Hub id, and the quantization its last words stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scheduler_reader.data import documents, with_tuples
from scheduler_reader.knowledge.quantization import Quantization
from scheduler_reader.record import Record


class NamedQuantization(Record):
    """A name without its suffix, and what the suffix stands for.

    `quantization` is None where the suffix says that weights are not quantized; `reason` is set
    where it says that they are, but not how.
    """

    base: str
    quantization: Quantization | None = None
    reason: str | None = None


def spelling(name: str) -> str:
    """Lower case, with dots, underscores and blanks as dashes: ids differ in little else."""
    return re.sub(r"[\s._]+", "-", name.lower())


def is_path(text: str) -> bool:
    """Whether a model argument is a folder or a URL rather than `owner/name`."""
    return text.startswith(("/", ".", "~")) or "://" in text or text.count("/") > 1


def hub_ids(text: str) -> Iterator[str]:
    """The ids a model argument may mean, the likeliest first.

    An id is itself.  Of a path, a Hub cache folder (`models--owner--name`) or the folder names
    from the right, each with the folder above it as the owner and alone.
    """
    if not is_path(text):
        yield text
        return
    cached = re.search(r"models--([^/]+?)--([^/]+)", text)
    if cached:
        yield f"{cached[1]}/{cached[2]}"
    parts = [part for part in re.split(r"[/\\]+", text) if part.strip(".~")]
    for at in range(len(parts) - 1, -1, -1):
        if at:
            yield f"{parts[at - 1]}/{parts[at]}"
        yield parts[at]


def split_quantization(name: str) -> NamedQuantization | None:
    """The name without its quantization suffix; None: it has none that is known."""
    owner, _, bare = name.lower().rpartition("/")
    spelled = spelling(bare)
    for word, rules in _suffixes().items():
        for rule in rules if word in spelled else ():
            match = re.search(f"(?:{rule['pattern']})$", spelled)
            if match and match.start() and rule.get("owner", owner) == owner:
                return _named(name[: len(name) - len(bare) + match.start()], rule)
    return None


def _named(base: str, rule: dict[str, Any]) -> NamedQuantization:
    if "method" not in rule:
        return NamedQuantization(base, reason=rule.get("reason"))
    fields = {key: rule[key] for key in rule if key not in ("pattern", "owner")}
    return NamedQuantization(base, Quantization(**with_tuples(fields)))


def _suffixes() -> dict[str, list[dict[str, Any]]]:
    """Word that a name must hold → rules of a suffix, the most specific first."""
    known = documents("compat_matrix", "quantization.yaml")["quantization.yaml"]
    suffixes: dict[str, list[dict[str, Any]]] = known["suffixes"]
    return suffixes
