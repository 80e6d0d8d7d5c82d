"""docs/accuracy.md and its scatter plot: predictions against published serving runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pages.markdown import page, table
from pages.predictions import Case, error_summary, outdone
from pages.unstated_loads import unstated_loads

INTRODUCTION = """\
Every public run that is recorded in `tests/performance/published_runs.yaml` (numbers and sources there) against what
`diagnose` predicts for it, with the load protocol stated and nothing else but the arguments shown. Errors are relative,
(predicted - measured) / measured; tokens/s of both sides come from their own TTFT and TPOT, since most sources give no other."""
SPLIT = """\
Constants of `compat_matrix/host.yaml` and of `compat_matrix/efficiency/` that no kernel measurement gives were fitted on some
of the series; the others show what that is worth elsewhere.

- Fitted: {fitted}.
- Held out: {held}. Two constants were not blind to them: the tokenizer's time and the experts' routing time were chosen, among
  values that the fitted runs do not tell apart, with a look at these.

Median / 90th percentile of the absolute error, and the share of measured TTFT / TPOT / tokens/s that lies within the predicted
range (low to high):"""
OUTDONE = """\
An engine is no faster under more load. In these runs it would have been: another run of the same series, with more requests
at once or longer outputs, was faster than noise and rarer prompts allow. They count in every figure above but that which leaves
them out, and nothing is fitted to them."""
WAVES = """\
Five runs are recorded with 512 requests at once. Their TPOT is that of a handful, and their throughput the same on two, four
and eight GPUs. Both times of all five are those of another load: an engine with few seats (`--max-num-seqs`), ten times as
many requests, sent at once as far as the client's limit of 512 allowed. So their TTFT is a queue of ten waves. They are predicted
as recorded everywhere else on this page; here as waves, of as many seats (the power of two nearest) as give their TPOT:"""
OUT_OF_REACH = """\
Both tables together hold {count} of the {all} runs on {gpu}, more than a tenth. So the 90th percentile of the TPOT
error there is an error on one of them: a prediction that agrees with the other runs cannot make it small."""


def accuracy_page(
    cases: Sequence[Case],
    notes: Iterable[str],
    otherwise: Mapping[str, Sequence[Case]] | None = None,
    drafts: Iterable[str] = (),
) -> str:
    """The page; `otherwise`: runs whose arguments and lengths are not stated, predicted with several;
    `drafts`: what is said of speculative decoding.
    """
    names = list(dict.fromkeys(case.series for case in cases))
    by_ranks = {
        (name, ranks): [c for c in cases if (c.series, c.tensor) == (name, ranks)]
        for name in names
        for ranks in sorted({c.tensor for c in cases if c.series == name})
    }
    head = ("model, release, GPU", "TP", "runs", "TTFT", "TPOT", "tokens/s")
    summary = [
        (name, str(ranks), *error_summary(group)) for (name, ranks), group in by_ranks.items()
    ]
    whole = [
        (f"**all on {gpu}**", "", *error_summary(group)) for gpu, group in _by_gpu(cases).items()
    ]
    slower = [(case, how) for case in cases if case.seats is None and (how := outdone(case, cases))]
    sections = [_section(name, [c for c in cases if c.series == name]) for name in names]
    return page(
        "# How accurate predictions are",
        "Written by `python tools/accuracy.py`; edit the data or that tool instead.",
        INTRODUCTION,
        "Median / 90th percentile of the absolute error:",
        table(head, summary + whole),
        "![Predicted against measured](accuracy.svg)",
        "## Fitted and held out",
        *_split(cases, {id(case) for case, _ in slower}),
        "## What misses, and what is known of it",
        "\n".join(f"- {note}" for note in notes),
        *unstated_loads(cases, otherwise or {}),
        *_outdone(slower),
        *_waves([case for case in cases if case.waves is not None]),
        *_out_of_reach(cases, {id(case) for case, _ in slower}),
        *drafts,
        *sections,
    )


def scatter(cases: Sequence[Case]) -> str:
    """An SVG of TTFT and TPOT, predicted over measured, both axes logarithmic."""
    panels = [_panel(cases, index, 40 + 420 * index) for index in (0, 1)]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="860" height="440" font-family="sans-serif" '
        'font-size="12">\n<rect width="860" height="440" fill="white"/>\n'
        + "\n".join(panels)
        + "\n</svg>\n"
    )


def _split(cases: Sequence[Case], slower: set[int]) -> Iterator[str]:
    fitted, held = ([c for c in cases if c.is_fitted == used] for used in (True, False))
    yield SPLIT.format(fitted=_named(fitted, cases), held=_named(held, cases))
    groups: dict[str, list[Case]] = {}
    for kind, is_moe in (("dense", False), ("mixture of experts", True)):
        for use, is_fitted in (("fitted", True), ("held out", False)):
            group = [c for c in cases if (c.is_moe, c.is_fitted) == (is_moe, is_fitted)]
            groups[f"{kind}, {use}"] = group
    groups |= {f"**all on {gpu}**": group for gpu, group in _by_gpu(cases).items()}
    for gpu, group in _by_gpu(cases).items():
        sound = [case for case in group if case.seats is None and id(case) not in slower]
        if len(sound) < len(group):
            groups[f"{gpu}, without the {len(group) - len(sound)} runs that contradict others"] = (
                sound
            )
    head = ("runs of", "runs", "TTFT", "TPOT", "tokens/s", "within the range")
    yield table(
        head,
        [
            (name, *error_summary(group), _coverage(group))
            for name, group in groups.items()
            if group
        ],
    )


def _named(part: Sequence[Case], cases: Sequence[Case]) -> str:
    """The series of some cases in short; with the prompts where only those of one length are among
    them.
    """
    names: dict[str, set[int]] = {}
    for case in part:
        model, release, gpu = case.series.rsplit(", ", 2)
        name = f"{model.rsplit('/', 1)[-1]} {release} {gpu.removeprefix('NVIDIA ').split()[0]}"
        every, mine = (
            {one.lengths[0] for one in group if one.series == case.series}
            for group in (cases, part)
        )
        if mine < every:
            name += f" with prompts of {' and '.join(f'{tokens:,}' for tokens in sorted(mine))}"
        names.setdefault(name, set()).add(case.tensor)
    return "; ".join(f"{name}, TP {_listed(ranks)}" for name, ranks in names.items())


def _listed(numbers: Iterable[int]) -> str:
    return "/".join(map(str, sorted(numbers)))


def _coverage(cases: Iterable[Case]) -> str:
    within = [case.is_within for case in cases if case.is_within is not None]
    shares = [sum(of) / len(within) for of in zip(*within, strict=True)]
    return " / ".join(f"{share:.0%}" for share in shares)


def _outdone(slower: Sequence[tuple[Case, str]]) -> Iterator[str]:
    if not slower:
        return
    yield "## Runs that contradict others"
    yield OUTDONE
    head = ("model, release, GPU", "TP", "input/output", "concurrent", "TTFT ms", "TPOT ms", "but")
    yield table(head, [(case.series, *_row(case)[:4], _row(case)[5], how) for case, how in slower])


def _waves(cases: Sequence[Case]) -> Iterator[str]:
    if not cases:
        return
    yield WAVES
    head = (
        "release",
        "TP",
        "input/output",
        "seats",
        "TTFT ms",
        "predicted",
        "TPOT ms",
        "predicted",
    )
    rows = []
    for case in cases:
        _, release, _ = case.series.rsplit(", ", 2)
        row = _row(case._replace(predicted=case.waves))
        rows.append((release, *row[:2], str(case.seats), *row[3:7]))
    yield table(head, rows)


def _out_of_reach(cases: Sequence[Case], slower: set[int]) -> Iterator[str]:
    """What such runs mean for a 90th percentile, where they are more than a tenth."""
    for gpu, group in _by_gpu(cases).items():
        count = sum(case.seats is not None or id(case) in slower for case in group)
        if count > len(group) / 10:
            yield OUT_OF_REACH.format(count=count, all=len(group), gpu=gpu)


def _by_gpu(cases: Sequence[Case]) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.gpu, []).append(case)
    return groups


def _section(name: str, cases: Sequence[Case]) -> str:
    head = ("TP", "input/output", "concurrent", "TTFT ms", "predicted", "TPOT ms", "predicted", "")
    return f"## {name}\n\n{table(head, map(_row, cases))}"


def _row(case: Case) -> list[str]:
    lengths = f"{case.lengths[0]:,}/{case.lengths[1]:,}"
    cells = [str(case.tensor), lengths, str(case.concurrency)]
    for at in (0, 1):
        cells.append(f"{case.measured[at]:,.1f}")
        if case.predicted is None or case.errors is None:
            cells.append("none")
        else:
            cells.append(f"{case.predicted[at]:,.1f} ({case.errors[at]:+.0%})")
    return [*cells, case.remark]


def _panel(cases: Sequence[Case], at: int, left: int) -> str:
    points = [(c.measured[at], c.predicted[at]) for c in cases if c.predicted is not None]
    low = math.floor(math.log10(min(map(min, points))))
    high = math.ceil(math.log10(max(map(max, points))))

    def place(value: float) -> float:
        return 360 * (math.log10(value) - low) / (high - low)

    def x(value: float) -> float:
        return left + place(value)

    def y(value: float) -> float:
        return 400 - place(value)

    lines = [
        f'<rect x="{left}" y="40" width="360" height="360" fill="none" stroke="#888"/>',
        f'<line x1="{left}" y1="400" x2="{left + 360}" y2="40" stroke="#888"/>',
        f'<text x="{left}" y="28">{("TTFT", "TPOT")[at]} in ms: predicted (up) over measured</text>',
    ]
    for power in range(low, high + 1):
        lines.append(f'<text x="{x(10**power) - 8:.0f}" y="416">{10.0**power:,g}</text>')
        lines.append(f'<text x="{left - 38}" y="{y(10**power) + 4:.0f}">{10.0**power:,g}</text>')
    for measured, found in points:
        lines.append(
            f'<circle cx="{x(measured):.1f}" cy="{y(found):.1f}" r="2.5" fill="#1764ab" fill-opacity="0.6"/>'
        )
    return "\n".join(lines)
