"""Many searches at once: their rounds together are evaluated by one pool, and stored."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TypeAlias

from scheduler_reader.record import Record
from scheduler_reader.tune.point import Case, Point, Wanted, find_point
from scheduler_reader.tune.result import Tuned
from scheduler_reader.tune.store import Store, case_digest, point_key
from scheduler_reader.tune.tuner import Wishes, search

Task: TypeAlias = tuple[Case, Wanted]
Evaluate: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[int, Point]]]


class _Running(Record):
    """A search that waits for the points of its round."""

    number: int
    rounds: Generator[list[Wanted], list[Point], Tuned]
    wanted: list[Wanted]


def one_by_one(tasks: Sequence[Task]) -> Iterator[tuple[int, Point]]:
    """Evaluate here, in order; yields the number of each task with its point."""
    for i, (case, wanted) in enumerate(tasks):
        yield i, find_point(case, wanted)


def sweep(
    cases: Sequence[Case], wishes: Wishes, store: Store, evaluate: Evaluate = one_by_one
) -> list[Tuned]:
    """Search every case.  The answers depend on figures alone, never on who came first.

    Points that the store has are taken from it; others are stored as soon as they are known, so
    that a run that is interrupted has lost nothing.
    """
    digests = [case_digest(case) for case in cases]
    answers: dict[int, Tuned] = {}
    running = _advanced(
        [_Running(i, search(case, wishes), []) for i, case in enumerate(cases)], [None], answers
    )
    while running:
        keys = [
            (one.number, wanted, point_key(digests[one.number], wanted))
            for one in running
            for wanted in one.wanted
        ]
        missing = [each for each in keys if store.get(each[2]) is None]
        for at, point in evaluate([(cases[number], wanted) for number, wanted, _ in missing]):
            store.add(missing[at][2], point)
        found = iter([store.get(key) for _, _, key in keys])
        rounds = [[next(found) for _ in one.wanted] for one in running]
        running = _advanced(running, rounds, answers)
    return [answers[i] for i in range(len(cases))]


def _advanced(
    running: Sequence[_Running], rounds: Sequence[object], answers: dict[int, Tuned]
) -> list[_Running]:
    """Each search with its points sent to it; those that end leave their answer."""
    left = []
    for i, one in enumerate(running):
        points = rounds[i] if len(rounds) == len(running) else None
        try:
            wanted = one.rounds.send(points)  # type: ignore[arg-type]
        except StopIteration as end:
            answers[one.number] = end.value
        else:
            left.append(one._replace(wanted=wanted))
    return left
