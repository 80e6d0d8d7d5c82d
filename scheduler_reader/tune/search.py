"""The search itself: rounds of points, the next round by what the last one found.

A search is a generator of rounds.  It neither evaluates nor stores a point, so the same search
runs on one core, on a cluster, and on stored points; what it says depends on figures alone.

1. A coarse grid of the three strongest axes, in closed form; where nothing of it starts, any two
   axes.
2. From its best points, every axis alone in turn, in closed form, until nothing gains.
3. The finalists (the best ones, and the front) as `diagnose` predicts them: simulated where a
   workload is stated.

What is proposed in the end, and in which order, is `settle.py`'s matter.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from itertools import product
from typing import Any, TypeAlias

from scheduler_reader.record import Record
from scheduler_reader.tune.objective import Objective
from scheduler_reader.tune.pareto import front, thinned
from scheduler_reader.tune.point import Point, Wanted
from scheduler_reader.tune.space import Axis

# Axis name → index of its option; an axis that stays as it is is not in it.
Moves: TypeAlias = tuple[tuple[str, int], ...]
Rounds: TypeAlias = Generator[list[Wanted], list[Point], Any]

COARSE = ("max_num_seqs", "max_num_batched_tokens", "parallel_sizes")
STARTS = 2  # points of the grid that are refined
FINALISTS = 8  # by objective, and as many of the front
PASSES = 4


class Space(Record):
    """The axes that may be moved, and the points that are known of it."""

    axes: tuple[Axis, ...]
    coarse: dict[Moves, Point]
    final: dict[Moves, Point]
    budget: int

    def changes(self, moves: Moves) -> dict[str, Any]:
        """The settings of some moves, in the order of the axes."""
        chosen = dict(moves)
        merged: dict[str, Any] = {}
        for axis in self.axes:
            if axis.name in chosen:
                merged |= axis.options[chosen[axis.name]]
        return merged

    def moved(self, moves: Moves, axis: Axis, option: int | None) -> Moves:
        """The moves with one axis at another option, or (None) as it is."""
        chosen = dict(moves)
        chosen.pop(axis.name, None)
        if option is not None:
            chosen[axis.name] = option
        return tuple((each.name, chosen[each.name]) for each in self.axes if each.name in chosen)

    @property
    def is_cut_short(self) -> bool:
        return len(self.coarse) >= self.budget


def explore(space: Space, objective: Objective) -> Rounds:
    """Steps 1 and 2: fills `space.coarse`."""
    yield from ask(space, [()], is_final=False)
    yield from ask(space, _grid(space), is_final=False)
    if not any(point.figures for point in space.coarse.values()):
        yield from ask(space, _pairs(space), is_final=False)
    for start in best_of(space.coarse, _coarse_scores(space, objective), STARTS):
        best = start
        for _ in range(PASSES):
            around = [
                space.moved(best, axis, option)
                for axis in space.axes
                for option in (*range(len(axis.options)), None)
            ]
            yield from ask(space, around, is_final=False)
            scores = _coarse_scores(space, objective)
            found = best_of({m: space.coarse[m] for m in around if m in space.coarse}, scores, 1)
            if not found or scores[found[0]] <= scores[best]:
                break
            best = found[0]


def finalists(space: Space, objective: Objective) -> list[Moves]:
    """Step 3's points: as they are, the best ones, and the front."""
    known = {moves: point for moves, point in space.coarse.items() if point.figures}
    edge = front((moves, point.figures) for moves, point in _by_size(known))
    wanted = [
        (),
        *best_of(known, _coarse_scores(space, objective), FINALISTS),
        *(moves for moves, _ in thinned(edge, FINALISTS)),
    ]
    return list(dict.fromkeys(wanted))


def ask(space: Space, moves: Iterable[Moves], *, is_final: bool, is_needed: bool = False) -> Rounds:
    """One round: the points of `moves` that are not known.

    Those in closed form within the budget, except where the answer cannot do without.
    """
    known = space.final if is_final else space.coarse
    missing = [each for each in dict.fromkeys(moves) if each not in known]
    if not is_final and not is_needed:
        missing = missing[: max(0, space.budget - len(known))]
    if not missing:
        return
    points = yield [Wanted(tuple(space.changes(each).items()), is_final) for each in missing]
    known.update(zip(missing, points, strict=True))


def _grid(space: Space) -> list[Moves]:
    """All combinations of the coarse axes, those with fewer and milder moves first."""
    chosen = [axis for axis in space.axes if axis.name in COARSE]
    combinations = product(*((None, *range(len(axis.options))) for axis in chosen))
    found = []
    for options in combinations:
        moves: Moves = ()
        for axis, option in zip(chosen, options, strict=True):
            moves = space.moved(moves, axis, option)
        found.append(moves)
    return sorted(found, key=lambda moves: (len(moves), sum(option for _, option in moves)))


def _pairs(space: Space) -> list[Moves]:
    """Each axis alone, then any two together: for an engine that does not start."""
    alone = [space.moved((), axis, i) for axis in space.axes for i in range(len(axis.options))]
    both = [
        space.moved(moves, axis, i)
        for moves in alone
        for axis in space.axes
        for i in range(len(axis.options))
    ]
    return sorted(dict.fromkeys([*alone, *both]), key=len)


def best_of(
    points: Mapping[Moves, Point], scores: Mapping[Moves, float], count: int
) -> list[Moves]:
    """The best scored points with figures; of equals the one with fewer moves."""
    known = [moves for moves, point in points.items() if point.figures and moves in scores]
    return sorted(known, key=lambda moves: (-scores[moves], len(moves), moves))[:count]


def _coarse_scores(space: Space, objective: Objective) -> dict[Moves, float]:
    return {moves: objective.score(point.figures) for moves, point in space.coarse.items()}


def _by_size(points: Mapping[Moves, Point]) -> list[tuple[Moves, Point]]:
    return sorted(points.items(), key=lambda each: (len(each[0]), each[0]))
