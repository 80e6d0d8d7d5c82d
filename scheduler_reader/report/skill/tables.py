"""The skill's tables, from the data that the tool itself decides by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from scheduler_reader.compat.answers import whole_matrix
from scheduler_reader.compat.pairs import PairVerdict
from scheduler_reader.data import documents
from scheduler_reader.diagnosis.next_steps import with_metrics
from scheduler_reader.explain.defaults import DefaultRow, DefaultSpan
from scheduler_reader.explain.flags import FlagExplanation, explain_flag
from scheduler_reader.explain.terms import find_term
from scheduler_reader.knowledge.flags import lifetime
from scheduler_reader.knowledge.versions import Release, releases
from scheduler_reader.report import wording

DEFAULTS_OF = (
    "--max-num-batched-tokens",
    "--max-num-seqs",
    "--enable-chunked-prefill",
    "--enable-prefix-caching",
    "--gpu-memory-utilization",
    "--block-size",
    "--async-scheduling",
    "--scheduler-reserve-full-isl",
    "--long-prefill-token-threshold",
)
NO_KNOB = "none of the engine"


def bottlenecks(release: Release) -> str:
    """Kind, what shows it, the first two knobs that the release has."""
    kinds = documents("compat_matrix", "next_steps.yaml")["next_steps.yaml"]["kinds"]
    rows = []
    for kind, entry in kinds.items():
        if kind == "none":
            continue
        knobs = [_knob(one) for one in entry.get("knobs", ()) if _has(release, one["flag"])]
        first, second = (*knobs, NO_KNOB, "")[:2]
        title = f"`{kind}`: {wording.KINDS[kind]}"
        rows.append((title, first, second, with_metrics(entry["measure"], release)))
    return _table(("bottleneck", "first knob", "second knob", "watch, and what confirms it"), rows)


def _has(release: Release, flag: str) -> bool:
    life = lifetime(flag)
    return life is not None and release.within(*life)


def _knob(knob: dict[str, Any]) -> str:
    since, _ = lifetime(knob["flag"]) or ("", "")
    from_release = f" (from {since})" if since != releases()[0] else ""
    return f"`{knob['flag']}`{from_release}: {knob['do']}"


def defaults() -> str:
    """What the scheduler's settings become when nobody states them, release by release."""
    rows = [row for flag in DEFAULTS_OF for row in _default_rows(explain_flag(flag))]
    return _table(("flag", "deployment", "default, and the releases it holds in"), rows)


def _default_rows(flag: FlagExplanation) -> Iterator[tuple[str, str, str]]:
    resolved = flag.defaults or (
        DefaultRow(
            ("all",),
            tuple(DefaultSpan(one.since, one.until, one.default, "") for one in flag.ranges),
        ),
    )
    for row in resolved:
        where = "all" if len(row.deployments) > 4 else "; ".join(row.deployments)
        is_switch = any(isinstance(span.value, bool) for span in row.spans)
        values = [replace(s, value=bool(s.value)) if is_switch else s for s in row.spans]
        spans = ", ".join(map(_span, _joined(values)))
        yield f"`{flag.name}`", where, spans


def _joined(spans: Sequence[DefaultSpan]) -> list[DefaultSpan]:
    """Neighbours of one value as one span."""
    joined: list[DefaultSpan] = []
    for span in spans:
        if joined and joined[-1].value == span.value:
            joined[-1] = replace(joined[-1], until=span.until)
        else:
            joined.append(span)
    return joined


def _span(span: DefaultSpan) -> str:
    until = "" if span.until == releases()[-1] else span.until
    held = span.since if span.since == span.until else f"{span.since}–{until}"
    return f"{wording.setting_text(span.value)} ({held})"


def exclusions(release: Release) -> str:
    """The pairs of features that a release excludes or limits."""
    pairs = [pair for pair in whole_matrix(release).pairs if pair.status in ("no", "partial")]
    return _table(("features", "together", "since or until, and why"), map(_pair, pairs))


def _pair(pair: PairVerdict) -> tuple[str, str, str]:
    held = f"{pair.since or ''}–{pair.until or ''}" if pair.since else ""
    reason = pair.reason or ("" if pair.is_contradicted else "as documented")
    rules = ", ".join(pair.rules)
    together = "no" if pair.status == "no" else "with limits"
    why = "; ".join(filter(None, (held, reason, rules)))
    return f"{pair.first} + {pair.second}", together, why


def corrections(words: Sequence[str]) -> str:
    """What is often believed of these terms, put right, with the source."""
    terms = [term for term in map(find_term, words) if term is not None]
    rows = [(term.name, term.mistaken or "", term.source) for term in terms]
    return _table(("about", "what holds", "source"), rows)


def metrics(entries: Sequence[dict[str, str]], release: Release) -> str:
    """The metrics to ask for, and what a server of the release calls them."""
    rows = ((one["name"], one["what"], with_metrics(one["server"], release)) for one in entries)
    return _table(("metric", "what", "on the server's /metrics"), rows)


def keys(entries: Sequence[dict[str, str]]) -> str:
    """How to read the JSON of `diagnose`."""
    return _table(("key", "how to read it"), ((f"`{one['key']}`", one["read"]) for one in entries))


def _table(head: Sequence[str], rows: Any) -> str:
    lines = [tuple(head), ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, cells))} |" for cells in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
