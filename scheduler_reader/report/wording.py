"""How the reports for people say things: units, flags, workloads, limits and verdicts."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.verdict import Bottleneck, Default, Kind, TuningStep
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.record import Record
from scheduler_reader.report.plain import plain
from scheduler_reader.rule_engine.finding import Finding
from scheduler_reader.value import Origin, Unknown
from scheduler_reader.workload import Lengths, Slo, Workload

DEFAULTS: dict[Default, str] = {
    "paged_attention": "PagedAttention (KV blocks)",
    "continuous_batching": "continuous batching (admission)",
    "chunked_prefill": "chunked prefill (token budget)",
    "none": "none of the three defaults",
}

KINDS: dict[Kind, str] = {
    "kv_starvation": "KV blocks run out, requests wait or are preempted",
    "hbm_capacity": "the GPU's memory does not hold what these settings ask of it",
    "admission_stall": "requests wait while KV blocks are free",
    "chunk_too_large": "prefill chunks are so large that they delay running decodes",
    "chunk_too_small": "prefill chunks are so small that prompts need too many steps",
    "prefill_unchunked": "prompts run unchunked and stall every running decode",
    "decode_floor": "decode runs at the memory-bandwidth floor",
    "compute_bound": "the GPU's arithmetic is the limit",
    "communication_bound": "collectives between the GPUs are the limit",
    "host_bound": "CPU time per step is the limit",
    "saturated": "more requests are offered than the engine can serve",
    "not_scheduler": "no setting of the engine explains what was observed",
    "none": "nothing in particular limits it",
}

METRICS = {
    "num_blocks": "KV blocks",
    "max_concurrency": "concurrency at full length",
    "largest_max_model_len": "largest max_model_len",
    "memory_budget_gib": "memory budget GiB",
    "activation_gib": "activations GiB",
    "cuda_graph_gib": "CUDA graphs GiB",
    "kv_cache_gib": "KV cache GiB",
    "running": "requests running",
    "waiting": "requests waiting",
    "preemptions_per_request": "preemptions a request",
    "tail_p99_ms": "TTFT and ITL p99",
}

VISIBLE = 0.01  # a smaller relative change is not worth a line


def gib(size_bytes: float) -> str:
    """`71.3`: GiB with one decimal."""
    return f"{size_bytes / GIB:.1f}"


def count(number: float) -> str:
    """A count of tokens, blocks or requests with thousands separators: `443,392`, `13.5`."""
    if not math.isfinite(number):
        return "unlimited"
    if number == int(number):
        return f"{int(number):,}"
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:,.3g}"


def rate(per_s: float) -> str:
    """Tokens or requests a second: `5,120`, `22.2`, `0.84`."""
    if not math.isfinite(per_s):
        return "unlimited"
    return f"{per_s:.2f}" if per_s < 9.995 else f"{per_s:.1f}" if per_s < 99.95 else f"{per_s:,.0f}"


def duration(ms: float) -> str:
    """`8.4 ms`, `180 ms`, `1.24 s`, `95.0 s`: three digits, where there are as many."""
    if not math.isfinite(ms):
        return "unlimited"
    if ms < 999.5:
        return f"{ms:.1f} ms" if ms < 99.95 else f"{ms:.0f} ms"
    seconds = ms / 1000
    digits = 2 if seconds < 9.995 else 1 if seconds < 99.95 else 0
    return f"{seconds:,.{digits}f} s"


def percent(share: float) -> str:
    """A relative change with its sign: `+0.4%`, `+38%`."""
    digits = 0 if abs(share) >= 0.1 else 1
    return f"{round(share, 2 + digits) + 0.0:+.{digits}%}"  # + 0.0: never -0.0%


def relative_change(before: float, after: float) -> str:
    """How much more or less it is: `+38%`, and `-60%` of a latency that gets shorter."""
    return percent(after / before - 1) if before else ""


def plural(number: int, noun: str) -> str:
    """`1 warning`, `2 warnings`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def option(name: str) -> str:
    """The flag of an argument: `max_num_seqs` → `--max-num-seqs`."""
    return "--" + name.replace("_", "-")


def command_options(changes: Mapping[str, Any]) -> list[str]:
    """Changes as they are typed: `--max-num-seqs 64`, `--no-enable-x`, `remove --swap-space`."""
    return [_command_option(name, value) for name, value in changes.items()]


def _command_option(name: str, value: Any) -> str:
    if value is None:
        return f"remove {option(name)}"
    if value is True:
        return option(name)
    if value is False:
        return option(f"no_{name}")
    content = plain(value)
    text = content if isinstance(content, str) else json.dumps(content)
    return f"{option(name)} {shlex.quote(text)}"


def remedies(finding: Finding) -> list[str]:
    """What to do about a finding: the options to set, and what the rule says in words.

    Only the words where they say what to remove and the options would just say it again.
    """
    is_said = finding.fix_text.startswith("Remove ") and not any(
        value is not None for value in finding.fix.values()
    )
    options = "" if is_said else ", ".join(command_options(finding.fix))
    return [fix for fix in (options, finding.fix_text) if fix]


def setting_text(value: Any) -> str:
    """A resolved value on one line: `8,192`, `on`, `auto`, `{"method": "eagle3"}`."""
    if isinstance(value, Unknown):
        return "unknown"
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    content = plain(value)
    return content if isinstance(content, str) else json.dumps(content)


def origin_in(path: str | None, origin: Origin) -> str:
    """An origin where the file at `path` is named already: `line 12`; any other in full."""
    if origin.line is None or origin.path != path:
        return str(origin)
    return f"line {origin.line}" + (f", {origin.detail}" if origin.detail else "")


def workload_text(workload: Workload) -> str:
    """`64 concurrent, 820–1,024 tokens in, 205–256 out, 640 requests`."""
    if workload.protocol == "closed-loop":
        load = f"{workload.concurrency:,} concurrent"
    else:
        load = f"{count(workload.rate or 0)} requests/s"
    lengths = (
        f"{_lengths_text(workload.input_tokens)} tokens in, "
        f"{_lengths_text(workload.output_tokens)} out"
    )
    parts = [load, lengths, plural(workload.num_requests, "request")]
    if workload.trace is not None:
        parts[-1] += f" of {Path(workload.trace).name}"
    if isinstance(workload.arrival, dict):
        parts += [f"arrivals {law} {count(size)}" for law, size in workload.arrival.items()]
    if workload.shared_prefix_tokens:
        parts.append(f"{workload.shared_prefix_tokens:,} tokens shared by all")
    if workload.prefix_cache_hit_rate:
        parts.append(f"prefix-cache hit rate {workload.prefix_cache_hit_rate:.0%}")
    if workload.acceptance_length:
        parts.append(f"{workload.acceptance_length:g} tokens a step with drafts")
    return ", ".join(parts)


def _lengths_text(lengths: Lengths) -> str:
    if lengths.uniform is not None:
        low, high = lengths.uniform
        return f"{low:,}–{high:,}"
    law = lengths.normal or lengths.lognormal
    if law is None:
        return count(lengths.mean)
    return f"{count(law['mean'])} ± {count(law['std'])}"


def metric_text(name: str) -> str:
    """A metric's name as people write it: `ttft_ms.p99` → `TTFT p99`, `requests_per_s` → `requests/s`."""
    if name in METRICS:
        return METRICS[name]
    words = re.split(r"[_.]", name.replace("_per_s", "/s"))
    known = {"ttft": "TTFT", "itl": "ITL", "tpot": "TPOT", "kv": "KV"}
    return " ".join(known.get(word, word) for word in words if word != "ms")


def metric_value(name: str, value: Any) -> str:
    """A metric's value in the unit its name says."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return setting_text(value)
    if "ms" in re.split(r"[_.]", name):
        return duration(value)
    return rate(value) if "_per_s" in name else count(value)


def changes_text(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """`ITL p99 92.0 ms → 31.0 ms, output tokens/s 4,100 → 4,050`."""
    parts = []
    for name, value in after.items():
        old = f"{metric_value(name, before[name])} → " if name in before else ""
        parts.append(f"{metric_text(name)} {old}{metric_value(name, value)}")
    return ", ".join(parts)


def predicted_text(step: TuningStep, slo: Slo) -> str:
    """What a change is predicted to do: the metrics that are new, or move by a percent or more.

    Without an objective goodput is only the rate again, and left out.
    """
    before = step.before
    moved = {
        name: value
        for name, value in step.after.items()
        if (name not in before or abs(value - before[name]) > VISIBLE * abs(before[name]))
        and (slo.is_set or name != "goodput_requests_per_s")
    }
    return changes_text(before, moved)


class Verdict(Record):
    """A verdict in words: `headline` alone can be shouted, `detail` is the rest of the sentence."""

    headline: str
    detail: str


def start_verdict(assessment: Assessment) -> tuple[bool | None, Verdict]:
    """Whether the engine starts (None: cannot be said), and the sentence that leads the report."""
    release = f"vLLM {assessment.engine.release.name}"
    capacity = assessment.capacity
    reason = start_reason(capacity)
    reasons = [reason] if capacity.starts is False else []
    refused = [
        finding.code
        for finding in (*assessment.findings, *(one.finding for one in assessment.suppressed))
        if finding.effect == "refused" and not (reasons and finding.code.startswith("MEM"))
    ]
    if refused:
        reasons.append(f"{release} refuses it ({', '.join(dict.fromkeys(refused))})")
    if reasons:
        return False, Verdict("DOES NOT START", "; ".join(reasons))
    if capacity.starts:
        return True, Verdict("STARTS", reason)
    doubt = "CANNOT SAY WHETHER IT STARTS" if capacity.num_blocks is None else "MAY NOT START"
    return None, Verdict(doubt, reason)


def start_reason(capacity: CapacityPlan) -> str:
    """Why an engine does or does not start, without saying again whether it does."""
    reason = capacity.reason.rstrip(".")
    for verdict in ("does not start: ", "may not start: "):
        reason = reason.removeprefix(verdict)
    return "" if reason == "starts" else reason


def bottleneck_verdict(bottleneck: Bottleneck) -> Verdict:
    """`chunked prefill (token budget)`: prefill chunks are so large … (high confidence)."""
    return Verdict(
        DEFAULTS[bottleneck.default],
        f"{KINDS[bottleneck.kind]} ({bottleneck.confidence} confidence)",
    )
