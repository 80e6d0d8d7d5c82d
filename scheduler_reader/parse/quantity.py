"""Sizes and core counts as Docker, Kubernetes and compose write them → numbers with origin."""

from __future__ import annotations

import re
from math import inf

from scheduler_reader.parse.source import Word
from scheduler_reader.value import Known, Unknown, Value

MAX_DIGITS = 18
NUMBER = re.compile(r"([\d.]+(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)")
BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
SUFFIXES = {"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}


def docker_bytes(word: Word | None) -> Value[int] | None:
    """Bytes of `16g`, `16gb`, `128G` (binary units, docker/go-units RAMInBytes)."""
    if word is None or word.unknown:
        return None if word is None else Unknown(str(word.unknown), word.origin)
    match = NUMBER.fullmatch(word.text.strip())
    unit = match[2].lower().removesuffix("b").removesuffix("i") if match else None
    if match is None or (unit and unit not in BINARY):
        return Unknown(f"{word.text!r} is no size", word.origin)
    return _known(match[1], BINARY[unit] if unit else 1, word)


def kubernetes_bytes(word: Word | None) -> Value[int] | None:
    """Bytes of a Kubernetes quantity: `64Gi`, `16G`, `1e9`."""
    amount = _quantity(word)
    if isinstance(amount, Known):
        return Known(int(amount.value), amount.origin)
    return amount


def cores(word: Word | None) -> Value[float] | None:
    """CPU cores of `4`, `"0.5"` or `500m`."""
    return _quantity(word)


def count(word: Word | None) -> Value[int] | None:
    """A whole number such as replicas or GPUs."""
    if word is None or word.unknown:
        return None if word is None else Unknown(str(word.unknown), word.origin)
    number = whole_number(word.text)
    if number is None:
        return Unknown(f"{word.text!r} is no whole number", word.origin)
    return Known(number, word.origin)


def whole_number(text: str) -> int | None:
    """The number that decimal digits write; None for other text, and for more digits than a count has."""
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) <= MAX_DIGITS else None


def _quantity(word: Word | None) -> Value[float] | None:
    if word is None or word.unknown:
        return None if word is None else Unknown(str(word.unknown), word.origin)
    match = NUMBER.fullmatch(word.text.strip())
    suffix = match[2] if match else ""
    is_binary = suffix.endswith("i") and suffix[:-1].lower() in BINARY
    if match is None or (not is_binary and suffix not in SUFFIXES):
        return Unknown(f"{word.text!r} is no quantity", word.origin)
    factor = BINARY[suffix[:-1].lower()] if is_binary else SUFFIXES[suffix]
    try:
        amount = float(match[1]) * factor
    except ValueError:
        amount = inf
    if amount == inf:
        return Unknown(f"{word.text!r} is no quantity", word.origin)
    return Known(amount, word.origin)


def _known(number: str, factor: int, word: Word) -> Value[int]:
    try:
        return Known(int(float(number) * factor), word.origin)
    except (ValueError, OverflowError):
        return Unknown(f"{word.text!r} is no size", word.origin)
