"""One engine's search from end to end: from the objective that holds to the ordered changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import Any

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.diagnosis.objective import WORTH_NAMING
from scheduler_reader.knowledge.metrics import metric_name
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.pipeline import Request
from scheduler_reader.record import Record
from scheduler_reader.resolve import resolve
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.tune.objective import KEPT, Aim, Figures, Objective
from scheduler_reader.tune.pareto import costs, front, thinned
from scheduler_reader.tune.point import Case, Point, Wanted
from scheduler_reader.tune.result import Held, Spot, Step, Tried, Tuned
from scheduler_reader.tune.search import Moves, Space, ask, explore, finalists
from scheduler_reader.tune.settle import gain, known, like_for_like, ordered, settle
from scheduler_reader.tune.space import Axis, axes
from scheduler_reader.tune.words import HELD_BACK, reason

MOST_SPOTS = 12  # of the front


class Wishes(Record):
    """What the user states about the search.  `aim` None: goodput under an SLO, else throughput."""

    aim: Aim | None = None
    allowed: tuple[str, ...] = ()
    budget: int = 600


def case_of(parsed: ParsedEngine, request: Request) -> Case:
    """The engine with what is asked of it.  Raises UsageError for wrong options."""
    return Case(parsed, request, resolve(parsed, request.target).release)


def search(case: Case, wishes: Wishes) -> Generator[list[Wanted], list[Point], Tuned]:
    """Rounds of points to evaluate; what it returns is the answer."""
    engine = resolve(case.parsed, case.request.target)
    every = axes(engine, plan_capacity(engine, case.workload), case.workload)
    free = tuple(a for a in every if not a.needs_leave or a.needs_leave in wishes.allowed)
    space = Space(free, {}, {}, wishes.budget)
    objective, notes = _objective(case, wishes), []
    yield from explore(space, objective)
    objective, note = _settled_objective(space, objective, wishes)
    if note:
        notes.append(note)
        yield from explore(space, objective)
    yield from ask(space, finalists(space, objective), is_final=True)
    moves = yield from settle(space, objective)
    way = yield from ordered(space, objective, moves)
    held = yield from _held_back(space, every, way[-1], objective)
    notes += _doubts(objective, space.final[way[-1]].figures)
    return Tuned(
        case=case,
        engine=engine,
        objective=objective,
        notes=tuple(notes),
        before=space.final[()],
        after=space.final[way[-1]],
        steps=_steps(engine, space, way, objective),
        front=_front(space, way[-1]),
        held_back=held,
        tried=_tried(space),
    )


def _objective(case: Case, wishes: Wishes) -> Objective:
    if wishes.aim is not None:
        return Objective(wishes.aim)
    return Objective(Aim.goodput if case.request.slo.is_set else Aim.throughput)


def _settled_objective(space: Space, objective: Objective, wishes: Wishes) -> tuple[Objective, str]:
    """Another objective and why, where the first one leaves nothing to choose."""
    known = [point.figures for point in space.coarse.values() if point.figures]
    base = space.coarse[()].figures
    if not known or wishes.aim is Aim.latency:
        return objective, ""
    best = max(known, key=objective.score)
    if objective.aim is Aim.goodput and not _is_any_good(best):
        return Objective(Aim.latency), (
            "no setting meets the SLO: the shortest 99th percentiles are searched instead"
        )
    if wishes.aim is not None or objective.aim is Aim.goodput or not base:
        return objective, ""
    if objective.gain(base, best).gain >= WORTH_NAMING:
        return objective, ""
    tokens = base["output_tokens_per_s"] or 0.0
    return Objective(Aim.latency, KEPT * tokens), (
        f"no setting has {WORTH_NAMING:.0%} more throughput: at the same throughput, "
        "the shortest 99th percentiles are searched"
    )


def _doubts(objective: Objective, after: Figures) -> list[str]:
    """Said where runs leave nothing of the goodput that the closed form promised."""
    if objective.aim is not Aim.goodput or not after or _is_any_good(after):
        return []
    return [
        "hardly a request meets the SLO with any setting that was searched: throughput and tails decide"
    ]


def _is_any_good(figures: Figures) -> bool:
    good, rate = figures["goodput_requests_per_s"] or 0.0, figures["requests_per_s"] or 0.0
    return good > 0.01 * rate


def _steps(
    engine: ResolvedEngine, space: Space, way: Sequence[Moves], objective: Objective
) -> tuple[Step, ...]:
    steps = []
    for order, (earlier, later) in enumerate(pairwise(way), 1):
        change = space.changes(tuple(each for each in later if each not in earlier))
        before, after = space.final[earlier], space.final[later]
        why = [reason(engine, part) for part in _decisions(space, earlier, later)]
        steps.append(
            Step(
                order,
                change,
                "; ".join(each.because for each in why),
                metric_name(why[0].watch, engine.release),
                gain(space, objective, earlier, later),
                before,
                after,
            )
        )
    return tuple(steps)


def _decisions(space: Space, earlier: Moves, later: Moves) -> list[dict[str, Any]]:
    return [space.changes((each,)) for each in later if each not in earlier]


def _held_back(
    space: Space, every: Sequence[Axis], moves: Moves, objective: Objective
) -> Generator[list[Wanted], list[Point], tuple[Held, ...]]:
    """What each change without leave would do on top of the proposed ones, if it starts then."""
    held_axes = [axis for axis in every if axis not in space.axes]
    wider = Space(tuple(every), {}, {}, space.budget)
    base = moves_in(wider, moves)
    tried = {axis.name: wider.moved(base, axis, 0) for axis in held_axes}
    yield from known(wider, [base, *tried.values()])
    held = []
    for axis in held_axes:
        point = wider.final[tried[axis.name]]
        if point.figures:
            found = like_for_like(wider, objective, base, tried[axis.name])
            why = HELD_BACK[axis.needs_leave]
            held.append(Held(axis.needs_leave, axis.options[0], why, found, point))
    return tuple(held)


def moves_in(space: Space, moves: Moves) -> Moves:
    """The same moves in the order of the space's own axes."""
    chosen = dict(moves)
    return tuple((axis.name, chosen[axis.name]) for axis in space.axes if axis.name in chosen)


def _front(space: Space, proposed: Moves) -> tuple[Spot, ...]:
    """The front of the points that were predicted in the way of the proposed one, and where it
    stands now; the highest throughput first.
    """
    points = {moves: point for moves, point in space.final.items() if point.figures}
    if proposed not in points:
        return ()
    method = points[proposed].method
    alike = sorted((m for m in points if points[m].method == method), key=lambda m: (len(m), m))
    edge = front((moves, points[moves].figures) for moves in (proposed, *alike))
    shown = {*thinned([moves for moves, _ in edge], MOST_SPOTS), proposed}
    shown |= {()} & points.keys()
    return tuple(
        Spot(space.changes(moves), points[moves], moves == (), moves == proposed)
        for moves in sorted(shown, key=lambda moves: costs(points[moves].figures))
    )


def _tried(space: Space) -> Tried:
    """Values by axis, and why combinations were left out."""
    points = [*space.coarse.values(), *space.final.values()]
    refused = Counter(
        _short(point.refused) for point in points if not point.figures and point.refused
    )
    return Tried(
        values={axis.name: _values(axis) for axis in space.axes},
        closed_form=len(space.coarse),
        final=len(space.final),
        refused=dict(sorted(refused.items(), key=lambda each: (-each[1], each[0]))),
        is_cut_short=space.is_cut_short,
    )


def _values(axis: Axis) -> tuple[Any, ...]:
    """The values of an axis in rising order; options of several settings come last, whole."""
    single = [next(iter(option.values())) for option in axis.options if len(option) == 1]
    several = [dict(option) for option in axis.options if len(option) > 1]
    return (*sorted(single), *several)


def _short(refused: str) -> str:
    """The reason by which combinations are counted: codes, or that they do not fit."""
    return refused.partition(":")[0]
