"""How far the closed form is from the simulator, by kind of load and by region of equal lengths.

    python benchmarks/closed_form.py [LOADS [out-of-step]]

Loads are drawn with a fixed seed, LOADS of each kind (100), over models, releases with and without a
step decided ahead, token budgets, 1 to 512 clients and lengths of 128 to 8,192 tokens.  Printed are
the median and the 90th percentile of the absolute error of the mean TTFT, TPOT, tokens/s, and the
99th percentiles of TTFT and ITL; runs with preemptions stand by themselves.  With `out-of-step` the
closed form takes equal lengths as it takes others.  The error of a load is printed for the worst ten.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.parse import parse_command
from scheduler_reader.performance import estimate_out_of_step, operating_estimate
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.simulate.estimate import is_simulated, simulated_estimate
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo, Workload

MODELS = {
    "8B": "meta-llama/Llama-3.1-8B-Instruct",
    "32B TP4": "Qwen/Qwen3-32B -tp 4",
    "70B TP8": "meta-llama/Llama-3.3-70B-Instruct -tp 8",
    "120B MoE TP4": "openai/gpt-oss-120b -tp 4",
}
RELEASES = ("0.12.0", "0.18.0")
BUDGETS = (2048, 8192, 16384)
CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
TOKENS = (128, 512, 1024, 4096, 8192)
FIGURES: dict[str, Callable[[PerformanceEstimate], float | None]] = {
    "TTFT": lambda one: one.ttft_ms.mean,
    "TPOT": lambda one: one.tpot_ms,
    "tokens/s": lambda one: one.output_tokens_per_s,
    "TTFT p99": lambda one: one.ttft_ms.p99,
    "ITL p99": lambda one: one.itl_ms.p99,
}


def _constant(tokens: int) -> Lengths:
    return Lengths(constant=tokens)


def _within(share: float) -> Callable[[int], Lengths]:
    return lambda tokens: Lengths(uniform=(int(share * tokens), tokens))


def _spread(tokens: int) -> Lengths:
    return Lengths(lognormal={"mean": tokens, "std": tokens})


class Kind(NamedTuple):
    """Laws of the lengths; clients for a seat; and how the first requests come."""

    inputs: Callable[[int], Lengths]
    outputs: Callable[[int], Lengths]
    per_seat: int = 1
    start: str = "burst"


KINDS = {
    "equal lengths": Kind(_constant, _constant),
    "equal outputs, inputs 0.5-1": Kind(_within(0.5), _constant),
    "equal lengths, 3 clients a seat": Kind(_constant, _constant, per_seat=3),
    "equal lengths, steady start": Kind(_constant, _constant, start="steady"),
    "outputs 0.997-1": Kind(_within(0.9), _within(0.997)),
    "outputs 0.97-1": Kind(_within(0.9), _within(0.97)),
    "outputs 0.8-1": Kind(_within(0.8), _within(0.8)),
    "lognormal lengths": Kind(_spread, _spread),
}


class Load(NamedTuple):
    """One point of the grid."""

    kind: str
    model: str
    release: str
    budget: int
    clients: int
    prompt: int
    output: int


class Compared(NamedTuple):
    """Relative errors of the closed form, by figure, where both have it."""

    load: Load
    preempts: bool
    errors: dict[str, float]


def drawn(kind: str, count: int) -> Iterator[Load]:
    """The same loads every time."""
    random = Random(kind)
    for _ in range(count):
        choices = (tuple(MODELS), RELEASES, BUDGETS, CLIENTS, TOKENS, TOKENS)
        yield Load(kind, *(random.choice(each) for each in choices))  # type: ignore[arg-type]


def compared(load: Load, *, in_step: bool) -> tuple[Compared | None, float]:
    """The comparison, None where there is no run; and the seconds of the closed form."""
    kind = KINDS[load.kind]
    workload = Workload(
        concurrency=load.clients,
        num_requests=(10 if load.clients < 256 else 5) * load.clients,
        start=kind.start,  # type: ignore[arg-type]
        input_tokens=kind.inputs(load.prompt),
        output_tokens=kind.outputs(load.output),
    )
    seats = max(1, load.clients // kind.per_seat)
    arguments = f"{MODELS[load.model]} --max-num-batched-tokens {load.budget}"
    command = ["vllm", "serve", *arguments.split(), "--max-num-seqs", str(seats)]
    engine = resolve(parse_command(command).engines[0], ResolveOptions(load.release, "h100"))
    plan = plan_capacity(engine, workload)
    run = simulated_estimate(engine, plan, workload, Slo())
    begin = time.process_time()
    estimate = operating_estimate if in_step else estimate_out_of_step
    form = estimate(engine, plan, workload, Slo())
    seconds = time.process_time() - begin
    if not isinstance(run, Known) or not isinstance(form, Known) or not is_simulated(run):
        return None, seconds
    errors = {}
    for name, figure in FIGURES.items():
        found, wanted = figure(form.value), figure(run.value)
        if found is not None and wanted:
            errors[name] = found / wanted - 1
    return Compared(load, run.value.preemptions_per_request > 0, errors), seconds


def quantile(errors: Sequence[float], share: float) -> float:
    """Of the absolute errors."""
    ordered = sorted(map(abs, errors))
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(name: str, rows: Sequence[Compared]) -> None:
    """One line of the table."""
    if not rows:
        return
    cells = []
    for figure in FIGURES:
        errors = [one.errors[figure] for one in rows if figure in one.errors]
        if errors:
            cells.append(f"{quantile(errors, 0.5):7.1%} /{quantile(errors, 0.9):7.1%}")
    print(f"{name:34} {len(rows):4} " + " ".join(cells))


def regions(rows: Sequence[Compared]) -> None:
    """The same by each property of a load."""
    for at, name in enumerate(Load._fields[1:], 1):
        for value in sorted({one.load[at] for one in rows}, key=str):
            row(f"  {name} {value}", [one for one in rows if one.load[at] == value])


def main(count: int, *, in_step: bool) -> None:
    """Print the tables, and the worst ten."""
    print(f"{'':34} {'n':>4} " + " ".join(f"{figure:>16}" for figure in FIGURES))
    spent, asked, found = 0.0, 0, []
    for kind in KINDS:
        rows = []
        for load in drawn(kind, count):
            one, seconds = compared(load, in_step=in_step)
            spent, asked = spent + seconds, asked + 1
            rows += [one] if one else []
        plain = [one for one in rows if not one.preempts]
        found += plain
        row(kind, plain)
        row(f"{kind}, preempting", [one for one in rows if one.preempts])
        if kind == "equal lengths":
            regions(plain)
    print(f"the closed form takes {spent / asked * 1e3:.2f} ms")
    for one in sorted(found, key=lambda one: -abs(one.errors["TTFT"]))[:10]:
        print(f"TTFT {one.errors['TTFT']:+.0%}: {one.load}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100, in_step="out-of-step" not in sys.argv)
