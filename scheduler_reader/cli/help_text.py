"""What `--help` shows of a command: paragraphs that fill the line, examples one below the other.

typer breaks a paragraph where our source does, takes examples apart, and gives a type to options
that take no value.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

PROGRAM = "sched-reader "


def prepare(command: Any, parameters: Iterable[Any]) -> None:
    """Change a command and its parameters, which end with this help, to be shown so."""
    command.help = paragraphs(command.help or "")
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None


def paragraphs(text: str) -> str:
    """The text with each paragraph on one line, and examples on lines of their own below it."""
    shown = ""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        line = " ".join(paragraph.split())
        is_example = line.startswith((PROGRAM, "helm ")) and shown
        shown += f"\n{line}" if is_example else f"\n\n{line}"
    return shown.strip()
