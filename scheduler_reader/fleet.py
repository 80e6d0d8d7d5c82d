"""Many engines checked, on one core or on all: the same results in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic

from scheduler_reader.assessment import Checked
from scheduler_reader.errors import UsageError
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.pipeline import Request, check

PATIENCE_S = 1.0  # on one core, before processes are started for the rest
FEWEST = 50  # engines left that are worth the processes
TOGETHER = 16  # engines of one task


def check_all(
    engines: Sequence[ParsedEngine], request: Request, jobs: int | None = None
) -> list[Checked]:
    """What `check` finds for each engine.  `jobs` None: all cores, where that takes less long.

    The first engine is always checked here, so that wrong options are refused before a process
    is started.
    """
    wanted = (os.cpu_count() or 1) if jobs is None else jobs
    until_s = monotonic() + PATIENCE_S
    found: list[Checked] = []
    for i, engine in enumerate(engines):
        left = len(engines) - i
        pays = i > 0 if jobs is not None else monotonic() > until_s and left >= FEWEST
        if wanted > 1 and pays:
            return [*found, *_in_processes(engines[i:], request, min(wanted, left))]
        found.append(check(engine, request))
    return found


def _in_processes(
    engines: Sequence[ParsedEngine], request: Request, jobs: int
) -> Iterator[Checked]:
    from concurrent.futures import ProcessPoolExecutor

    together = max(1, min(TOGETHER, len(engines) // jobs))
    with ProcessPoolExecutor(jobs) as processes:
        for result in processes.map(partial(_checked, request), engines, chunksize=together):
            if isinstance(result, str):
                raise UsageError(result)
            yield result


def _checked(request: Request, engine: ParsedEngine) -> Checked | str:
    """The result, or what is wrong with the options: errors of ours do not travel as they are."""
    try:
        return check(engine, request)
    except UsageError as error:
        return str(error)
