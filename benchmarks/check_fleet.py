"""How long `check` takes for each of many configurations, and what several processes gain.

    python benchmarks/check_fleet.py [CONFIGURATIONS]

After start-up, one engine a file, parsed and checked in closed form: with the rules alone, and with
a stated workload.  The goal is 10 ms each on one core.  CPU seconds of this process, so that other
work on the machine counts little; the gain of processes is of wall time, which it does not.  As in
the command, Python looks for cycles of unused objects only now and then.
"""

from __future__ import annotations

import gc
import os
import sys
import time

from check_repository import server

from scheduler_reader.cli import OBJECTS_OF_A_DIAGNOSIS
from scheduler_reader.fleet import check_all
from scheduler_reader.parse import parse_text
from scheduler_reader.pipeline import Request
from scheduler_reader.workload import DEFAULT_WORKLOAD

GOAL_MS = 10.0
WARM_UP = 20


def main(count: int) -> None:
    """Print milliseconds an engine by the goal, and the ratio of one process to all cores."""
    gc.set_threshold(OBJECTS_OF_A_DIAGNOSIS)
    texts = [(server(number), f"serve-{number}.yaml") for number in range(count)]
    stated = Request()._replace(workload=DEFAULT_WORKLOAD)
    for name, request in (("rules alone", Request()), ("a stated workload", stated)):
        engines = [engine for text in texts[:WARM_UP] for engine in parse_text(*text).engines]
        check_all(engines, request, jobs=1)
        cpu, wall = time.process_time(), time.perf_counter()
        engines = [engine for text in texts for engine in parse_text(*text).engines]
        one = check_all(engines, request, jobs=1)
        each_ms = (time.process_time() - cpu) / count * 1e3
        alone_s = time.perf_counter() - wall
        print(f"{name}: {each_ms:.1f} ms each, {each_ms / GOAL_MS:.0%} of the goal")
        wall = time.perf_counter()
        engines = [engine for text in texts for engine in parse_text(*text).engines]
        many = check_all(engines, request, jobs=os.cpu_count() or 1)
        ratio = alone_s / (time.perf_counter() - wall)
        same = [each.findings for each in one] == [each.findings for each in many]
        print(f"  {os.cpu_count()} processes: {ratio:.2f} x as fast, same findings: {same}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
