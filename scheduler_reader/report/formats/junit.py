"""JUnit XML, as Jenkins, GitLab, Azure and CircleCI read it: a suite a file, a case a finding.

Errors and warnings fail, notes do not; a finding that somebody accepted, and rules that could not
be evaluated, are skipped; what could not be read is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as Tree

from scheduler_reader.assessment import Judged
from scheduler_reader.privacy import mask, printable
from scheduler_reader.report.listing import Listed, cleaner, listed, not_evaluated
from scheduler_reader.report.places import place_of, place_of_unreadable
from scheduler_reader.report.report import Report

COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}  # attribute → element


def render(report: Report) -> str:
    """The document, with no times in it: nothing was run."""
    root = Tree.Element("testsuites", name="sched-reader")
    suites: dict[str, Tree.Element] = {}
    entries = listed(report, suppressed=True)
    for judged in report.judged:
        path = place_of(judged.engine.parsed.origin, report.root).path
        own = [one for one in entries if one.judged is judged]
        _suite(root, suites, path).extend(_engine_cases(judged, own, path))
    for bad in report.unreadable:
        path = place_of_unreadable(bad, report.root).path
        case = _case("read", path)
        message = printable(mask(bad.message))
        Tree.SubElement(case, "error", message=message, type="unreadable")
        _suite(root, suites, path).append(case)
    for suite in suites.values():
        _count(suite, list(suite))
    _count(root, [case for suite in suites.values() for case in suite])
    Tree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n' + Tree.tostring(root, encoding="unicode") + "\n"
    )


def _suite(root: Tree.Element, suites: dict[str, Tree.Element], path: str) -> Tree.Element:
    if path not in suites:
        suites[path] = Tree.SubElement(root, "testsuite", name=path)
    return suites[path]


def _engine_cases(judged: Judged, entries: list[Listed], path: str) -> Iterator[Tree.Element]:
    """A case that says the engine was read, then its findings and what could not be evaluated."""
    engine, clean = judged.engine, cleaner(judged)
    prefix = f"{clean(engine.parsed.name)}: " if engine.parsed.name else ""
    runs_on = f"read as vLLM {engine.release.name} on {engine.hardware.gpu.name}"
    yield _case(prefix + runs_on, path)
    for one in entries:
        yield _finding_case(one, prefix, path)
    for missing, codes in not_evaluated(judged):
        case = _case(f"{prefix}not evaluated: {', '.join(codes)}", path)
        Tree.SubElement(case, "skipped", message=missing)
        yield case


def _finding_case(one: Listed, prefix: str, path: str) -> Tree.Element:
    finding, place = one.finding, one.place
    subject = f" ({one.clean(finding.argument)})" if finding.argument else ""
    case = _case(prefix + one.title + subject, path)
    if place.is_file:
        case.set("file", place.path)
    if place.line is not None:
        case.set("line", str(place.line))
    text = "\n".join(part for part in (f"{place}: {one.message}", one.why, one.remedy) if part)
    if one.suppression is not None:
        reason = one.clean(one.suppression.reason)
        Tree.SubElement(case, "skipped", message=f"{one.suppression.kind}: {reason}")
    elif finding.severity == "note":
        Tree.SubElement(case, "system-out").text = text
    else:
        failure = Tree.SubElement(case, "failure", message=one.message, type=finding.severity)
        failure.text = text
    return case


def _case(name: str, path: str) -> Tree.Element:
    return Tree.Element("testcase", name=name, classname=path)


def _count(element: Tree.Element, cases: list[Tree.Element]) -> None:
    element.set("tests", str(len(cases)))
    for attribute, name in COUNTED.items():
        element.set(attribute, str(sum(case.find(name) is not None for case in cases)))
