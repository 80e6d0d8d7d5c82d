"""What a release says of a command line as a whole: where the model and `--config` stand."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_reader.knowledge.parser_behaviour import parser_behaves
from scheduler_reader.parse.reading import FlagIssue
from scheduler_reader.parse.source import Word


def model_place(words: Sequence[Word], release: str) -> list[FlagIssue]:
    """What `vllm serve` makes of a model that is given as an option, or too late."""
    option = next((word for word in words if _name(word) == "--model"), None)
    if option is not None and parser_behaves(release, "model_option_refused"):
        message = f"vLLM {release}: vllm serve takes the model as its first word, not as --model"
        return [FlagIssue("stray", "--model", message, option.origin, fatal=True)]
    if option is not None:
        message = f"vLLM {release} warns that the model should be the first word, not --model"
        return [FlagIssue("deprecated", "--model", message, option.origin, fatal=False)]
    is_late = bool(words) and words[0].text.startswith("-")
    if not is_late or not parser_behaves(release, "model_before_served_name"):
        return []
    names = {_name(word): word for word in words}
    served = names.get("--served-model-name")
    if served is None or "--config" in names:
        return []
    message = f"vLLM {release}: with --served-model-name the model must be the first word"
    return [FlagIssue("stray", "--served-model-name", message, served.origin, fatal=True)]


def unread_config(words: Sequence[Word], release: str) -> list[FlagIssue]:
    """vLLM reads the file of `--config FILE`; `--config=FILE` is an option nobody looks at."""
    message = f"vLLM {release} never reads a file given as --config=FILE: write --config FILE"
    return [
        FlagIssue("dropped", "--config", message, word.origin, fatal=False)
        for word in words
        if word.text.startswith("--config=")
    ]


def _name(word: Word) -> str:
    return word.text.partition("=")[0].replace("_", "-")
