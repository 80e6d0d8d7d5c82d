"""Which features go together, for people: `sched-reader compat`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from scheduler_reader.compat.answers import Answer
from scheduler_reader.compat.pairs import PairVerdict, Status
from scheduler_reader.report.terminal.blocks import BLANK, Block, Columns, Span, heading, paragraph
from scheduler_reader.report.terminal.layout import Layout

if TYPE_CHECKING:
    from rich.console import Console

LETTERS: dict[Status, Span] = {
    "yes": ("y", "good"),
    "partial": ("p", "warning"),
    "no": ("n", "error"),
    "unknown": ("?", "dim"),
}
VERDICTS: dict[Status, tuple[str, str]] = {
    "yes": ("GO TOGETHER", "good"),
    "partial": ("GO TOGETHER WITH LIMITS", "warning"),
    "no": ("DO NOT GO TOGETHER", "error"),
    "unknown": ("NOT KNOWN FOR ALL PAIRS", "warning"),
}
WORDS: dict[Status, str] = {
    "yes": "go together",
    "partial": "limited",
    "no": "exclude each other",
    "unknown": "not known",
}
LEGEND = "y yes, p with limits, n no, ? the documentation leaves it open"


def render(answer: Answer, console: Console) -> None:
    """Print one answer: a verdict on a set, or a matrix, and the pairs that do not simply work."""
    Layout(console).print(_blocks(answer))


def _blocks(answer: Answer) -> Iterator[Block]:
    names = ", ".join(feature.name for feature in answer.features)
    is_whole = answer.status is None and len(answer.features) > 10
    yield heading(f"vLLM {answer.release.name}", "" if is_whole else f"  {names}")
    if answer.status is not None:
        headline, style = VERDICTS[answer.status]
        yield paragraph((headline, style), indent=2)
    for feature in answer.absent:
        span = " to ".join(filter(None, (feature.since, feature.until))) or "no release"
        yield paragraph(
            (feature.name, "set"),
            f"  not in this release; {feature.flag or 'it'} is there from {span}",
            indent=2,
        )
    if is_whole:
        yield from _matrix(answer)
    yield from _pairs(answer)
    yield from _unknown(answer)
    yield from _hardware(answer)
    if answer.undocumented_gpu:
        yield BLANK
        yield paragraph(f"The documentation has no column for {answer.undocumented_gpu}.")
    if answer.page:
        yield BLANK
        yield paragraph(("documentation  ", "dim"), f"vLLM {answer.release.name}, {answer.page}")


def _matrix(answer: Answer) -> Iterator[Block]:
    """The features that the documentation has a table for, as a triangle of letters."""
    found = {frozenset((pair.first, pair.second)): pair for pair in answer.pairs if pair.documented}
    in_table = {name for pair in found for name in pair}
    names = [feature.name for feature in answer.features if feature.name in in_table]
    if not names:
        return
    yield paragraph(LEGEND, indent=2)
    yield BLANK
    rows: list[tuple[Span, ...]] = []
    for i, name in enumerate(names):
        cells = [_letter(found.get(frozenset((name, other)))) for other in names[:i]]
        blanks: list[Span] = [("", "")] * (len(names) - i)
        rows.append(((str(i + 1), "dim"), (name, ""), *cells, *blanks))
    numbers: list[Span] = [(str(i + 1), "dim") for i in range(len(names))]
    rows.append((("", ""), ("", ""), *numbers))
    yield Columns(tuple(rows), "rl" + "r" * len(names), gap=1)


def _letter(pair: PairVerdict | None) -> Span:
    return LETTERS[pair.status] if pair else ("", "")


def _pairs(answer: Answer) -> Iterator[Block]:
    """In a matrix only what does not simply work; asked for by name, everything."""
    is_set = answer.status is not None
    told = [pair for pair in answer.pairs if is_set or _is_worth_telling(pair)]
    if told:
        yield BLANK
        yield heading("Pairs" if is_set else "Pairs that do not simply work")
        for pair in told:
            yield from _pair(pair)
    fine = [pair for pair in answer.pairs if pair not in told]
    if fine and len(answer.features) <= 10:
        yield BLANK
        yield heading("Go together")
        yield paragraph(", ".join(f"{p.first} + {p.second}" for p in fine), indent=2)


def _is_worth_telling(pair: PairVerdict) -> bool:
    return pair.status in ("no", "partial") or pair.is_contradicted


def _pair(pair: PairVerdict) -> Iterator[Block]:
    style = LETTERS[pair.status][1]
    yield paragraph(
        (f"{pair.first} + {pair.second}", "set"),
        "  ",
        (WORDS[pair.status], style),
        _when(pair),
        indent=2,
        hang=4,
    )
    reason = pair.reason or ("" if pair.is_contradicted else "as documented")
    rules = f"  [{', '.join(pair.rules)}]" if pair.rules else ""
    if pair.status != "yes" or pair.reason:
        yield paragraph(reason + rules, indent=4)
    if pair.is_contradicted and pair.documented and pair.code:
        yield paragraph(
            f"the documentation says {pair.documented.status} "
            f"({pair.documented.since}–{pair.documented.until}), the code {pair.code.status} "
            f"({pair.code.since}–{pair.code.until}); the code is what runs",
            indent=4,
        )
    if pair.note:
        yield paragraph(pair.note, indent=4)


def _when(pair: PairVerdict) -> str:
    if pair.since is None:
        return ""
    return f", {pair.since}–{pair.until}" if pair.until else f", since {pair.since}"


def _unknown(answer: Answer) -> Iterator[Block]:
    if not answer.open_pairs:
        return
    yield BLANK
    yield heading("Nothing is known of")
    text = ", ".join(f"{one} + {other}" for one, other in answer.open_pairs)
    yield paragraph(text, indent=2)


def _hardware(answer: Answer) -> Iterator[Block]:
    if not answer.hardware:
        return
    kinds: Sequence[str] = tuple(dict.fromkeys(kind for _, kind, _ in answer.hardware))
    names = tuple(dict.fromkeys(name for name, _, _ in answer.hardware))
    cells = {(name, kind): cell for name, kind, cell in answer.hardware}
    yield BLANK
    yield heading("On hardware, as documented")
    head: tuple[Span, ...] = (("", ""), *((kind, "dim") for kind in kinds))
    rows = [
        (
            (name, ""),
            *(
                LETTERS[cells[name, kind].status] if (name, kind) in cells else ("", "")
                for kind in kinds
            ),
        )
        for name in names
    ]
    yield Columns((head, *rows), "l" + "r" * len(kinds), gap=1)
