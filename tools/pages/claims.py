"""docs/claims.md: the figures that are quoted everywhere, each with its verdict."""

from __future__ import annotations

from pages.markdown import GENERATED, page, table
from scheduler_reader.claims.check import check_claim
from scheduler_reader.claims.claim import Verdict, all_claims
from scheduler_reader.report import claim as words

INTRODUCTION = """\
Figures that articles, slides and answers repeat about vLLM, each computed by the stages that read your configuration: with the
low and high end of the prediction where it has one. *borderline*: the figure lies within that range. In a terminal,
`sched-reader explain tokens-per-second` says the same of one, and `sched-reader list claims` names them. Use none of them
without its verdict."""


def claims_page() -> dict[str, str]:
    """Path below docs/ → text."""
    verdicts = [check_claim(claim) for claim in all_claims()]
    rows = [
        (f"[{one.claim.name}](#{one.claim.name})", one.claim.says, one.sentence) for one in verdicts
    ]
    index = table(("claim", "what is said", "what comes of it"), rows)
    sections = [block for one in verdicts for block in _section(one)]
    text = page(
        "# The figures everybody quotes, checked", GENERATED, INTRODUCTION, index, *sections
    )
    return {"claims.md": text}


def _section(verdict: Verdict) -> list[str]:
    claim = verdict.claim
    computed = "\n".join(
        [
            *(f"- `{engine}`" for engine in words.engines(verdict)),
            *(f"- {load}" for load in words.workloads(verdict)),
        ]
    )
    return [
        f"## {claim.name}",
        f"> {claim.says} (quoted: {words.quoted(claim)})",
        f"**{verdict.sentence}** {' '.join(claim.but.split())}",
        table(
            ("case", "computed", "holds", ""),
            (words.row(claim, answer) for answer in verdict.answers),
        ),
        f"Computed for\n\n{computed}" if computed else "",
        f"Source: {' '.join(claim.source.split())}.",
    ]
