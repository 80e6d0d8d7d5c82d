"""Which report goes where, and the exit code that follows from what it says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from scheduler_reader.cli.messages import tell
from scheduler_reader.cli.options import FailOn
from scheduler_reader.errors import UsageError
from scheduler_reader.record import Record
from scheduler_reader.report import formats

if TYPE_CHECKING:
    from scheduler_reader.assessment import Judged
    from scheduler_reader.cli.groups import Gate
    from scheduler_reader.report.report import Report
    from scheduler_reader.report.unreadable import Unreadable

FINDINGS = 1
UNREADABLE = 3
FACTS_MISSING = 4


class Outputs(Record):
    """The format of stdout, and those that go to files as well."""

    format: str
    files: Sequence[tuple[str, Path]] = ()


def read_targets(outputs: Sequence[str]) -> list[tuple[str, Path]]:
    """`FORMAT=FILE` arguments; an unknown format or a missing file name is a `UsageError`."""
    targets = []
    for output in outputs:
        name, _, file = output.partition("=")
        if name not in formats.names() or not file:
            raise UsageError(
                f"--output {output}: write FORMAT=FILE with one of {', '.join(formats.names())}"
            )
        targets.append((name, Path(file)))
    return targets


def write_reports(report: Report, outputs: Outputs) -> None:
    """Print one format to stdout, write the others to their files."""
    for name, path in outputs.files:
        replace_file(path, formats.load(name).render(report))
    if outputs.format == "terminal":
        from rich.console import Console

        from scheduler_reader.report import terminal

        terminal.render(report.assessments, Console())
    else:
        wanted = formats.load(outputs.format)
        typer.echo(wanted.render(report), nl=False)
        _add_summary(wanted, report)


def _add_summary(wanted: formats.Format, report: Report) -> None:
    """Append what a CI system shows of a job to the file that it names, if the format has such."""
    if not isinstance(wanted, formats.Summarized):
        return
    file = os.environ.get(wanted.SUMMARY_VARIABLE)
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8") as target:
            target.write(wanted.summary(report))
    except OSError as error:
        tell(f"{wanted.SUMMARY_VARIABLE} {file}: cannot be written: {error.strerror}")


def replace_file(path: Path, content: str) -> None:
    """Write a file so that an interruption leaves the old one: beside it, then renamed over it."""
    import tempfile

    beside: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
        ) as new:
            beside = Path(new.name)
            new.write(content)
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if beside is not None:  # there only where it was not renamed
            beside.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def exit_code(
    assessments: Sequence[Judged],
    unreadable: Sequence[Unreadable],
    gate: Gate,
) -> int:
    """The worst that happened wins: unreadable input, then findings, then missing facts."""
    if unreadable:
        return UNREADABLE
    ranks = list(FailOn)
    if gate.fail_on is not FailOn.never:
        worst = [f.severity for a in assessments for f in a.findings]
        if any(ranks.index(FailOn(severity)) <= ranks.index(gate.fail_on) for severity in worst):
            return FINDINGS
    if gate.require_facts and any(
        not each.needs_observation for one in assessments for each in one.not_evaluated
    ):
        return FACTS_MISSING
    return 0
