"""The search itself: rounds of points, the next round by what the last one found.

A search is a generator of rounds.  It neither evaluates nor stores a point, so the same search
runs on one core, on a cluster, and on stored points; what it says depends on figures alone.

1. A coarse grid of the three strongest axes, in closed form.
2. From its best points, every axis alone in turn, in closed form, until nothing gains.
3. The finalists (the best ones, and the front) as `diagnose` predicts them: simulated where a
   workload is stated.
4. Changes that are not worth a restart are taken back, large ones made as small as does; the rest
   is ordered by what each gains on top of the ones before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple, TypeAlias

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


class Space(NamedTuple):
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
    for start in _best(space.coarse, _coarse_scores(space, objective), STARTS):
        best = start
        for _ in range(PASSES):
            around = [
                space.moved(best, axis, option)
                for axis in space.axes
                for option in (*range(len(axis.options)), None)
            ]
            yield from ask(space, around, is_final=False)
            scores = _coarse_scores(space, objective)
            found = _best({m: space.coarse[m] for m in around if m in space.coarse}, scores, 1)
            if not found or scores[found[0]] <= scores[best]:
                break
            best = found[0]


def finalists(space: Space, objective: Objective) -> list[Moves]:
    """Step 3's points: as they are, the best ones, and the front."""
    known = {moves: point for moves, point in space.coarse.items() if point.figures}
    edge = front((moves, point.figures) for moves, point in _by_size(known))
    wanted = [
        (),
        *_best(known, _coarse_scores(space, objective), FINALISTS),
        *(moves for moves, _ in thinned(edge, FINALISTS)),
    ]
    return list(dict.fromkeys(wanted))


def settle(space: Space, objective: Objective) -> Generator[Any, Any, Moves]:
    """Step 4 without the order: the moves to propose."""
    scores = yield from _scores(space, objective, tuple(space.final))
    best = next(iter(_best(space.final, scores, 1)), ())
    best = yield from _without_idle(space, objective, best)
    for name, _ in best:
        axis = next(axis for axis in space.axes if axis.name == name)
        options = [space.moved(best, axis, option) for option in range(len(axis.options))]
        scores = yield from _scores(space, objective, options)
        level = scores[best] - objective.worth / 4
        best = next((each for each in options if scores[each] >= level), best)
    return (yield from _without_idle(space, objective, best))


def ordered(space: Space, objective: Objective, moves: Moves) -> Generator[Any, Any, list[Moves]]:
    """The states on the way: each adds the move that gains most on top of the ones before.

    Where no single one leads to an engine that starts, the rest comes together.
    """
    way: list[Moves] = [()]
    yield from ask(space, [()], is_final=True)
    while len(way[-1]) < len(moves):
        taken = dict(way[-1])
        nexts = [
            tuple(each for each in moves if each[0] in taken or each[0] == name)
            for name, _ in moves
            if name not in taken
        ]
        scores = yield from _scores(space, objective, nexts)
        best = _best({m: space.final[m] for m in nexts}, scores, 1)
        way.append(best[0] if best else moves)
    return way


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


def _without_idle(space: Space, objective: Objective, moves: Moves) -> Generator[Any, Any, Moves]:
    """The moves without those that gain too little on top of all others, the idlest first."""
    while moves:
        fewer = [tuple(each for each in moves if each != move) for move in moves]
        scores = yield from _scores(space, objective, [moves, *fewer])
        idle = [each for each in fewer if _is_idle(space, objective, scores, each, moves)]
        if not idle:
            break
        moves = max(idle, key=lambda each: scores[each])
    return moves


def _is_idle(
    space: Space, objective: Objective, scores: Mapping[Moves, float], fewer: Moves, moves: Moves
) -> bool:
    """Whether what `moves` has more is worth nothing, by the score or by the objective alone."""
    before, after = space.final[fewer].figures, space.final[moves].figures
    if not before or not after:
        return not after
    gain = objective.gain(before, after).gain
    return min(scores[moves] - scores[fewer], gain) < objective.worth


def _scores(
    space: Space, objective: Objective, moves: Iterable[Moves]
) -> Generator[Any, Any, dict[Moves, float]]:
    """The final points' scores, comparable with each other.

    A point that could not be simulated while the base was (or the other way round) may not win by
    the difference of the methods: it counts as much as its closed form gains over the base's, if
    that is less.
    """
    listed = list(moves)
    yield from ask(space, [(), *listed], is_final=True)
    base = space.final[()]
    others = [m for m in listed if space.final[m].figures and space.final[m].method != base.method]
    if base.figures:
        yield from ask(space, [(), *others], is_final=False, is_needed=True)
    scores = {m: objective.score(space.final[m].figures) for m in listed}
    for each in others if base.figures else ():
        gain = _score(space.coarse, objective, each) - _score(space.coarse, objective, ())
        scores[each] = min(scores[each], objective.score(base.figures) + gain)
    return scores


def _best(points: Mapping[Moves, Point], scores: Mapping[Moves, float], count: int) -> list[Moves]:
    """The best scored points with figures; of equals the one with fewer moves."""
    known = [moves for moves, point in points.items() if point.figures and moves in scores]
    return sorted(known, key=lambda moves: (-scores[moves], len(moves), moves))[:count]


def _coarse_scores(space: Space, objective: Objective) -> dict[Moves, float]:
    return {moves: objective.score(point.figures) for moves, point in space.coarse.items()}


def _score(points: Mapping[Moves, Point], objective: Objective, moves: Moves) -> float:
    return objective.score(points[moves].figures)


def _by_size(points: Mapping[Moves, Point]) -> list[tuple[Moves, Point]]:
    return sorted(points.items(), key=lambda each: (len(each[0]), each[0]))
