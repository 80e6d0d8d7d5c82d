"""From the finalists to the ordered changes.

Changes that are not worth a restart are taken back, large ones made as small as does, and the rest
is ordered by what each gains on top of the ones before.

Not every point can be simulated, and two points of different methods differ by the methods too.
Such a pair counts as much as it gains in closed form on both sides, if that is less.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeAlias

from scheduler_reader.diagnosis.objective import Gain
from scheduler_reader.tune.objective import Objective
from scheduler_reader.tune.search import Moves, Space, ask

Settled: TypeAlias = Generator[Any, Any, Moves]

WORTH_A_LINE = 0.01  # a step that gains less alone belongs to the next one
AS_GOOD = 0.25  # of what is worth a change: a milder one may be so much behind


def settle(space: Space, objective: Objective) -> Settled:
    """The moves to propose; none where nothing is worth a change."""
    yield from known(space, space.final)
    best = _first(space, objective, (), sorted(space.final, key=lambda m: (len(m), m)))
    best = yield from _without_idle(space, objective, best)
    for name, _ in best:
        axis = next(axis for axis in space.axes if axis.name == name)
        options = [space.moved(best, axis, option) for option in range(len(axis.options))]
        yield from known(space, options)
        least = -AS_GOOD * objective.worth
        milder = (m for m in options if advance(space, objective, best, m) >= least)
        best = next(milder, best)
    return (yield from _without_idle(space, objective, best))


def ordered(space: Space, objective: Objective, moves: Moves) -> Generator[Any, Any, list[Moves]]:
    """The states on the way: each adds the move that gains most on top of the ones before.

    Moves that only gain together are one step: where no single one leads to an engine that
    starts, or what comes next is what makes it worth while.
    """
    way: list[Moves] = [()]
    yield from known(space, [()])
    while way[-1] != moves:
        taken = dict(way[-1])
        nexts = [
            tuple(each for each in moves if each[0] in taken or each[0] == name)
            for name, _ in moves
            if name not in taken
        ]
        yield from known(space, nexts)
        starting = [each for each in nexts if space.final[each].figures]
        way.append(_first(space, objective, way[-1], starting) if starting else moves)
    kept = way[:1]
    for state in way[1:]:
        found = gain(space, objective, kept[-1], state)
        if found is None or found.gain >= WORTH_A_LINE or state == moves:
            kept.append(state)
    return kept


def gain(space: Space, objective: Objective, before: Moves, after: Moves) -> Gain | None:
    """What `diagnose` will say that the objective gains; None where the engine only then starts."""
    old, new = space.final[before].figures, space.final[after].figures
    return objective.gain(old, new) if old and new else None


def like_for_like(space: Space, objective: Objective, before: Moves, after: Moves) -> Gain | None:
    """The same, in closed form on both sides where the methods differ."""
    points = space.final
    if points[before].figures and points[before].method != points[after].method:
        points = space.coarse
    old, new = points[before].figures, points[after].figures
    return objective.gain(old, new) if old and new else None


def advance(space: Space, objective: Objective, before: Moves, after: Moves) -> float:
    """How much better one known state is than another; infinite where only it starts."""
    one, other = space.final[before], space.final[after]
    if not one.figures or not other.figures:
        return float("inf") if other.figures else float("-inf")
    found = objective.score(other.figures) - objective.score(one.figures)
    if one.method != other.method:
        old, new = space.coarse[before].figures, space.coarse[after].figures
        found = min(found, objective.score(new) - objective.score(old)) if old and new else 0.0
    return found


def _first(space: Space, objective: Objective, base: Moves, among: Sequence[Moves]) -> Moves:
    """The state that is furthest ahead of `base`, of equals the first; `base` if none is ahead."""
    starting = [each for each in among if space.final[each].figures]
    if not starting:
        return base
    if not space.final[base].figures:
        return max(starting, key=lambda each: objective.score(space.final[each].figures))
    return max(starting, key=lambda each: advance(space, objective, base, each))


def _without_idle(space: Space, objective: Objective, moves: Moves) -> Settled:
    """The moves without those that gain too little on top of all others, the idlest first."""
    while moves:
        fewer = [tuple(each for each in moves if each != move) for move in moves]
        yield from known(space, [moves, *fewer])
        gains = {each: _worth(space, objective, each, moves) for each in fewer}
        idle = [each for each in fewer if gains[each] < objective.worth]
        if not idle:
            break
        moves = min(idle, key=lambda each: gains[each])
    return moves


def _worth(space: Space, objective: Objective, fewer: Moves, moves: Moves) -> float:
    """What `moves` has more is worth, by the score and by the objective alone."""
    found = gain(space, objective, fewer, moves)
    ahead = advance(space, objective, fewer, moves)
    return ahead if found is None else min(found.gain, ahead)


def known(space: Space, moves: Iterable[Moves]) -> Generator[Any, Any, None]:
    """Final points of the moves; where their methods differ, those in closed form as well."""
    listed = [(), *moves]
    yield from ask(space, listed, is_final=True)
    starting = [each for each in listed if space.final[each].figures]
    if len({space.final[each].method for each in starting}) > 1:
        yield from ask(space, starting, is_final=False, is_needed=True)
