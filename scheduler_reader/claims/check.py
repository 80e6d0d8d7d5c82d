"""Whether a quoted figure holds, case by case."""

from __future__ import annotations

from scheduler_reader.claims.claim import Case, CaseAnswer, Claim, Verdict
from scheduler_reader.claims.measures import MEASURES
from scheduler_reader.value import Unknown


def check_claim(claim: Claim) -> Verdict:
    """Compute every case of a claim."""
    return Verdict(claim, tuple(_answer(claim, case) for case in claim.cases))


def _answer(claim: Claim, case: Case) -> CaseAnswer:
    measured = MEASURES[claim.measure](case)
    if isinstance(measured, Unknown):
        return CaseAnswer(case, measured, "no")
    if _holds(claim, measured.value):
        return CaseAnswer(case, measured, "yes")
    ends = [end for end in (measured.low, measured.high) if end is not None]
    return CaseAnswer(case, measured, "borderline" if any(_holds(claim, e) for e in ends) else "no")


def _holds(claim: Claim, value: float) -> bool:
    return (claim.least is None or value >= claim.least) and (
        claim.most is None or value <= claim.most
    )
