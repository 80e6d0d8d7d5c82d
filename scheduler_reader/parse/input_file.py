"""One input as text: read with limits, so that nothing a user points at can hang or crash us."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scheduler_reader.errors import InputError
from scheduler_reader.value import Origin

MAX_BYTES = 4_000_000
STDIN = "<stdin>"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file (or stdin) to find a form for; lines end in a bare newline."""

    path: str
    text: str

    @property
    def name(self) -> str:
        """File name in lower case, without folders."""
        return Path(self.path).name.lower()

    @property
    def suffix(self) -> str:
        return Path(self.path).suffix.lower()

    def origin(self, line: int | None = None, column: int | None = None) -> Origin:
        return Origin("file", path=self.path, line=line, column=column)


def read_input(path: str) -> InputFile:
    """Read a text file; raises `InputError` when there is none, or it is no text."""
    origin = Origin("file", path=path)
    try:
        content = read_bytes(path, MAX_BYTES + 1)
    except IsADirectoryError:
        raise InputError(
            "is a folder; name a file in it, or use `check` for folders", origin
        ) from None
    return input_text(decode(content, origin), path)


def read_bytes(path: str, most: int) -> bytes:
    """The first bytes of a file; `InputError` where it cannot be read, but for a folder."""
    origin = Origin("file", path=path)
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except IsADirectoryError:
        raise
    except FileNotFoundError:
        raise InputError("no such file; check the path", origin) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", origin) from None


def decode(content: bytes, origin: Origin) -> str:
    """Bytes as UTF-8 text (with or without a byte-order mark)."""
    if len(content) > MAX_BYTES:
        raise InputError(f"is larger than {MAX_BYTES:,} bytes; no serving configuration is", origin)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text; give a YAML file or a script", origin) from None
    if "\0" in text:
        raise InputError("is a binary file; give a YAML file or a script", origin)
    return text


def input_text(text: str, path: str = STDIN) -> InputFile:
    """Text that is already at hand, as an input; empty text is an `InputError`."""
    if not text.strip():
        raise InputError(
            "is empty; there is no vLLM command or option in it", Origin("file", path=path)
        )
    return InputFile(path, text.replace("\r\n", "\n"))
