"""The gate as the commands apply it, and what they say of it on stderr."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scheduler_reader.cli.messages import tell
from scheduler_reader.privacy import mask, secrets
from scheduler_reader.report.wording import plural
from scheduler_reader.value import Origin

if TYPE_CHECKING:
    from scheduler_reader.assessment import Judged
    from scheduler_reader.gate.baseline import Entry
    from scheduler_reader.gate.controls import Controls
    from scheduler_reader.gate.judgement import Judgement
    from scheduler_reader.gate.suppressions import J
    from scheduler_reader.parse.source import ParsedFile
    from scheduler_reader.pipeline import Request

MOST_NAMED = 6  # facts or assumptions of a run that stderr names; reports have them all


def gated(
    files: Sequence[ParsedFile], engines: Sequence[J], request: Request, controls: Controls
) -> tuple[J, ...]:
    """The engines as the gate counts their findings; a baseline is written where that is asked for."""
    if controls == type(controls)() and not any(file.remarks for file in files):
        return tuple(engines)  # most runs: nothing is loaded for them
    from scheduler_reader.gate.judgement import judge

    judgement = judge(files, engines, request, controls)
    if judgement.baseline is not None and controls.writes_baseline:
        from scheduler_reader.cli.output import replace_file
        from scheduler_reader.gate.baseline_file import baseline_text

        baseline = judgement.baseline
        replace_file(baseline.path, baseline_text(baseline))
        tell(
            f"{baseline.path}: {plural(sum(one.count for one in baseline.entries), 'finding')} written"
        )
    _tell_entries(judgement)
    return judgement.engines


def counts(engines: Sequence[Judged]) -> str:
    """`2 findings, 1 suppressed, 3 known from the baseline`."""
    parts = [plural(sum(len(one.findings) for one in engines), "finding")]
    kinds = [accepted.suppression.kind for one in engines for accepted in one.suppressed]
    known = kinds.count("baseline")
    parts += [f"{len(kinds) - known:,} suppressed"] if len(kinds) > known else []
    parts += [f"{known:,} known from the baseline"] if known else []
    return ", ".join(parts)


def tell_doubts(engines: Sequence[Judged]) -> None:
    """Say which facts are missing, to how many rules, and what is assumed.

    Measurements are not called missing: where none can be given, none is asked for.
    """
    missing: dict[str, dict[str, None]] = {}
    assumed: dict[str, None] = {}
    for one in engines:
        hidden = secrets(one.engine)
        for rule in one.not_evaluated:
            if rule.needs_observation:
                continue
            missing.setdefault(mask(rule.missing, hidden), {})[rule.code] = None
        assumed |= dict.fromkeys(mask(text, hidden) for text in one.engine.assumptions)
    if missing:
        rules = {code for codes in missing.values() for code in codes}
        facts = [f"{reason} ({_codes(codes)})" for reason, codes in missing.items()]
        tell(f"{plural(len(rules), 'rule')} not evaluated: {_first(facts)}")
    if assumed:
        tell(f"assumed: {_first(list(assumed))}")


def _tell_entries(judgement: Judgement[Any]) -> None:
    """Say which entries of the baseline are over, and which are found no more."""
    if judgement.baseline is None:
        return
    for entry in judgement.expired:
        place = judgement.baseline.place(entry)
        tell(f"{_at(place)}{_named(entry)} counts again: it was known until {entry.expires}")
    if judgement.fixed:
        fixed = _first([_named(entry) for entry in judgement.fixed])
        path = judgement.baseline.path
        tell(f"{path}: fixed, so --write-baseline {path} can shrink it: {fixed}")


def _at(place: Origin) -> str:
    return f"{place.place}: " if place.place else ""


def _named(entry: Entry) -> str:
    argument = f" {entry.identity.argument}" if entry.identity.argument else ""
    return f"{entry.identity.code}{argument} of {entry.identity.path}"


def _codes(codes: Iterable[str]) -> str:
    named = list(codes)
    return ", ".join(named) if len(named) <= 3 else f"{len(named)} rules"


def _first(texts: Sequence[str]) -> str:
    more = len(texts) - MOST_NAMED
    return "; ".join(texts[:MOST_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
