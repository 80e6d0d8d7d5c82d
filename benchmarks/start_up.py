"""How long one diagnosis takes, beside importing the libraries it is built on.

    python benchmarks/start_up.py [ROUNDS]

CPU seconds of a child process, so that other work on the machine counts little; the commands take
turns, and the figure is the median of the rounds' ratios.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from pathlib import Path

BARE = ("-c", "import typer, pydantic, yaml")
RUN = "import sys; from scheduler_reader.cli import main; main(sys.argv[1:])"
DIAGNOSE = ("-c", RUN, "diagnose", "--fail-on", "never")
JSON = (*DIAGNOSE, "--format", "json")
EXAMPLE = Path(__file__).parents[1] / "examples" / "llama-3.1-8b-chat.yaml"
MEASURED = {
    "a command line, JSON": (*JSON, "--", "vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct"),
    "a config file, JSON": (*JSON, str(EXAMPLE)),
    "a config file, for a terminal": (*DIAGNOSE, str(EXAMPLE)),
}


def cpu_seconds(*arguments: str) -> float:
    """User and system time of a Python process with these arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main(rounds: int) -> None:
    """Print the bare imports' time and each run's ratio to it."""
    for arguments in (BARE, *MEASURED.values()):  # writes the bytecode and the compiled data
        cpu_seconds(*arguments)
    bare: list[float] = []
    ratios: dict[str, list[float]] = {name: [] for name in MEASURED}
    for _ in range(rounds):
        bare.append(cpu_seconds(*BARE))
        for name, arguments in MEASURED.items():
            ratios[name].append(cpu_seconds(*arguments) / bare[-1])
    print(f"bare imports: {statistics.median(bare):.3f} s of CPU")
    for name, values in ratios.items():
        print(f"{name}: {statistics.median(values):.2f} x the bare imports")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
