"""Recorded files as text: larger than a configuration, and not always clean."""

from __future__ import annotations

from scheduler_reader.errors import InputError
from scheduler_reader.parse.input_file import read_bytes
from scheduler_reader.value import Origin

MAX_BYTES = 256_000_000


def read_recorded(path: str, what: str) -> str:
    """The file's text, line ends as newlines, bytes that are no UTF-8 replaced.

    Raises `InputError` where it cannot be read, is too large, binary or empty; `what` says what
    was expected in it.
    """
    origin = Origin("file", path=path)
    try:
        content = read_bytes(path, MAX_BYTES + 1)
    except IsADirectoryError:
        raise InputError("is a folder; name a file in it", origin) from None
    return recorded_text(content, what, origin)


def recorded_text(content: bytes, what: str, origin: Origin) -> str:
    """Bytes as `read_recorded` gives them."""
    if len(content) > MAX_BYTES:
        raise InputError(
            f"is larger than {MAX_BYTES:,} bytes; cut out the part that counts", origin
        )
    if b"\0" in content:
        raise InputError(f"is a binary file, not {what}", origin)
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    if not text.strip():
        raise InputError(f"is empty; expected {what}", origin)
    return text
