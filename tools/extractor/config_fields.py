"""The keys of JSON options: fields of the config classes behind them, with annotation and default."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from extractor.interpreter import Interpreter
from extractor.options import plain
from extractor.source import SourceTree
from extractor.values import ABSENT, Dynamic, Factory, FieldDefault

CONFIG = "vllm.config"
ENGINE_CLASSES = frozenset(  # what the engine puts into a JSON option's object; nobody writes it
    {"ModelConfig", "ParallelConfig", "VllmConfig", "SchedulerConfig", "CacheConfig", "LoadConfig"}
)
NO_DEFAULT = {"dynamic": "required-or-derived"}

Fields = dict[str, dict[str, Any]]


def names_in(annotation: str) -> set[str]:
    """The class names in an annotation; texts of a Literal are no names."""
    return set(re.findall(r"\b[A-Z]\w+", re.sub(r"'[^']*'", "", annotation)))


def is_written(annotation: str) -> bool:
    """Whether a user can give the field: not what the engine fills in."""
    return not names_in(annotation) & ENGINE_CLASSES


def by_dotted_name(classes: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """`Class.field` → what is known of it."""
    return {
        f"{cls}.{name}": known for cls, fields in classes.items() for name, known in fields.items()
    }


def by_class(fields: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The inverse of `by_dotted_name`."""
    classes: dict[str, dict[str, Any]] = {}
    for dotted, known in fields.items():
        cls, _, name = dotted.partition(".")
        classes.setdefault(cls, {})[name] = known
    return classes


def json_classes(types: Mapping[str, Iterable[str]], known: Iterable[str]) -> set[str]:
    """The config classes of JSON options: named by an option's type, or spelled like the option."""
    by_spelling = {name.lower(): name for name in known}
    named = {kind.partition(":")[2] for kinds in types.values() for kind in kinds} - {""}
    spelled = {by_spelling.get(option.replace("-", "")) for option in types}
    return named | {name for name in spelled if name is not None}


def read_config_fields(
    tree: SourceTree, options: Mapping[str, Mapping[str, Any]]
) -> dict[str, Fields]:
    """The fields of the classes behind the release's JSON options, and of those they name."""
    reader = Interpreter(tree)
    types = {name: [option["type"]] for name, option in options.items()}
    classes = json_classes(types, reader.names_of(CONFIG))
    found: dict[str, Fields] = {}
    waiting = [reader.module_value(CONFIG, name) for name in sorted(classes)]
    for engine_class in sorted(ENGINE_CLASSES):  # some classes are known by a field only
        cls = reader.module_value(CONFIG, engine_class)
        if reader.classes.is_dataclass(cls):
            types_named = [
                of for field in reader.classes.fields(cls) for of in _types_in(field.type)
            ]
            waiting += [of for of in types_named if of.__name__ in classes]
    while waiting:
        cls = waiting.pop()
        if not reader.classes.is_dataclass(cls) or cls.__name__ in found:
            continue
        found[cls.__name__] = fields = {}
        for field in reader.classes.fields(cls):
            described = _field(field)
            if is_written(described["annotation"]) and not field.name.startswith("_"):
                fields[field.name] = described
                waiting += [of for of in _types_in(field.type) if of.__module__.startswith(CONFIG)]
    return found


def _types_in(hint: Any) -> list[type]:
    inside = [cls for part in typing.get_args(hint) for cls in _types_in(part)]
    return [hint, *inside] if isinstance(hint, type) else inside


def _field(field: FieldDefault) -> dict[str, Any]:
    default: Any = field.default
    if isinstance(field.default_factory, Factory):
        default = field.default_factory.make()
    known = isinstance(default, Dynamic) or default is None or not _is_missing(default)
    return {
        "annotation": annotation_text(field.type),
        "default": plain(default) if known else NO_DEFAULT,
    }


def _is_missing(default: Any) -> bool:
    return default is ABSENT or type(default).__name__ == "_MISSING_TYPE"


def annotation_text(hint: Any) -> str:
    """An annotation as Python writes it, unions with bars."""
    if hint is None or hint is type(None):
        return "None"
    if hint is Ellipsis:
        return "..."
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return " | ".join(map(annotation_text, inside))
    if origin is typing.Literal:
        return f"Literal[{', '.join(map(repr, inside))}]"
    if isinstance(hint, list):
        return f"[{', '.join(map(annotation_text, hint))}]"
    name = getattr(origin or hint, "__name__", str(hint))
    return f"{name}[{', '.join(map(annotation_text, inside))}]" if inside else str(name)
