"""Runs whose source states neither arguments nor lengths: predicted in several ways, and what tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pages.markdown import table
from pages.predictions import REQUESTS, SHORTEST, Case, error_summary

PROTOCOLS = """\
The source of the {model} runs states neither arguments nor lengths. Here they are what the generator of that source writes: prompts
and outputs all alike, and a token budget of concurrency + prompt + 1,500. That the runs were started so is inferred. That lengths
were alike shows in the runs themselves: requests that start together then end together, and their successors meet no more often
when outputs are long, so TTFT does not depend on the output length; with spread lengths it falls. The same {count} runs otherwise
(median / 90th percentile of the error, of these runs and of all on the same GPU; the last column is TTFT with outputs of 128
tokens over TTFT with 1,024, {measured} as measured):"""
UNMET = """\
The same by arithmetic on the runs alone, whatever a step takes: with {most} concurrent, {tokens:,} tokens of prompt hold the engine no
longer than {prompt_ms:.0f} ms, since in that time a request comes and goes. With {few} concurrent and outputs of {output:,} tokens from 80 % up,
requests end over {ends_ms:,.0f} ms, and their {few} successors need {busy:.0%} of that: hardly two meet. So their TTFT, the burst at the start
included, is about {bound_ms:.0f} ms beside the front end's few; measured are {ttft_ms:.0f}, as with outputs of {shortest:,} tokens."""
OTHERWISE: Mapping[str, Mapping[str, Any]] = {
    "as its generator writes": {},
    "lengths alike, default token budget": {"arguments": ""},
    "lengths from 80 % of the nominal ones up, generated token budget": {"shortest": SHORTEST},
    "lengths from 80 % up, default token budget, as all other runs here": {
        "arguments": "",
        "shortest": SHORTEST,
    },
}


def unstated_loads(cases: Sequence[Case], otherwise: Mapping[str, Sequence[Case]]) -> Iterator[str]:
    """The section on runs whose source states neither arguments nor lengths."""
    if not otherwise:
        return
    first = next(iter(otherwise.values()))
    series, gpu = first[0].series, first[0].gpu
    measured = _ratios(first, [case.measured[0] for case in first])
    yield PROTOCOLS.format(model=series.split(", ")[0], count=len(first), measured=measured)
    others = [case for case in cases if case.gpu == gpu and case.series != series]
    head = ("started and loaded", "TTFT", "TPOT", "tokens/s", "all: TTFT", "TPOT", "128 / 1,024")
    rows = []
    for name, group in otherwise.items():
        ratios = _ratios(group, [case.predicted[0] for case in group if case.predicted])
        rows.append(
            (name, *error_summary(group)[1:], *error_summary([*group, *others])[1:3], ratios)
        )
    yield table(head, rows)
    yield _unmet(first)


def _unmet(cases: Sequence[Case]) -> str:
    """What TTFT the lightest run could have if its requests ended independently of each other, by the
    runs' own times: Little's law for a prompt's longest time, half a queue's mean wait (M/D/1).
    """
    prompt = min(case.lengths[0] for case in cases)
    alike = [case for case in cases if case.lengths[0] == prompt]
    spread = [case._replace(shortest=SHORTEST) for case in alike]
    full = min(spread, key=lambda case: case.duration_ms / case.concurrency)
    light = min(spread, key=lambda case: (case.concurrency, -case.lengths[1]))
    prompt_ms = full.duration_ms / full.concurrency
    ends_ms = (1 - SHORTEST) * light.lengths[1] * light.measured[1]
    busy = light.concurrency * prompt_ms / ends_ms
    alone_ms = prompt_ms + light.measured[1] / 2 + prompt_ms * busy / 2 / (1 - busy)
    burst_ms = (light.concurrency + 1) / 2 * prompt_ms
    return UNMET.format(
        most=full.concurrency,
        tokens=prompt,
        prompt_ms=prompt_ms,
        few=light.concurrency,
        output=light.lengths[1],
        ends_ms=ends_ms,
        busy=busy,
        bound_ms=alone_ms + (burst_ms - alone_ms) / REQUESTS,
        ttft_ms=light.measured[0],
        shortest=min(case.lengths[1] for case in alike),
    )


def _ratios(cases: Sequence[Case], ttft_ms: Sequence[float]) -> str:
    """TTFT of the shortest outputs over that of the longest, of runs alike but for the outputs."""
    groups: dict[tuple[int, int, int], dict[int, float]] = {}
    for case, ttft in zip(cases, ttft_ms, strict=True):
        group = groups.setdefault((case.tensor, case.lengths[0], case.concurrency), {})
        group[case.lengths[1]] = ttft
    ratios = [
        by_output[min(by_output)] / by_output[max(by_output)] for by_output in groups.values()
    ]
    return f"{min(ratios):.2f} to {max(ratios):.2f}"
