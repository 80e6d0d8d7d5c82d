"""`sched-reader upgrade`: what changes for a configuration between two vLLM releases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli.edited_file import EditedFile
from scheduler_reader.cli.groups import Load, Target, read_request, takes_groups
from scheduler_reader.cli.inputs import read_inputs
from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.output import FINDINGS, UNREADABLE
from scheduler_reader.cli.plain_options import FormatOption, PlainFormat, stated_release
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.versions import Release, find_release
from scheduler_reader.report.unreadable import Unreadable

if TYPE_CHECKING:
    from scheduler_reader.upgrade.changes import Upgrade
    from scheduler_reader.upgrade.rewrite import Rewrite, Rewritten


@takes_groups
def upgrade(
    context: typer.Context,
    config: Annotated[
        str | None,
        typer.Argument(metavar="CONFIG", help="The file to read; - is stdin.", show_default=False),
    ] = None,
    *,
    from_version: Annotated[
        str | None,
        typer.Option("--from", metavar="A", help="The release it runs on; the image's if unsaid."),
    ] = None,
    to_version: Annotated[
        str | None,
        typer.Option("--to", metavar="B", help="The release to go to; newest if unsaid."),
    ] = None,
    target: Target,
    load: Load,
    fix: Annotated[
        bool, typer.Option("--fix", help="Rewrite in the file what B calls otherwise.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print what --fix would change, and write nothing.")
    ] = False,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """Say what an upgrade of vLLM changes: flags, defaults that move, refusals, and the effect in numbers.

    Example: sched-reader upgrade serve.yaml --from 0.9.2 --to 0.18.0 --gpu h100 --diff
    """
    from scheduler_reader.upgrade.engines import upgrades_of

    later = stated_release(to_version)
    request = read_request(target.read(context), load)
    if (fix or diff) and config in (None, "-"):
        raise UsageError("--fix and --diff need a file: a command line or stdin is none")
    files, unreadable = read_inputs([config] if config else [], context.obj)
    engines = [engine for file in files for engine in file.readable]
    request = request._replace(target=target.fetched(request.target, engines))
    rewrites: Sequence[Rewrite] = ()
    is_refused = False
    if (fix or diff) and files and config:
        earlier = find_release(from_version) if from_version else None
        rewritten = _rewrite(Path(config), later, earlier, is_diff=diff)
        rewrites, is_refused = rewritten.rewrites, rewritten.is_refused
    if diff:
        for left in (one for one in rewrites if not one.is_done):
            place = left.origin.place
            tell(f"{place}: {left.flag} is left alone: {left.reason}")
    else:
        upgrades = upgrades_of(files, from_version, later, request)
        is_refused = is_refused if fix else any(one.is_refused for one in upgrades)
        _print(upgrades, rewrites, unreadable, format)
    for bad in unreadable:
        tell(bad.message)
    raise typer.Exit(UNREADABLE if unreadable else FINDINGS if is_refused else 0)


def _rewrite(path: Path, release: Release, earlier: Release | None, is_diff: bool) -> Rewritten:
    """Rewrite the file, or (`is_diff`) print the unified diff and leave the file alone."""
    from scheduler_reader.upgrade.rewrite import rewrite

    file = EditedFile.read(path)
    rewritten = rewrite(file.text, str(path), release, earlier)
    if is_diff:
        file.show_difference(rewritten.text)
    elif rewritten.text != file.text:
        file.write(rewritten.text)
    return rewritten


def _print(
    upgrades: Sequence[Upgrade],
    rewrites: Sequence[Rewrite],
    unreadable: Sequence[Unreadable],
    format: PlainFormat,
) -> None:
    if format is PlainFormat.json:
        from scheduler_reader.report import upgrade as report

        typer.echo(report.render(upgrades, rewrites, unreadable), nl=False)
        return
    from rich.console import Console

    from scheduler_reader.report.terminal import upgrade as terminal

    terminal.render(upgrades, rewrites, Console())
