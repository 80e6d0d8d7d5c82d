"""Findings one by one, as every machine format lists them: clean texts, relative places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from scheduler_reader.assessment import Judged
from scheduler_reader.gate.fingerprint import Identity, identities
from scheduler_reader.privacy import mask, printable, secrets
from scheduler_reader.record import Record
from scheduler_reader.report import wording
from scheduler_reader.report.places import NO_FILES, Place, place_of, relative
from scheduler_reader.report.report import Report
from scheduler_reader.rule_engine.evaluate import CONFIDENCE_ORDER, SEVERITY_ORDER
from scheduler_reader.rule_engine.finding import Finding, Suppression
from scheduler_reader.value import Unknown


class Listed(Record):
    """A finding of one engine.  Secrets and control characters are out of its texts.

    `fingerprint` says which finding it is in every run, whatever line it moves to; `clean` is what
    other texts of its engine go through, the same for all findings of one engine.
    """

    judged: Judged
    finding: Finding
    place: Place
    message: str
    why: str
    remedy: str
    fingerprint: str
    clean: Callable[[str], str]
    suppression: Suppression | None = None

    @property
    def title(self) -> str:
        """`MEM104 utilization-leaves-no-margin`."""
        return f"{self.finding.code} {self.finding.name}"

    @property
    def sentences(self) -> str:
        """What is wrong and what to do, on one line."""
        stop = "" if self.message.endswith((".", "!", "?")) else "."
        return f"{self.message}{stop} Fix: {self.remedy}" if self.remedy else self.message


def listed(report: Report, *, suppressed: bool = False) -> list[Listed]:
    """Every finding in the order of the engines; with `suppressed`, also those that do not count."""
    seen: Counter[str] = Counter()
    entries: list[Listed] = []
    for judged in report.judged:
        clean, identity = cleaner(judged, report.root), identities(judged.engine)
        accepted = judged.suppressed if suppressed else ()
        pairs: list[tuple[Finding, Suppression | None]] = [(one, None) for one in judged.findings]
        pairs += [(one.finding, one.suppression) for one in accepted]
        for finding, suppression in pairs:
            fingerprint = _fingerprint(judged, identity(finding), report)
            seen[fingerprint] += 1
            if seen[fingerprint] > 1:
                fingerprint = f"{fingerprint}-{seen[fingerprint]}"
            entries.append(
                Listed(
                    judged,
                    finding,
                    finding_place(judged, finding, report),
                    clean(finding.message),
                    clean(finding.why),
                    clean("; ".join(wording.remedies(finding))),
                    fingerprint,
                    clean,
                    suppression,
                )
            )
    return entries


def worst_first(entries: Sequence[Listed]) -> list[Listed]:
    """By severity, then confidence; otherwise in the order given."""
    return sorted(
        entries,
        key=lambda one: (
            SEVERITY_ORDER[one.finding.severity],
            CONFIDENCE_ORDER[one.finding.confidence],
        ),
    )


def finding_place(judged: Judged, finding: Finding, report: Report) -> Place:
    """Where a finding stands; the engine's place where it has none of its own."""
    engine = judged.engine.parsed.origin
    origin = finding.origin if finding.origin and finding.origin.path else engine
    return place_of(origin, report.root)


def cleaner(judged: Judged, root: Path | None = None) -> Callable[[str], str]:
    """What a text of this engine goes through before anybody sees it.

    With `root`, paths below it are said as they are seen from there.
    """
    hidden, prefix = secrets(judged.engine), "" if root is None else f"{root}/"
    return lambda text: printable(mask(text, hidden)).replace(prefix, "")


def engine_title(judged: Judged, clean: Callable[[str], str]) -> str:
    """The model, and the engine's name where it has one: `Qwen/Qwen3-8B (chat)`."""
    model, name = judged.engine.model_id, judged.engine.parsed.name
    title = "model unknown" if isinstance(model, Unknown) else model.value
    return clean(f"{title} ({name})" if name else title)


def not_evaluated(judged: Judged) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is not known → the rules that could not be evaluated for lack of it."""
    codes: dict[str, list[str]] = {}
    for rule in judged.not_evaluated:
        codes.setdefault(rule.missing, []).append(rule.code)
    clean = cleaner(judged)
    for missing, of_fact in codes.items():
        yield clean(missing), tuple(of_fact)


def _fingerprint(judged: Judged, one: Identity, report: Report) -> str:
    """That of the baseline, of the path as it is seen from the root of the repository."""
    is_file = one.path not in NO_FILES and judged.engine.parsed.origin.path is not None
    return (
        one._replace(path=relative(one.path, report.root)).fingerprint
        if is_file
        else one.fingerprint
    )
