"""`sched-reader settings`: which settings hold for a file, and where each stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from scheduler_reader.cli.conversion import Group, PlainCommand
from scheduler_reader.cli.plain_options import FormatOption, PlainFormat
from scheduler_reader.errors import InputError
from scheduler_reader.settings import KEYS, Settings, find_settings

app = typer.Typer(
    name="settings",
    help="""Options that stand in a settings file.

    Example: sched-reader settings show deploy/llm.yaml
    """,
    cls=Group,
    add_completion=False,
)


@app.callback()
def settings() -> None:
    """Options that stand in sched-reader.toml or in [tool.sched-reader] of pyproject.toml."""


@app.command(cls=PlainCommand)
def show(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="What is to be read; the working folder if unsaid.",
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help=r"With \[profile.NAME] over the other settings."
        ),
    ] = None,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Show every setting that holds for a file or folder, with its place or what is taken instead."""
    read = file or Path()
    if not read.exists():
        raise InputError(f"{read}: no such file or folder")
    found = find_settings(read if read.is_dir() else read.parent, profile)
    rows = [_row(key, found) for key in KEYS]
    path = None if found is None else str(found.path)
    if format is PlainFormat.json:
        document = {
            "file": path,
            "profile": profile,
            "profiles": list(found.profiles) if found else [],
            "settings": dict(rows),
        }
        typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    typer.echo(path or "no settings file: neither sched-reader.toml nor [tool.sched-reader]")
    width = max(map(len, KEYS))
    for key, row in rows:
        for text in _shown(row):
            typer.echo(f"{key:{width}}  {text}")
    if found and found.profiles:
        typer.echo(f"{'profiles':{width}}  {', '.join(found.profiles)}")


def _row(key: str, found: Settings | None) -> tuple[str, dict[str, Any]]:
    value = found.values.get(key) if found else None
    if value is None:
        return key, {"value": None, "origin": "default", "taken": KEYS[key].otherwise}
    if isinstance(value.value, dict):
        entries = {
            name: {"value": entry.value, "origin": entry.origin.place}
            for name, entry in value.value.items()
        }
        return key, {"value": entries, "origin": value.origin.place}
    plain = [str(item) for item in value.value] if isinstance(value.value, list) else value.value
    plain = str(plain) if isinstance(plain, Path) else plain
    return key, {"value": plain, "origin": value.origin.place}


def _shown(row: dict[str, Any]) -> list[str]:
    """A setting on a line; each entry of a table on a line of its own."""
    value = row["value"]
    if value is None:
        return [f"- ({row['taken']})"]
    if isinstance(value, dict):
        return [f"{name} = {one['value']}  ({one['origin']})" for name, one in value.items()]
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return [f"{text.lower() if isinstance(value, bool) else text}  ({row['origin']})"]
