"""Options of commands that take no group: which files, which release, a table or JSON.

What needs more than a line to be read stands here beside its option.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scheduler_reader.knowledge.versions import Release

OUTPUT = "Output"


class PlainFormat(StrEnum):
    """What a command writes that has no report of findings."""

    terminal = "terminal"
    json = "json"


FormatOption = Annotated[
    PlainFormat, typer.Option("--format", help="What stdout gets.", rich_help_panel=OUTPUT)
]
Configs = Annotated[
    list[str] | None,
    typer.Argument(metavar="CONFIG", help="Files to read; - is stdin.", show_default=False),
]
ReleaseOption = Annotated[
    str | None,
    typer.Option("--vllm-version", metavar="V", help="The release; newest if unsaid."),
]


def stated_release(name: str | None) -> Release:
    """The release of that name, else the newest; what is assumed about an unknown one is told."""
    from scheduler_reader.cli.messages import tell
    from scheduler_reader.knowledge.versions import find_release, latest

    release = find_release(name) if name else latest()
    if release.assumption:
        tell(release.assumption)
    return release
