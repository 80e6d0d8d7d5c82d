"""One page that needs nothing else: memory, bottleneck, findings, timeline; light and dark.

It has no script and allows none, and every text of the files read is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from scheduler_reader.assessment import Assessment
from scheduler_reader.privacy import mask, printable
from scheduler_reader.report import wording
from scheduler_reader.report.block_html import Clean, html
from scheduler_reader.report.listing import Listed, cleaner, engine_title, listed, worst_first
from scheduler_reader.report.places import place_of
from scheduler_reader.report.report import Report
from scheduler_reader.report.rule_help import page_url
from scheduler_reader.report.terminal import report_sections
from scheduler_reader.report.terminal.findings import EFFECTS

OWN = ("header", "findings", "tuning")  # sections that this page draws otherwise
FOLDED = ("limits", "next")


def render(report: Report) -> str:
    """The page with every engine, the first at the top."""
    page = files("scheduler_reader.report").joinpath("page.html").read_text(encoding="utf-8")
    entries = listed(report, suppressed=True)
    parts = ["<h1>sched-reader</h1>", *_unreadable(report)]
    if len(report.assessments) > 1:
        parts.append(_contents(report))
    for i, assessment in enumerate(report.assessments):
        own = [one for one in entries if one.judged is report.judged[i]]
        parts.append(f'<section id="engine-{i + 1}">')
        parts += _engine(assessment, own, report)
        parts.append("</section>")
    title = _title(report)
    return page.replace("<!--TITLE-->", escape(title)).replace("<!--CONTENT-->", "\n".join(parts))


def _title(report: Report) -> str:
    if len(report.assessments) != 1:
        return f"sched-reader: {wording.plural(len(report.assessments), 'engine')}"
    (assessment,) = report.assessments
    return f"{engine_title(assessment, cleaner(assessment))} - sched-reader"


def _unreadable(report: Report) -> Iterator[str]:
    for bad in report.unreadable:
        message = escape(printable(mask(bad.message)))
        yield f'<p><span class="error">not read</span>: {message}</p>'


def _contents(report: Report) -> str:
    items = []
    for i, assessment in enumerate(report.assessments):
        clean = cleaner(assessment, report.root)
        starts, verdict = wording.start_verdict(assessment)
        style = {True: "good", False: "error", None: "warning"}[starts]
        items.append(
            f'<li><a href="#engine-{i + 1}">{escape(engine_title(assessment, clean))}</a> '
            f'{_place(assessment, report)} <span class="{style}">{escape(verdict.headline)}</span></li>'
        )
    return f"<nav><ul>{''.join(items)}</ul></nav>"


def _place(assessment: Assessment, report: Report) -> str:
    place = place_of(assessment.engine.parsed.origin, report.root)
    return f"<code>{escape(cleaner(assessment)(str(place)))}</code>"


def _engine(assessment: Assessment, entries: Sequence[Listed], report: Report) -> Iterator[str]:
    clean = cleaner(assessment, report.root)
    sections = report_sections(assessment)
    _, *verdict = sections["header"]
    title = escape(engine_title(assessment, clean))
    yield f"<h2>{title}</h2>\n<p>{_place(assessment, report)}</p>"
    yield html(verdict, clean)
    counted = [one for one in entries if not one.suppression]
    yield from _findings(counted, report, said=assessment.capacity.reason)
    yield from _tuning(assessment, clean)
    for name, blocks in sections.items():
        if name not in OWN and name not in FOLDED:
            yield html(blocks, clean)
        if name == "performance":
            yield from _timeline(assessment, report)
    yield from _accepted([one for one in entries if one.suppression], clean)
    limits = html((block for name in FOLDED for block in sections[name]), clean)
    if limits:
        yield f"<details><summary>Assumed, not modelled, not evaluated</summary>\n{limits}\n</details>"


def _timeline(assessment: Assessment, report: Report) -> Iterator[str]:
    result = report.run(assessment)
    if result is None:
        return
    from scheduler_reader.report.simulation.drawing import draw

    yield "<h3>Timeline of the simulated run</h3>"
    yield draw(result)


def _findings(entries: Sequence[Listed], report: Report, said: str) -> Iterator[str]:
    """One box a finding; a reason that the verdict has `said` is not given again."""
    if entries:
        yield "<h3>Findings</h3>"
    for one in worst_first(entries):
        severity = one.finding.severity
        certainty = ", low confidence" if one.finding.confidence == "low" else ""
        effect = EFFECTS[one.finding.effect] + certainty
        is_news = one.why and severity != "note" and one.finding.why != said
        why = f'<p class="dim">{escape(one.why)}</p>' if is_news else ""
        fix = f'<p><span class="head">Fix</span> {escape(one.remedy)}</p>' if one.remedy else ""
        yield (
            f'<div class="finding is-{severity}"><div><span class="badge is-{severity}">{severity}</span>'
            f'{_rule(one, report)} <span class="dim">({effect})</span> <code>{escape(str(one.place))}</code></div>'
            f"<p>{escape(one.message)}</p>{why}{fix}</div>"
        )


def _rule(one: Listed, report: Report) -> str:
    title, url = escape(one.title), page_url(one.finding.code, report.docs_url)
    if not url:
        return f'<span class="head">{title}</span>'
    return f'<a class="head" href="{escape(url)}" rel="noreferrer">{title}</a>'


def _tuning(assessment: Assessment, clean: Clean) -> Iterator[str]:
    if not assessment.tuning:
        return
    yield "<h3>Change, in this order</h3>\n<ol>"
    for step in sorted(assessment.tuning, key=lambda step: step.order):
        options = escape(clean(" ".join(wording.command_options(step.set))))
        effect = wording.predicted_text(step, assessment.slo)
        predicted = f"<p>Predicted: {escape(effect)}</p>" if effect else ""
        yield (
            f"<li><code>{options}</code><p>{escape(clean(step.because))}</p>{predicted}"
            f'<p class="dim">Watch {escape(clean(step.watch))}</p></li>'
        )
    yield "</ol>"


def _accepted(entries: Sequence[Listed], clean: Clean) -> Iterator[str]:
    if not entries:
        return
    items = []
    for one in entries:
        assert one.suppression is not None
        reason = escape(clean(f"{one.suppression.kind}: {one.suppression.reason}"))
        items.append(
            f'<li><span class="badge is-accepted">accepted</span>{escape(one.title)} '
            f"<code>{escape(str(one.place))}</code><p>{escape(one.message)}</p>"
            f'<p class="dim">{reason}</p></li>'
        )
    title = wording.plural(len(entries), "accepted finding")
    yield f"<details><summary>{title}</summary><ul>{''.join(items)}</ul></details>"
