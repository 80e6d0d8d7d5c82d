"""How the verdict on a quoted figure reads: the same words in a terminal and on a page."""

from __future__ import annotations

from scheduler_reader.claims.claim import CaseAnswer, Claim, Verdict
from scheduler_reader.report import wording
from scheduler_reader.value import Unknown


def quoted(claim: Claim) -> str:
    """`at least 2,200`, `at most 15.0 ms`, `2.0×–4.0×`."""
    if claim.least is None and claim.most is not None:
        return f"at most {figure(claim.measure, claim.most)}"
    assert claim.least is not None
    if claim.most is None:
        return f"at least {figure(claim.measure, claim.least)}"
    return f"{figure(claim.measure, claim.least)}–{figure(claim.measure, claim.most)}"


def figure(measure: str, value: float) -> str:
    """A figure in the unit that the name of its measure ends with."""
    if measure.endswith("_ms"):
        return wording.duration(value)
    if measure.endswith("_per_s"):
        return wording.rate(value)
    if measure.endswith("_gib"):
        return f"{value:.2f} GiB"
    if measure.endswith("_percent"):
        return f"{round(value, 1) + 0.0:.1f}%".replace("-", "−")
    return f"{value:.1f}×" if measure.endswith("_gain") else wording.count(value)


def row(claim: Claim, answer: CaseAnswer) -> tuple[str, str, str, str]:
    """The case, its figure with the range, whether the quoted one holds, and what goes with it."""
    measured = answer.measured
    if isinstance(measured, Unknown):
        return answer.case.label, "none", answer.answer, measured.reason
    text = figure(claim.measure, measured.value)
    if measured.low is not None and measured.high is not None:
        low, high = (figure(claim.measure, end) for end in (measured.low, measured.high))
        text += f" ({low} – {high})"
    return answer.case.label, text, answer.answer, measured.beside


def engines(verdict: Verdict) -> list[str]:
    """The engines that the figures are computed for: what they share, and what the cases add."""
    added: dict[str, list[str]] = {}
    for case in (answer.case for answer in verdict.answers):
        if case.engine:
            target = f"(vLLM {case.release}, {case.gpu})"
            added.setdefault(f"vllm serve {case.engine} {target}", []).append(case.added)
    return [
        f"{shared}, with {' | '.join(dict.fromkeys(each))}" if any(each) else shared
        for shared, each in added.items()
    ]


def workloads(verdict: Verdict) -> list[str]:
    """The workloads that matter to the figure, each once."""
    if verdict.claim.measure.startswith("kv_"):
        return []
    cases = [answer.case for answer in verdict.answers if answer.case.engine]
    return list(dict.fromkeys(wording.workload_text(case.workload) for case in cases))
