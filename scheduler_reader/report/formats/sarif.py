"""SARIF 2.1.0, for GitHub code scanning, editors and everything else that reads analysis results.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/.  Paths are relative to `SRCROOT`, the root of the
repository; what makes two results the same one does not depend on lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from scheduler_reader import __version__
from scheduler_reader.privacy import mask, printable
from scheduler_reader.report.listing import Listed, cleaner, listed, not_evaluated
from scheduler_reader.report.places import Place, place_of, place_of_unreadable
from scheduler_reader.report.plain import dumped
from scheduler_reader.report.report import Report
from scheduler_reader.report.rule_help import help_of, page_url, words
from scheduler_reader.report.wording import command_options
from scheduler_reader.rule_engine.finding import Suppression
from scheduler_reader.value import Origin

if TYPE_CHECKING:
    from scheduler_reader.tune.remedy import Edit

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
ROOT = "SRCROOT"
FINGERPRINT = "schedReaderIdentity/v1"  # a new number whenever it is computed otherwise


def render(report: Report) -> str:
    """One run with the results of all engines."""
    results = listed(report, suppressed=True)
    codes = sorted({one.finding.code for one in results})
    driver: dict[str, Any] = {
        "name": "sched-reader",
        "fullName": "sched-reader: vLLM scheduler settings, read before deployment",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(_first(results, code), report) for code in codes],
    }
    if report.docs_url:
        driver["informationUri"] = report.docs_url
    has_suppressions = any(one.suppression for one in results)
    run = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "results": [
            _result(one, codes.index(one.finding.code), has_suppressions, report) for one in results
        ],
        "columnKind": "unicodeCodePoints",
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return dumped(document)


def _first(results: Sequence[Listed], code: str) -> Listed:
    return next(one for one in results if one.finding.code == code)


def _rule(one: Listed, report: Report) -> dict[str, Any]:
    finding = one.finding
    known = help_of(finding)
    clean = one.clean
    content: dict[str, Any] = {
        "id": finding.code,
        "name": finding.name,
        "shortDescription": {"text": words(finding.name)},
        "fullDescription": {"text": clean(known.about)},
        "help": {"text": _lines(known.text), "markdown": _lines(known.markdown)},
        "defaultConfiguration": {"level": known.severity},
        "properties": {
            "precision": known.confidence,
            "problem.severity": known.severity.replace("note", "recommendation"),
            "tags": ["vllm", finding.code.rstrip("0123456789"), known.default],
        },
    }
    url = page_url(finding.code, report.docs_url)
    return content | ({"helpUri": url} if url else {})


def _lines(text: str) -> str:
    """Help without secrets and control characters, its line ends kept."""
    return "\n".join(printable(mask(line)) for line in text.split("\n"))


def _result(one: Listed, index: int, has_suppressions: bool, report: Report) -> dict[str, Any]:
    finding, engine = one.finding, one.judged.engine
    content: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": one.sentences},
        "locations": [_location(one.place, _engine_name(one))],
        "partialFingerprints": {FINGERPRINT: one.fingerprint},
        "properties": {
            "effect": finding.effect,
            "confidence": finding.confidence,
            "vllmVersion": engine.release.name,
            "gpu": engine.hardware.gpu.name,
        },
    }
    edit = None if one.suppression else report.edit(one.judged, finding)
    if edit is not None:
        content["fixes"] = [_fix(one, edit, report)]
    if has_suppressions:
        content["suppressions"] = (
            [_suppression(one, one.suppression, report)] if one.suppression else []
        )
    return content


def _engine_name(one: Listed) -> str:
    parsed = one.judged.engine.parsed
    return one.clean(parsed.name or parsed.form)


def _location(place: Place, engine: str) -> dict[str, Any]:
    """The place in the file, and the engine it is about; text of stdin has no file."""
    logical = {"name": engine, "kind": "resource"}
    if not place.is_file:
        return {"logicalLocations": [logical], "message": {"text": place.path}}
    return {"physicalLocation": _physical(place), "logicalLocations": [logical]}


def _physical(place: Place) -> dict[str, Any]:
    content: dict[str, Any] = {"artifactLocation": _artifact(place.path)}
    region = {"startLine": place.line, "startColumn": place.column}
    if place.line is not None:
        content["region"] = {name: number for name, number in region.items() if number}
    return content


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(path), "uriBaseId": ROOT}


def _fix(one: Listed, edit: Edit, report: Report) -> dict[str, Any]:
    (start_line, start_column), (end_line, end_column) = edit.start, edit.end
    region = {
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
    }
    replacement = {
        "deletedRegion": region,
        "insertedContent": {"text": cleaner(one.judged)(edit.text)},
    }
    description = edit.description or ", ".join(command_options(one.finding.fix))
    artifact = _artifact(place_of(Origin("file", path=edit.path), report.root).path)
    return {
        "description": {"text": one.clean(description)},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}],
    }


def _suppression(one: Listed, suppression: Suppression, report: Report) -> dict[str, Any]:
    """A comment or an annotation stands in the file; the baseline beside it."""
    is_external = suppression.kind == "baseline"
    content: dict[str, Any] = {
        "kind": "external" if is_external else "inSource",
        "status": "accepted",
        "justification": one.clean(suppression.reason),
    }
    place = place_of(suppression.origin, report.root)
    if place.is_file:
        content["location"] = {"physicalLocation": _physical(place)}
    return content


def _invocation(report: Report) -> dict[str, Any]:
    """Whether everything could be read, and what is missing or taken for granted."""
    unreadable = [
        {
            "level": "error",
            "message": {"text": printable(mask(bad.message))},
            "locations": _file_location(place_of_unreadable(bad, report.root)),
        }
        for bad in report.unreadable
    ]
    content: dict[str, Any] = {"executionSuccessful": not unreadable}
    if unreadable:
        content["toolExecutionNotifications"] = unreadable
    notes = list(_notes(report))
    if notes:
        content["toolConfigurationNotifications"] = notes
    return content


def _file_location(place: Place) -> list[dict[str, Any]]:
    return [{"physicalLocation": _physical(place)}] if place.is_file else []


def _notes(report: Report) -> Iterator[dict[str, Any]]:
    for judged in report.judged:
        clean = cleaner(judged)
        locations = _file_location(place_of(judged.engine.parsed.origin, report.root))
        texts = [f"Assumed: {clean(text)}" for text in judged.engine.assumptions]
        texts += [
            f"Not evaluated: {', '.join(codes)}: {missing}"
            for missing, codes in not_evaluated(judged)
        ]
        for text in texts:
            yield {"level": "note", "message": {"text": text}, "locations": locations}
