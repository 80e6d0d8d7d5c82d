"""What must never reach a report: secrets of the configuration, and control sequences in its text.

Everything a report quotes comes from files that somebody else wrote.  A model name with an escape
sequence in it must not move the cursor, and an API key must not end in a CI log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Value

MASK = "***"

_SECRET_NAME = re.compile(
    r"(^|_)(api_?keys?|token|password|passwd|secret|credentials?|access_key)$", re.IGNORECASE
)
_TOKEN_SHAPE = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|nvapi-[\w-]{16,})")
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|\x1b[\]PX^_].*?(?:\x1b\\|\x07|$)"  # OSC, DCS, …: titles, hyperlinks
    r"|\x1b[@-Z\\^_]?",
    re.DOTALL,
)


def is_secret_name(name: str) -> bool:
    """Whether an argument or environment variable of this name holds a secret: `HF_TOKEN`."""
    return _SECRET_NAME.search(name.replace("-", "_")) is not None


def secrets(engine: ResolvedEngine) -> tuple[str, ...]:
    """The secret texts of one engine, longest first, to be masked wherever they are quoted."""
    named: list[tuple[str, Value[Any]]] = [
        *((name, value) for name, value in engine.parsed.env.items()),
        *engine.flags.settings.items(),
        *((name, setting.value) for name, setting in engine.settings.items()),
    ]
    found: set[str] = set()
    for name, value in named:
        if is_secret_name(name) and isinstance(value, Known):
            found.update(_texts(value.value))
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def mask(text: str, secret_texts: Iterable[str] = ()) -> str:
    """`text` with the given secrets, and everything shaped like a token, replaced by `***`."""
    for secret in secret_texts:
        text = text.replace(secret, MASK)
    return _TOKEN_SHAPE.sub(MASK, text)


def printable(text: str) -> str:
    """`text` on one line, without escape sequences, control and direction-changing characters."""
    if text.isprintable():
        return text
    characters = _ESCAPE_SEQUENCE.sub("", text)
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in characters)


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return []
