"""Find the vLLM server in a command: what starts it, and which words are its arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scheduler_reader.parse.source import Entrypoint, Word
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Unknown, Value

API_SERVER = re.compile(r"(?:.*[./])?vllm[./]entrypoints[./](?:openai[./])?api_server(?:\.py)?")
CLI_MODULE = re.compile(r"(?:.*[./])?vllm[./]entrypoints[./]cli[./]main(?:\.py)?")
DYNAMO_WORKER = re.compile(r"(?:.*[./])?dynamo[./]vllm(?:[./](?:main|__main__))?(?:\.py)?")
UNKNOWN_VLLM = re.compile(r"\$\{?\w*vllm\w*\}?|\W+(?:which|command -v) vllm\W?", re.IGNORECASE)
ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash", "ssh", "sbatch"})
NOT_RUN = frozenset(
    {"echo", "printf", "grep", "egrep", "pgrep", "pkill", "ps", "sed", "awk", "log"}
)


class ServeCommand(Record):
    """A vLLM server's own arguments, and the `NAME=value` words that stand before it."""

    entrypoint: Entrypoint
    arguments: tuple[Word, ...]
    env: dict[str, Value[str]]
    start: Word  # the word that names the program


def serve_command(words: Sequence[Word]) -> ServeCommand | None:
    """The server that a command starts, behind any wrappers (`exec`, `nohup`, `env`, `uv run`)."""
    if words and program(words[0]) in NOT_RUN:
        return None
    for index, word in enumerate(words):
        found = _entrypoint(words, index)
        if found is not None:
            entrypoint, length = found
            arguments = tuple(words[index + length :])
            return ServeCommand(entrypoint, arguments, _environment(words[:index]), word)
    return None


def called_script(words: Sequence[Word]) -> tuple[Word, tuple[Word, ...]] | None:
    """Text and parameters (`$0` first) of `[env …] bash [-eu] [-o pipefail] -c TEXT [NAME ARG…]`."""
    for index, word in enumerate(words):
        if program(word) not in SHELLS - {"ssh", "sbatch"} or word.unknown:
            continue
        has_command_option = False
        position = index + 1
        while position < len(words) and words[position].text.startswith(("-", "+")):
            option = words[position].text
            is_short = not option.startswith("--")
            has_command_option = has_command_option or (is_short and "c" in option)
            position += 2 if is_short and option.endswith("o") else 1
        if has_command_option and position < len(words):
            return words[position], tuple(words[position + 1 :])
        return None
    return None


def program(word: Word) -> str:
    """Name of the program a word calls: `/opt/venv/bin/vllm` is `vllm`."""
    return word.text.rpartition("/")[2]


def _entrypoint(words: Sequence[Word], index: int) -> tuple[Entrypoint, int] | None:
    """Entry point that starts at a word, and how many words it takes."""
    word = words[index]
    following = words[index + 1].text if index + 1 < len(words) else ""
    if word.text.startswith("-"):
        return None
    if following == "serve" and (_is_vllm(word) or CLI_MODULE.fullmatch(word.text)):
        return "serve", 2
    if API_SERVER.fullmatch(word.text):
        return "api_server", 1
    if DYNAMO_WORKER.fullmatch(word.text):
        return "dynamo", 1
    return None


def _is_vllm(word: Word) -> bool:
    """Whether a word calls vLLM's program; an unknown one does where its end or its name says so.

    `$VENV/bin/vllm` does wherever that is, and so do `$VLLM_BIN` and `$(which vllm)`.
    """
    return program(word) == "vllm" or (
        word.unknown is not None and UNKNOWN_VLLM.fullmatch(word.text) is not None
    )


def _environment(words: Sequence[Word]) -> dict[str, Value[str]]:
    env: dict[str, Value[str]] = {}
    for word in words:
        match = ASSIGNMENT.fullmatch(word.text)
        if match is None:
            continue
        if word.unknown:
            env[match["name"]] = Unknown(word.unknown, word.origin)
        else:
            env[match["name"]] = Known(match["value"], word.origin)
    return env
