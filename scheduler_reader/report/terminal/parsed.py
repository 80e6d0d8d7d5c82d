"""What was read from files, before any release or GPU is brought in: `sched-reader parse`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scheduler_reader.parse import to_json
from scheduler_reader.parse.parsed_json import read_as_written
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.privacy import MASK, is_secret_name, masked, secrets_of_files
from scheduler_reader.report import wording
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout
from scheduler_reader.report.terminal.surroundings import surroundings
from scheduler_reader.value import Origin

if TYPE_CHECKING:
    from rich.console import Console


def render(files: Sequence[ParsedFile], console: Console) -> None:
    """Print for people what each file says, every value with its line."""
    secrets = secrets_of_files(files)
    layout = Layout(console, secrets)
    report = masked(to_json(files), secrets)
    for i, (file, content) in enumerate(zip(files, report["files"], strict=True)):
        layout.print([*([BLANK] if i else []), *_file(file, content)])


def _file(file: ParsedFile, content: Mapping[str, Any]) -> Iterator[Block]:
    engines = wording.plural(len(file.engines), "engine")
    yield heading(file.path, f"  {file.form or 'form not recognised'}, {engines}")
    for problem in file.problems:
        line = problem.origin.line
        place = "" if line is None else f"line {line}: "
        yield paragraph(("problem  ", "error"), place + problem.message, indent=2, hang=9)
    for engine, said in zip(file.engines, content["engines"], strict=True):
        yield from _engine(engine, said, file.path)


def _engine(engine: ParsedEngine, said: Mapping[str, Any], path: str) -> Iterator[Block]:
    version = said["image_version"]
    yield paragraph(
        (_line(engine.origin, path), "dim"),
        " " if engine.origin.line else "",
        (said["model"] or "model unknown", "set"),
        f"  {said['name']}" if said["name"] else "",
        f"  image of vLLM {version}" if version else "",
        indent=2,
        hang=2,
    )
    around = surroundings(engine.deployment)
    if around:
        yield paragraph(("runs with ", "dim"), ", ".join(around), indent=4, hang=10)
    unresolved = said["unresolved"]
    places = _places(engine)
    rows = [
        ((_line(places.get(name), path), "dim"), *_row(name, value, unresolved.get(name)))
        for name, value in said["flags"].items()
    ]
    rows += [
        ((_line(_origin(engine.env, name), path), "dim"), *_row(name, value, _reason(said, name)))
        for name, value in said["env"].items()
    ]
    shown = {*said["flags"], *(f"env.{name}" for name in said["env"])}
    rows += [
        ((_line(places.get(name), path), "dim"), (name, ""), (f"not resolved: {reason}", "warning"))
        for name, reason in unresolved.items()
        if name not in shown
    ]
    if rows:
        yield Columns(tuple(rows), "rll", indent=4)


def _row(name: str, value: Any, reason: str | None) -> tuple[Span, Span]:
    if value is None and reason is not None:
        return (name, ""), (f"not resolved: {reason}", "warning")
    if is_secret_name(name):
        return (name, ""), (MASK, "")
    is_label = name == "seed" or name.endswith("port")  # a number nobody counts with
    return (name, ""), (str(value) if is_label else wording.setting_text(value), "")


def _reason(said: Mapping[str, Any], variable: str) -> str | None:
    reason: str | None = said["unresolved"].get(f"env.{variable}")
    return reason


def _places(engine: ParsedEngine) -> dict[str, Origin | None]:
    """Where each argument stands."""
    reading = read_as_written(engine)
    places = {name: value.origin for name, value in reading.settings.items()}
    return places | ({"model": reading.model.origin} if reading.model else {})


def _origin(values: Mapping[str, Any], name: str) -> Origin | None:
    origin: Origin | None = values[name].origin
    return origin


def _line(origin: Origin | None, path: str) -> str:
    """The line, with its file where that is another one."""
    if origin is None or origin.line is None:
        return ""
    return str(origin.line) if origin.path == path else f"{origin.path}:{origin.line}"
