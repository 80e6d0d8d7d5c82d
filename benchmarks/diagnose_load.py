"""How long `diagnose` takes with a stated workload of 640 requests, and how much memory.

    python benchmarks/diagnose_load.py [ROUNDS [NAME…]]

Each case is a process of its own, as a user starts it.  The goal is a second and 150 MB for each: a
second of CPU, which other work on the machine moves least, and of the best round.  The last column
says whether a run was made or the closed form stands in for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

MOST_SECONDS, MOST_MB = 1.0, 150.0
RUN = "import sys; from scheduler_reader.cli import main; main(sys.argv[1:])"
TARGET = ("--gpu", "h100", "--format", "json", "--fail-on", "never")
LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.3-70B-Instruct --tensor-parallel-size 4"
LONG_WITHIN = "--max-model-len 8192"
CHAT = {
    "concurrency": 64,
    "num_requests": 640,
    "input_tokens": {"uniform": [820, 1024]},
    "output_tokens": {"uniform": [205, 256]},
    "seed": 1,
}
EVEN = {"concurrency": 128, "num_requests": 640, "input_tokens": 1024, "output_tokens": 1024}
AGENT = {
    "concurrency": 32,
    "num_requests": 640,
    "input_tokens": {"lognormal": {"mean": 16000, "std": 10000}},
    "output_tokens": {"lognormal": {"mean": 500, "std": 400}},
    "prefix_cache_hit_rate": 0.8,
}
OPEN = {name: value for name, value in CHAT.items() if name != "concurrency"}
OPEN |= {"protocol": "open-loop"}


class Case(NamedTuple):
    """What is served, under which load, held to which objectives, by which release."""

    serve: str
    workload: Mapping[str, Any]
    objectives: str = ""
    release: str = "0.18.0"


CASES = {
    "closed loop": Case(LLAMA_8B, CHAT),
    "closed loop, all objectives": Case(
        LLAMA_8B, CHAT, "--slo-ttft-ms 500 --slo-itl-ms 30 --slo-tpot-ms 20"
    ),
    "long answers": Case(LLAMA_8B, EVEN),
    "16 seats": Case(f"{LLAMA_8B} --max-num-seqs 16", CHAT),
    "budget of 256, ITL objective": Case(
        f"{LLAMA_8B} --max-num-batched-tokens 256 --max-num-seqs 128", CHAT, "--slo-itl-ms 30"
    ),
    "blocks are short": Case(f"{LLAMA_8B} --gpu-memory-utilization 0.26 {LONG_WITHIN}", CHAT),
    "open loop below the capacity": Case(
        LLAMA_8B, OPEN | {"rate": 10.0}, "--slo-ttft-ms 500 --slo-itl-ms 30"
    ),
    "open loop above the capacity": Case(
        LLAMA_8B, OPEN | {"rate": 40.0}, "--slo-ttft-ms 500 --slo-itl-ms 30"
    ),
    "open loop, 70B": Case(LLAMA_70B, OPEN | {"rate": 6.0}, "--slo-ttft-ms 1000 --slo-itl-ms 50"),
    "prefix hits": Case(LLAMA_8B, CHAT | {"prefix_cache_hit_rate": 0.5}),
    "prefix hits, blocks are short": Case(
        f"{LLAMA_8B} --gpu-memory-utilization 0.26 {LONG_WITHIN}",
        CHAT | {"prefix_cache_hit_rate": 0.5},
    ),
    "drafts": Case(
        f"{LLAMA_8B} --speculative-config.method ngram"
        " --speculative-config.num_speculative_tokens 4",
        CHAT,
    ),
    "two pipeline stages": Case(f"{LLAMA_8B} --pipeline-parallel-size 2", CHAT),
    "preempting": Case(f"{LLAMA_8B} --gpu-memory-utilization 0.3 {LONG_WITHIN}", EVEN),
    "preempting, ITL objective": Case(
        f"{LLAMA_8B} --gpu-memory-utilization 0.3 {LONG_WITHIN}", EVEN, "--slo-itl-ms 30"
    ),
    "preempting, prefix hits": Case(
        f"{LLAMA_8B} --gpu-memory-utilization 0.3 {LONG_WITHIN}",
        EVEN | {"prefix_cache_hit_rate": 0.5},
    ),
    "preempting for long": Case(
        f"{LLAMA_8B} --gpu-memory-utilization 0.26 {LONG_WITHIN}",
        EVEN | {"output_tokens": {"uniform": [1024, 3072]}},
    ),
    "70B with few blocks": Case(
        f"{LLAMA_70B} --gpu-memory-utilization 0.5 {LONG_WITHIN}", EVEN | {"concurrency": 256}
    ),
    "agents: long prefixes, blocks are short": Case(LLAMA_8B, AGENT),
    "preempting, long prompts held back": Case(
        f"{LLAMA_8B} --gpu-memory-utilization 0.3 {LONG_WITHIN} --long-prefill-token-threshold 512",
        EVEN,
    ),
    "preempting, by priority": Case(
        f"{LLAMA_8B} --gpu-memory-utilization 0.3 {LONG_WITHIN} --scheduling-policy priority", EVEN
    ),
    "four pipeline stages, 512 clients": Case(
        f"{LLAMA_8B} --pipeline-parallel-size 4", CHAT | {"concurrency": 512}
    ),
    "prefill every fourth step": Case(
        f"{LLAMA_8B} --prefill-schedule-interval 4", CHAT, release="0.33.0"
    ),
}


class Cost(NamedTuple):
    """Of one run: seconds on the clock and of CPU, megabytes at the most, and what was answered."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    answer: str


def measured(case: Case, folder: Path) -> Cost:
    """Diagnose one case in a child process."""
    workload, answer = folder / "workload.json", folder / "answer.json"
    workload.write_text(json.dumps(case.workload), encoding="utf-8")
    options = (
        *TARGET,
        "--vllm-version",
        case.release,
        "--workload",
        str(workload),
        *case.objectives.split(),
    )
    command = (*options, "--", "vllm", "serve", *case.serve.split())
    with answer.open("w", encoding="utf-8") as output:
        begin = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, "-c", RUN, "diagnose", *command], stdout=output, cwd=folder
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begin
    if status:
        raise SystemExit(f"diagnose {' '.join(command)}: status {status}")
    return Cost(
        seconds,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
        _answered(json.loads(answer.read_text(encoding="utf-8"))),
    )


def _answered(report: Mapping[str, Any]) -> str:
    """Whether the figures are those of a run, and how often it preempted."""
    performance = report["engines"][0]["performance"]
    notes = [note for note in performance["not_modeled"] if note.startswith("closed form")]
    if notes:
        return str(notes[0])
    if performance["saturated"]:
        return "run, saturated"
    preempted = performance["preemptions_per_request"]
    return f"run, {preempted:.2f} preemptions a request" if preempted else "run"


def main(rounds: int, names: list[str]) -> None:
    """Print the table."""
    print(f"{'case':40} {'wall s':>7} {'CPU s':>6} {'MB':>5}  within  answered")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or CASES:
            runs = [measured(CASES[name], Path(folder)) for _ in range(rounds)]
            best = min(runs, key=lambda run: run.cpu_seconds)
            within = best.cpu_seconds <= MOST_SECONDS and best.peak_mb <= MOST_MB
            print(
                f"{name:40} {best.seconds:7.2f} {best.cpu_seconds:6.2f} {best.peak_mb:5.0f}"
                f"  {'yes' if within else 'no':6}  {best.answer}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2:])
