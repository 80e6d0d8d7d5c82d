"""The settings file that holds for what a command reads, as defaults of the command's options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scheduler_reader.errors import UsageError
from scheduler_reader.settings_search import may_exist
from scheduler_reader.value import Known, Origin

if TYPE_CHECKING:
    from scheduler_reader.settings import Settings

READ = ("configs", "config", "paths")  # the arguments that name what a command reads
ORIGINS = "scheduler_reader.settings"  # in the meta data of a command's context
OPTIONS = {"vllm-version": ("vllm_version", "from_version")}  # otherwise the option's own name


def defaults(context: Any, given: Mapping[str, Any], options: Collection[str]) -> dict[str, Any]:
    """Values for the options that the command line does not give, by name.

    Their places are kept for `origins`.  Raises `UsageError` for a settings file that is wrong, or
    where what is read has different ones.
    """
    settings = _settings(_paths(given), given.get("profile"))
    if settings is None:
        return {}
    from scheduler_reader.settings import DISPLACED

    displaced = {
        name for option in DISPLACED if _is_given(given, option) for name in DISPLACED[option]
    }
    found: dict[str, Known[Any]] = {}
    for key, value in settings.values.items():
        if isinstance(value.value, dict):
            context.meta[f"{ORIGINS}.{key}"] = value.value
            continue
        for option in OPTIONS.get(key, (key.replace("-", "_"),)):
            if option in options and not _is_given(given, option) and key not in displaced:
                found[option] = value
    context.meta[ORIGINS] = {option: value.origin for option, value in found.items()}
    return {option: value.value for option, value in found.items()}


def origins(context: Any) -> Mapping[str, Origin]:
    """Where the options stand that come from a settings file, by name."""
    found: Mapping[str, Origin] = context.meta.get(ORIGINS, {})
    return found


def table(context: Any, key: str) -> Mapping[str, Known[Any]]:
    """The entries of a table of the settings file, which options of the command line are put over."""
    found: Mapping[str, Known[Any]] = context.meta.get(f"{ORIGINS}.{key}", {})
    return found


def _is_given(given: Mapping[str, Any], option: str) -> bool:
    return given.get(option) not in (None, (), [])


def _paths(given: Mapping[str, Any]) -> list[str]:
    named: list[str] = []
    for argument in READ:
        value = given.get(argument) or ()
        named += [value] if isinstance(value, str) else value
    return named


def _settings(paths: Sequence[str], profile: str | None) -> Settings | None:
    """The one settings file of all paths; of the working folder for stdin and a command line."""
    folders: dict[Path, str] = {}
    for path in paths or ("-",):
        folders.setdefault(Path() if path == "-" else _folder(Path(path)), path)
    if profile is None and not any(map(may_exist, folders)):
        return None
    from scheduler_reader.settings import find_settings

    found = [(find_settings(folder, profile), path) for folder, path in folders.items()]
    first, first_path = found[0]
    for other, path in found[1:]:
        if (other and other.path) != (first and first.path):
            here, there = (one.path if one else "no settings file" for one in (first, other))
            raise UsageError(
                f"{here} holds for {first_path} and {there} for {path}: read them in two runs"
            )
    return first


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent
