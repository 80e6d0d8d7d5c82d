"""Where points are evaluated: on the cores of this machine, or on a Dask cluster, by joblib."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from time import monotonic
from typing import Any

from scheduler_reader.errors import UsageError
from scheduler_reader.tune.point import Case, Point, Wanted, find_point
from scheduler_reader.tune.sweep import Evaluate, Task, one_by_one

TOGETHER = 16  # points of one task in closed form
TOGETHER_FINAL = 2  # the same where they are simulated
PATIENCE_S = 1.5  # of a round on one core, before processes are started for the rest of it
FEWEST = 8  # points that are worth the processes


@contextmanager
def pool(jobs: int | None = None, scheduler: str | None = None) -> Iterator[Evaluate]:
    """How a sweep evaluates its rounds.

    `jobs` None: all cores, where a round takes long enough to be worth the processes.  `scheduler`
    is the address of a Dask scheduler.  Raises `UsageError` where a library is missing, or nobody
    answers at the address.
    """
    if scheduler is not None:
        with _cluster(scheduler) as by_cluster:
            yield by_cluster
        return
    if jobs is not None and jobs > 1 and find_spec("joblib") is None:
        raise UsageError(f"--jobs {jobs} needs joblib: pip install 'sched-reader[sweep]'")
    wanted = (os.cpu_count() or 1) if jobs is None else jobs
    if wanted == 1 or find_spec("joblib") is None:
        yield one_by_one
        return

    yield partial(_patiently if jobs is None else _in_parallel, jobs=wanted)


@contextmanager
def _cluster(scheduler: str) -> Iterator[Evaluate]:
    """The workers of a Dask cluster, which have this package installed."""
    if find_spec("joblib") is None or find_spec("distributed") is None:
        raise UsageError("--backend dask needs Dask: pip install 'sched-reader[cluster]'")
    from distributed import Client
    from joblib import parallel_config

    try:
        client = Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        raise UsageError(f"--scheduler {scheduler}: no Dask scheduler answers: {error}") from None
    with client, parallel_config(backend="dask"):
        yield partial(_in_parallel, jobs=-1)


def _patiently(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Point]]:
    """One by one, and the rest on all cores where that takes longer than starting them."""
    until_s = monotonic() + PATIENCE_S
    for i, (case, wanted) in enumerate(tasks):
        if monotonic() > until_s and len(tasks) - i >= FEWEST:
            yield from ((i + at, point) for at, point in _in_parallel(tasks[i:], jobs))
            return
        yield i, find_point(case, wanted)


def _in_parallel(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Point]]:
    if not tasks:
        return
    from joblib import Parallel, delayed

    run = Parallel(n_jobs=jobs, return_as="generator_unordered")
    chunks: Any = run(delayed(_chunk)(*chunk) for chunk in _chunks(tasks))
    for chunk in chunks:
        yield from chunk


def _chunks(tasks: Sequence[Task]) -> Iterator[tuple[Case, list[tuple[int, Wanted]]]]:
    """Neighbouring points of one case, so that the case travels once for all of them."""
    chunk: list[tuple[int, Wanted]] = []
    for i, (case, wanted) in enumerate(tasks):
        most = TOGETHER_FINAL if wanted.is_final else TOGETHER
        if chunk and (len(chunk) >= most or tasks[i - 1][0] is not case):
            yield tasks[i - 1][0], chunk
            chunk = []
        chunk.append((i, wanted))
    if chunk:
        yield tasks[-1][0], chunk


def _chunk(case: Case, numbered: list[tuple[int, Wanted]]) -> list[tuple[int, Point]]:
    return [(number, find_point(case, wanted)) for number, wanted in numbered]
