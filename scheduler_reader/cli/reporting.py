"""The report that a command hands to the formats, with what each of them may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from scheduler_reader.assessment import Assessment, Judged
from scheduler_reader.errors import InputError
from scheduler_reader.report.places import NO_FILES, repository_root
from scheduler_reader.report.report import Report
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.rule_engine.finding import Finding

if TYPE_CHECKING:
    from scheduler_reader.simulate.result import SimulationResult
    from scheduler_reader.tune.remedy import Edit


def report_of(
    judged: Sequence[Judged],
    unreadable: Sequence[Unreadable],
    assess: Callable[[], Sequence[Assessment]],
) -> Report:
    """Paths are relative to the repository that the working folder is in."""
    text_of = cache(_text)  # of one report: a later one may find another text in the file

    def edit(one: Judged, finding: Finding) -> Edit | None:
        return _edit(one, finding, text_of)

    return Report(
        judged,
        unreadable,
        assess=assess,
        edit=edit,
        root=repository_root(Path.cwd()),
        run=_run,
        docs=_docs_url,
    )


def _run(assessment: Assessment) -> SimulationResult | None:
    """The run behind a simulated prediction, made anew with what a timeline shows."""
    from scheduler_reader.simulate.estimate import ORIGIN
    from scheduler_reader.simulate.recorded import recorded_run

    if assessment.performance.origin != ORIGIN:
        return None
    return recorded_run(assessment.engine, assessment.capacity, assessment.workload)


def _docs_url() -> str:
    """The `Documentation` among the links of the installed package."""
    from importlib.metadata import metadata

    links = metadata("sched-reader").get_all("Project-URL") or []
    named = dict(link.split(", ", 1) for link in links)
    return str(named.get("Documentation", ""))


def _edit(judged: Judged, finding: Finding, text_of: Callable[[str], str | None]) -> Edit | None:
    from scheduler_reader.tune.remedy import remedy_edit

    path = judged.engine.parsed.origin.path
    text = None if path is None or path in NO_FILES else text_of(path)
    if path is None or text is None:
        return None
    return remedy_edit(text, path, judged.engine, finding)


def _text(path: str) -> str | None:
    """The text of a file that was read before, or None where that fails now."""
    from scheduler_reader.parse.input_file import read_input

    try:
        return read_input(path).text
    except InputError:
        return None
