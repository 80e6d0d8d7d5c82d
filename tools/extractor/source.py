"""The source of one vLLM release: an unpacked wheel, or the wheel file itself."""

from __future__ import annotations

import ast
import re
import zipfile
from functools import cache
from pathlib import Path

PACKAGE = "vllm"
VERSION_FILE = "vllm/_version.py"


class ExtractError(Exception):
    """The source is not what the extractor expects; the message says where."""


class SourceTree:
    """Parsed modules by dotted name, read when they are first asked for."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path) if path.is_file() else None
        self._root = path.parent if path.name == PACKAGE else path
        self.module = cache(self._module)
        if self._text(f"{PACKAGE}/__init__.py") is None:
            raise ExtractError(f"{path}: no folder {PACKAGE}/ in it")

    def release(self) -> str | None:
        """The release that the package says it is, without a build's local part."""
        text = self._text(VERSION_FILE) or ""
        found = re.search(r"__version__\s*=.*?['\"]([0-9][^'\"+]*)", text)
        return found[1] if found else None

    def is_package(self, name: str) -> bool:
        """Whether the module is a package, so that a relative import starts in it."""
        return self._text(f"{name.replace('.', '/')}/__init__.py") is not None

    def _module(self, name: str) -> ast.Module | None:
        stem = name.replace(".", "/")
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            text = self._text(path)
            if text is not None:
                try:
                    return ast.parse(text, path)
                except SyntaxError as error:
                    raise ExtractError(f"{path}:{error.lineno}: {error.msg}") from error
        return None

    def _text(self, path: str) -> str | None:
        if self._archive is not None:
            if path not in self._archive.NameToInfo:
                return None
            return self._archive.read(path).decode("utf-8")
        file = self._root / path
        return file.read_text(encoding="utf-8") if file.is_file() else None
