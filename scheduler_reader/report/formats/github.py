"""GitHub annotations: workflow commands that mark lines of a pull request, and the job's summary.

GitHub shows ten annotations of a step and drops the rest, so the ten worst are printed; all
findings go to the summary.  Text of the files read cannot become a command of its own: line ends
and `%` are escaped as the runner wants it, and what a command could start with is broken up.
"""

from __future__ import annotations

from scheduler_reader.privacy import mask, printable
from scheduler_reader.report import markdown_text as md
from scheduler_reader.report.listing import Listed, listed, worst_first
from scheduler_reader.report.places import Place, place_of_unreadable
from scheduler_reader.report.report import Report
from scheduler_reader.report.wording import plural

SUMMARY_VARIABLE = "GITHUB_STEP_SUMMARY"
MOST = 10
MOST_ROWS = 1_000  # of the summary, which may have 1 MiB
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """At most ten commands, the worst first: inputs that could not be read, then findings."""
    commands = [
        _command(
            "error",
            _where(place_of_unreadable(bad, report.root)),
            "not read",
            printable(mask(bad.message)),
        )
        for bad in report.unreadable
    ]
    commands += [_annotation(one) for one in worst_first(listed(report))]
    return "".join(command + "\n" for command in commands[:MOST])


def summary(report: Report) -> str:
    """Every finding in a table of Markdown, for the page of the job."""
    entries = worst_first(listed(report))
    files = {one.place.path for one in entries}
    found = plural(len(entries), "finding")
    parts = [
        "## sched-reader",
        f"{found} in {plural(len(files), 'file')}." if entries else "No findings.",
    ]
    if len(entries) + len(report.unreadable) > MOST:
        parts[-1] += f" The {MOST} worst are annotated."
    parts += [
        f"- not read: {md.escaped(printable(mask(bad.message)))}" for bad in report.unreadable
    ]
    if entries:
        parts.append(md.findings_table(entries[:MOST_ROWS], report.docs_url))
    if len(entries) > MOST_ROWS:
        parts.append(f"{len(entries) - MOST_ROWS:,} more are not listed.")
    return "\n\n".join(parts) + "\n"


def _annotation(one: Listed) -> str:
    engine = one.clean(one.judged.engine.parsed.name or "")
    text = f"{engine}: {one.message}" if engine else one.message
    text += f"\nFix: {one.remedy}" if one.remedy else ""
    return _command(_COMMANDS[one.finding.severity], _where(one.place), one.title, text)


def _where(place: Place) -> dict[str, str]:
    where = {"file": place.path if place.is_file else None, "line": place.line, "col": place.column}
    return {name: str(value) for name, value in where.items() if value is not None}


def _command(name: str, properties: dict[str, str], title: str, text: str) -> str:
    pairs = {**properties, "title": title}
    written = ",".join(f"{key}={_property(value)}" for key, value in pairs.items())
    return f"::{name} {written}::{_data(text)}"


def _data(text: str) -> str:
    """As the runner reads it back; `::` and `##[` are where commands start."""
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        text = text.replace(character, code)
    return text.replace("::", ": :").replace("##[", "## [")


def _property(value: str) -> str:
    escaped = value
    for character, code in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"), (":", "%3A"), (",", "%2C")):
        escaped = escaped.replace(character, code)
    return escaped.replace("##[", "## [")
