"""What was read from files, before any release or GPU is brought in: `sched-reader parse`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scheduler_reader.report import wording
from scheduler_reader.report.privacy import MASK, is_secret_name
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout

if TYPE_CHECKING:
    from rich.console import Console


def render(report: Mapping[str, Any], console: Console) -> None:
    """Print the document of `parse --format json` for people."""
    layout = Layout(console)
    for i, file in enumerate(report["files"]):
        for block in [*([BLANK] if i else []), *_file(file)]:
            for line in layout.lines(block):
                console.print(line, soft_wrap=True)


def _file(file: Mapping[str, Any]) -> Iterator[Block]:
    engines = wording.plural(len(file["engines"]), "engine")
    yield heading(file["path"], f"  {file['form'] or 'form not recognised'}, {engines}")
    for problem in file["problems"]:
        place = "" if problem["line"] is None else f"line {problem['line']}: "
        yield paragraph(("problem  ", "error"), place + problem["message"], indent=2, hang=9)
    for engine in file["engines"]:
        yield from _engine(engine)


def _engine(engine: Mapping[str, Any]) -> Iterator[Block]:
    unresolved = engine["unresolved"]
    model = engine["model"] or "model unknown"
    version = engine["image_version"]
    yield paragraph(
        (model, "set"),
        f"  {engine['name']}" if engine["name"] else "",
        f"  image of vLLM {version}" if version else "",
        indent=2,
        hang=2,
    )
    rows = [_row(name, value, unresolved) for name, value in engine["flags"].items()]
    rows += [_row(name, value, unresolved, "env.") for name, value in engine["env"].items()]
    shown = {*engine["flags"], *(f"env.{name}" for name in engine["env"])}
    rows += [
        ((name, ""), (f"not resolved: {reason}", "warning"))
        for name, reason in unresolved.items()
        if name not in shown
    ]
    if rows:
        yield Columns(tuple(rows), "ll", indent=4)


def _row(
    name: str, value: Any, unresolved: Mapping[str, str], prefix: str = ""
) -> tuple[Span, Span]:
    reason = unresolved.get(prefix + name)
    if value is None and reason is not None:
        return (name, ""), (f"not resolved: {reason}", "warning")
    if is_secret_name(name):
        return (name, ""), (MASK, "")
    return (name, ""), (wording.setting_text(value), "")
