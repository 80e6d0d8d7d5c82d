"""Speed and memory of the scheduler simulator; one command: `python benchmarks/simulator.py [all] [REQUESTS]`.

Prints requests per second beside a plain Python loop timed in the same run (the machine's speed),
and the cost of long outputs against short ones.  `all` adds the closed loop of a million requests;
REQUESTS is the most of any run, to see the command through in a moment.
The real scheduler's Python was recorded at 77 to 171 requests/s on the first workload (vLLM
0.8.5 to 0.33.0, 2,000 requests of 1,024/256 tokens at 128 sequences).
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_command
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.step import StepModel
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop, Source
from scheduler_reader.simulate.config import EngineConfig
from scheduler_reader.simulate.metrics import measure
from scheduler_reader.simulate.service import serve
from scheduler_reader.value import Known
from scheduler_reader.workload import Slo

RELEASE = "0.33.0"
RECORDED_BEST = 171.0  # requests/s of the real scheduler's Python, the fastest recorded


def step_model() -> StepModel:
    command = ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"]
    options = ResolveOptions(vllm_version=RELEASE, gpu="h100")
    model = build_step_model(resolve(parse_command(command).engines[0], options))
    assert isinstance(model, Known)
    return model.value


def run(requests: int, prompt: int, output: int, seats: int, *, is_async: bool) -> float:
    """Seconds for a closed loop of `seats` clients, metrics included."""
    config = EngineConfig(
        max_num_seqs=seats,
        max_num_batched_tokens=8192,
        max_model_len=8192,
        num_gpu_blocks=200_000,
        async_scheduling=is_async,
    )

    def source() -> Source:
        return ClosedLoop((Arrival(n, None, prompt, output) for n in range(requests)), seats)

    model = step_model()
    begin = time.perf_counter()
    result = serve(config, Release(RELEASE), model, source)
    measured = measure(result, Slo())
    seconds = time.perf_counter() - begin
    assert measured.finished == requests
    return seconds


def best(times: int, call: Callable[[], float]) -> float:
    return min(call() for _ in range(times))


def calibration() -> float:
    """Seconds of ten million additions in a plain loop."""
    begin, total = time.perf_counter(), 0
    for number in range(10_000_000):
        total += number
    return time.perf_counter() - begin


def main(words: list[str]) -> None:
    most = next((int(word) for word in words if word.isdigit()), 1_000_000)
    few = min(2_000, most)
    print(f"calibration: 10,000,000 additions in {calibration():.2f} s")
    for is_async in (False, True):
        seconds = best(3, lambda a=is_async: run(few, 1_024, 256, 128, is_async=a))  # type: ignore[misc]
        rate = few / seconds
        print(
            f"{few:,} requests of 1,024/256 at 128 sequences, async {is_async}: {rate:,.0f} "
            f"requests/s, {rate / RECORDED_BEST:,.0f} x the real scheduler's Python"
        )
    short = best(3, lambda: run(few, 1_024, 128, 128, is_async=True))
    long = best(3, lambda: run(few, 1_024, 4_096, 128, is_async=True))
    print(f"output of 4,096 against 128 tokens: {long / short - 1:+.0%} time a request")
    if "all" in words:
        seconds = run(most, 512, 128, 128, is_async=True)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{most:,} requests of 512/128: {seconds:.0f} s, {peak:.0f} MiB at the most")


if __name__ == "__main__":
    main(sys.argv[1:])
