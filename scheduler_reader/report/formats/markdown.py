"""A comment on a pull request: the verdict, the findings, what to change, the rest folded away.

Text of the files read is shown as it stands: it makes no link, mention, heading or table cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from scheduler_reader.assessment import Assessment
from scheduler_reader.privacy import mask, printable
from scheduler_reader.report import markdown_text as md
from scheduler_reader.report import wording
from scheduler_reader.report.block_markdown import Clean, markdown
from scheduler_reader.report.listing import Listed, cleaner, engine_title, listed, worst_first
from scheduler_reader.report.places import place_of
from scheduler_reader.report.report import Report
from scheduler_reader.report.terminal import report_sections
from scheduler_reader.report.terminal.header import SEVERITIES
from scheduler_reader.rule_engine.finding import Severity

MARKER = "<!-- sched-reader -->"  # by which a bot finds its own comment again
MOST_CHARACTERS = 60_000  # GitHub takes 65,536 of them
FOLDED = {
    "Memory, prediction, settings": ("memory", "performance", "settings"),
    "Evidence, assumptions, what is not known": ("evidence", "limits", "next"),
}


def render(report: Report) -> str:
    """Every engine, the one with the gravest finding first, as far as a comment has room.

    What does not fit is first the folded parts of an engine, then the engine.
    """
    entries = listed(report, suppressed=True)
    head = [MARKER, f"## sched-reader: {_counts(entries, len(report.assessments))}"]
    head += [
        f"- **not read**: {md.escaped(printable(mask(bad.message)))}" for bad in report.unreadable
    ]
    engines = [
        (assessment, [one for one in entries if one.judged is judged])
        for assessment, judged in zip(report.assessments, report.judged, strict=True)
    ]
    engines.sort(key=lambda engine: _gravest(engine[1]))
    return "\n\n".join([*head, *_sections(engines, report, sum(map(len, head)))]) + "\n"


def _sections(
    engines: Sequence[tuple[Assessment, Sequence[Listed]]], report: Report, used: int
) -> list[str]:
    room = MOST_CHARACTERS - used
    sections: list[str] = []
    for engine in engines:
        section = "\n\n".join(_shown(*engine, report))
        room -= len(section)
        if room < 0:
            left = wording.plural(len(engines) - len(sections), "more engine")
            return [*sections, f"{left} would not fit into a comment."]
        sections.append(section)
    for i, engine in enumerate(engines):
        folded = "\n\n".join(("", *_folded(*engine, report)))
        room -= len(folded)
        if room < 0:
            break
        sections[i] += folded
    return sections


def _gravest(entries: Sequence[Listed]) -> int:
    ranks = [SEVERITIES.index(one.finding.severity) for one in entries if not one.suppression]
    return min(ranks, default=len(SEVERITIES))


def _counts(entries: Sequence[Listed], engines: int) -> str:
    counted: Counter[Severity] = Counter(
        one.finding.severity for one in entries if not one.suppression
    )
    parts = [wording.plural(counted[name], name) for name in SEVERITIES if counted[name]]
    return f"{', '.join(parts) or 'no findings'} in {wording.plural(engines, 'engine')}"


def _shown(assessment: Assessment, entries: Sequence[Listed], report: Report) -> Iterator[str]:
    """The verdict, the findings, and what to change."""
    clean = cleaner(assessment, report.root)
    _, *verdict = report_sections(assessment)["header"]
    place = str(place_of(assessment.engine.parsed.origin, report.root))
    yield f"### {md.escaped(engine_title(assessment, clean))} in {md.code(place)}"
    yield markdown(verdict, clean)
    counted = [one for one in entries if not one.suppression]
    if counted:
        yield md.findings_table(worst_first(counted), report.docs_url)
    steps = list(_steps(assessment, clean))
    if steps:
        yield "**Change, in this order**"
        yield "\n".join(steps)


def _folded(assessment: Assessment, entries: Sequence[Listed], report: Report) -> Iterator[str]:
    """What a reader opens: the figures, the reasons, and what somebody accepted."""
    clean, sections = cleaner(assessment, report.root), report_sections(assessment)
    for title, names in FOLDED.items():
        blocks = [block for name in names for block in sections[name]]
        if blocks:
            yield _fold(title, markdown(blocks, clean))
    accepted = [one for one in entries if one.suppression]
    if accepted:
        yield _fold(wording.plural(len(accepted), "accepted finding"), _accepted(accepted))


def _steps(assessment: Assessment, clean: Clean) -> Iterator[str]:
    for step in sorted(assessment.tuning, key=lambda step: step.order):
        options = md.code(clean(" ".join(wording.command_options(step.set))))
        text = md.escaped(clean(step.because))
        effect = wording.predicted_text(step, assessment.slo)
        predicted = f"; predicted: {md.escaped(effect)}" if effect else ""
        watch = md.escaped(clean(step.watch))
        yield f"{step.order}. {options}: {text.rstrip('.')}{predicted}; watch {watch}"


def _accepted(entries: Sequence[Listed]) -> str:
    lines = []
    for one in entries:
        assert one.suppression is not None
        reason = md.escaped(one.clean(one.suppression.reason))
        place = md.code(str(one.place))
        lines.append(
            f"- {place} {one.title}: {md.escaped(one.message)} ({one.suppression.kind}: {reason})"
        )
    return "\n".join(lines)


def _fold(title: str, content: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{content}\n\n</details>"
