"""What must never reach a report: secrets of the configuration, and control sequences in its text.

Everything a report quotes comes from files that somebody else wrote.  A model name with an escape
sequence in it must not move the cursor, and an API key must not end in a CI log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.value import Known, Value

MASK = "***"

_SECRET_NAME = re.compile(
    r"(^|_)(api_?keys?|token|password|passwd|secret|credentials?|access_key)$", re.IGNORECASE
)
_TOKEN_MARKS = (
    "hf_",
    "sk-",
    "nvapi-",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "AKIA",
    "xox",
    "eyJ",
)  # one is in each shape
_TOKEN_SHAPE = (
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|nvapi-[\w-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{16,}|AKIA[A-Z0-9]{16}|xox[a-z]-[\w-]{10,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)
_AFTER_A_NAME = (  # credentials of a URL, `?token=…`, `--api-key=…`, `Bearer …`
    r"(?i)(?P<name>://[^\s/:@]*:|(?:api[_-]?key|token|password|passwd|secret|signature|sig)=|bearer\s+)"
    r"(?P<secret>(?<=:)[^\s/@]+(?=@)|(?<![:])[^\s&\"',;]+)"
)
_SHORT = 8  # a secret of fewer characters is only masked where it stands as a word
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movements
    r"|\x1b[\]PX^_].*?(?:\x1b\\|\x07|$)"  # OSC, DCS, …: titles, hyperlinks
    r"|\x1b[@-Z\\^_]?",
    re.DOTALL,
)
_RUNNER_COMMAND = re.compile(  # what the runners of GitHub and Azure take for an order in a log
    r"^\s*:(?=:)|(?<=\s):(?=:[A-Za-z-]+(?:\s[^:]*)?::)|##(?=\[|vso\[)"
)


def is_secret_name(name: str) -> bool:
    """Whether an argument or environment variable of this name holds a secret: `HF_TOKEN`."""
    return _SECRET_NAME.search(name.replace("-", "_")) is not None


def secrets(engine: ResolvedEngine) -> tuple[str, ...]:
    """The secret texts of one engine, longest first, to be masked wherever they are quoted."""
    resolved = {name: setting.value for name, setting in engine.settings.items()}
    return _ordered(_of_parsed(engine.parsed) | _named({**engine.flags.settings, **resolved}))


def secrets_of_files(files: Iterable[ParsedFile]) -> tuple[str, ...]:
    """The secret texts of files that were only parsed, longest first."""
    return _ordered(set().union(*(_of_parsed(e) for file in files for e in file.engines)))


def _of_parsed(engine: ParsedEngine) -> set[str]:
    """The values of secret variables and keys, and the words after a secret option."""
    found = _named(engine.env)
    for entry in (*engine.config, *engine.keywords):
        if is_secret_name(entry.key):
            found.update(_texts(entry.value))
    is_secret = False
    for word in engine.words:
        if word.text.startswith("--"):
            name, _, value = word.text[2:].partition("=")
            is_secret = is_secret_name(name)
            found.update(_texts(value) if is_secret else ())
        elif is_secret:
            found.update(_texts(word.text))
    return found


def _named(values: Mapping[str, Value[Any]]) -> set[str]:
    return {
        text
        for name, value in values.items()
        if is_secret_name(name) and isinstance(value, Known)
        for text in _texts(value.value)
    }


def _ordered(texts: set[str]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=lambda text: (-len(text), text)))


def mask(text: str, secret_texts: Iterable[str] = ()) -> str:
    """`text` with the given secrets, and everything shaped like a token, replaced by `***`."""
    for secret in secret_texts:
        if len(secret) >= _SHORT:
            text = text.replace(secret, MASK)
        elif secret in text:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    if any(mark in text for mark in _TOKEN_MARKS):  # hardly any text has one: spare the search
        text = re.sub(_TOKEN_SHAPE, MASK, text)
    if "=" in text or "earer" in text or ("://" in text and "@" in text):
        text = re.sub(_AFTER_A_NAME, rf"\g<name>{MASK}", text)
    return text


def masked(content: Any, secret_texts: Sequence[str] = ()) -> Any:
    """A JSON document with the secrets in all its texts masked."""
    if isinstance(content, str):
        return mask(content, secret_texts)
    if isinstance(content, dict):
        return {mask(key, secret_texts): masked(v, secret_texts) for key, v in content.items()}
    if isinstance(content, list):
        return [masked(item, secret_texts) for item in content]
    return content


def printable(text: str) -> str:
    """`text` on one line, without escape sequences, control and direction-changing characters.

    What a CI runner would carry out (`::error::`, `##[group]`) has a space in it afterwards.
    """
    if not text.isprintable():
        characters = _ESCAPE_SEQUENCE.sub("", text)
        text = "".join(c if c.isprintable() else " " if c.isspace() else "" for c in characters)
    if "::" in text or "##" in text:
        return _RUNNER_COMMAND.sub(lambda match: match[0] + " ", text)
    return text


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    if isinstance(value, list | tuple):
        return [text for item in value for text in _texts(item)]
    return []
