"""The load protocols on a steady state: closed loops with their start-up burst, and an open loop.

A closed loop keeps `concurrency` requests in flight and, in benchmark fashion, sends the first
ones together, so that their prompts queue for each other and raise the mean TTFT of the whole
run.  With outputs of one length, or nearly, requests stay in step (`in_step`).  An open loop offers
a rate and is saturated when the engine sustains less.
"""

from __future__ import annotations

from math import fsum

from scheduler_reader.performance.estimate import (
    Floor,
    Latency,
    PerformanceEstimate,
    StepShares,
)
from scheduler_reader.performance.in_step import rounds_in_step
from scheduler_reader.performance.rhythm import Demand
from scheduler_reader.performance.rounds import Crowd
from scheduler_reader.performance.stages import grouped, passes, unstarted
from scheduler_reader.performance.steady import OperatingPoint, Replica
from scheduler_reader.performance.step import StepModel
from scheduler_reader.performance.tails import (
    CountedWaits,
    WaitingTime,
    growing,
    milliseconds,
    poisson_within,
    queue_wait,
    steady_p99_ms,
)
from scheduler_reader.record import Record
from scheduler_reader.workload import Slo, Workload

OUT_OF_STEP = (
    "outputs of one length: requests that stay in step are estimated as out of step beside a steady "
    "start or too few KV blocks; TTFT may be far higher"
)
NEAR_CAPACITY = 0.97  # of the capacity: a load beyond it is evaluated there, with its backlog


class _Outcome(Record):
    """What a protocol makes of a steady state; one replica, seconds."""

    point: OperatingPoint
    waiting: WaitingTime | CountedWaits
    tpot_s: float
    rate: float
    running: float
    waiting_requests: float
    capacity: float | None = None
    preempted: float = 0.0
    is_saturated: bool = False


class Load(Record):
    """A load protocol on `replicas` equal replicas, each with `seats` requests at most at once."""

    replica: Replica
    seats: float
    fitting: float
    replicas: int
    workload: Workload
    slo: Slo

    @property
    def gaps(self) -> float:
        return self.replica.demand.output_tokens - 1

    @property
    def frontend_s(self) -> float:
        return self.replica.step.outside_seconds(self.workload.input_tokens.mean)

    def _tpot_s(self, point: OperatingPoint) -> float:
        return point.itl_s / self.replica.step.acceptance

    def closed(self) -> PerformanceEstimate:
        """A closed loop: Little's law gives the time in the system, the rest is waiting."""
        together = self._clients
        clients = max(together, 1.0)
        residents = min(clients, self.seats)
        replica, preempted = self._preempting(together)
        if self.workload.start == "burst":
            replica = grouped(replica, residents)._replace(follows=self.workload.keeps_in_step)
        elif found := unstarted(replica, lambda some: some.flow(residents)):
            replica, _ = found
        # Between two requests a client is nowhere in the engine.
        if clients <= self.seats:
            residents = clients / (1 + self.frontend_s / replica.residence_seconds(residents))
        point = replica.flow(residents)
        away = point.requests_per_s * self.frontend_s
        queued = max(0.0, clients - away - residents)
        queue_s = queued / point.requests_per_s
        burst = self._burst(residents, together)
        waiting = WaitingTime(
            *burst,
            shift=self.frontend_s + (1 - preempted) * queue_s + point.prefill_s,
            scale=point.prefill_wait_s,
        )
        tpot_s = self._tpot_s(point) + (preempted * queue_s / self.gaps if self.gaps else 0.0)
        rate = point.requests_per_s  # the burst moves work, it adds none
        outcome = _Outcome(point, waiting, tpot_s, rate, residents, queued, preempted=preempted)
        return self._estimate(outcome)

    def open(self) -> PerformanceEstimate:
        """An open loop: the offered rate is served, or it is above the capacity and said so.

        Only what exceeds the capacity by more than the step model may be wrong by is called
        saturated; in between, the engine is taken to run just below its capacity and the backlog
        of the finite run is added to the wait.
        """
        assert self.workload.rate is not None
        offered, replica = self.workload.rate / self.replicas, self.replica
        full = replica._replace(follows=True).flow(self.seats)
        capacity = full.requests_per_s
        backlog_s = self.workload.num_requests / self.replicas / 2
        late_s = backlog_s * max(0.0, 1 / capacity - 1 / offered)
        shift = self.frontend_s + late_s
        served = min(offered, NEAR_CAPACITY * capacity)
        is_sustained = offered < capacity * (1 + replica.step.spread)
        found = unstarted(replica, lambda some: some.serving(served, self.seats))
        if found is None or not is_sustained:
            first_s = self.frontend_s + full.prefill_s
            waiting = growing(first_s, late_s + full.prefill_wait_s)
            late = late_s * capacity
            return self._estimate(
                _Outcome(
                    full,
                    waiting,
                    self._tpot_s(full),
                    capacity,
                    self.seats,
                    late,
                    capacity,
                    is_saturated=True,
                )
            )
        _, point = found
        seat_s = queue_wait(served / capacity, self.seats, point.residence_s)
        steady_s = shift + point.prefill_s
        waiting = WaitingTime(0.0, 0.0, 0.0, steady_s, point.prefill_wait_s + seat_s)
        if late_s > 0:
            waiting = growing(steady_s - late_s, late_s + point.prefill_wait_s + seat_s)
        rate = min(offered, capacity)
        running, late = served * point.residence_s, rate * (seat_s + late_s)
        tpot_s = self._tpot_s(point)
        return self._estimate(_Outcome(point, waiting, tpot_s, rate, running, late, capacity))

    @property
    def _clients(self) -> float:
        assert self.workload.concurrency is not None
        return min(self.workload.concurrency, self.workload.num_requests) / self.replicas

    def in_step(self) -> PerformanceEstimate | None:
        """A closed loop whose requests stay in step from its start-up burst on, and nothing but seats
        and the token budget decides over them; None: another one.

        The next in a queue is there at once, a client's next request is not.
        """
        workload, replica, clients = self.workload, self.replica, self._clients
        size, total = min(clients, self.seats), workload.num_requests / self.replicas
        is_plain = workload.start == "burst" and workload.trace is None
        if not is_plain or clients <= 1 or size >= self.fitting:
            return None
        queued, replica = clients - size, grouped(replica, size)
        absent_s = 0.0 if queued else self.frontend_s
        if replica.step.batches_in_flight > 1:
            return self._in_passes(size, queued, absent_s) if workload.keeps_in_step else None
        steps = replica.steps
        spread = workload.output_tokens.std / replica.step.acceptance
        crowd = Crowd(size, total, absent_s, replica.limits.steps_ahead, spread)
        rounds = rounds_in_step(steps, crowd)
        if rounds is None:
            return None
        away = size * self.frontend_s / rounds.round_s
        return self._estimate(
            _Outcome(
                rounds.point(steps),
                rounds.waiting(clients, self.frontend_s),
                tpot_s=rounds.itl_s / replica.step.acceptance,
                rate=total / rounds.run_s,
                running=size if queued else size - away,
                waiting_requests=max(0.0, queued - away) if queued else 0.0,
            )
        )

    def _in_passes(self, size: float, queued: float, absent_s: float) -> PerformanceEstimate:
        found = passes(self.replica, size, absent_s)
        rate = size / found.round_s
        burst = min(1.0, size * self.replicas / self.workload.num_requests)
        waiting = found.waiting(burst, self.frontend_s, queued / rate)
        tpot_s, here = self._tpot_s(found.point), size - rate * absent_s
        return self._estimate(_Outcome(found.point, waiting, tpot_s, rate, here, queued))

    def _preempting(self, together: float) -> tuple[Replica, float]:
        """The replica with recomputed prompts in its demand, and preemptions a request.

        Blocks that run out preempt only where outputs outgrow prompts: what a finished request
        frees admits about (prompt + output) / prompt others, whose outputs then need the room.
        """
        demand = self.replica.demand
        if together <= self.fitting or self.seats < self.fitting:
            return self.replica, 0.0
        prompt, output = demand.prompt_tokens, demand.output_tokens
        preempted = max(0.0, (output - prompt) / (output + prompt))
        computed = demand.computed_tokens + preempted * demand.mean_context_tokens
        recomputing = demand._replace(computed_tokens=computed)
        return self.replica._replace(demand=recomputing), preempted

    def _burst(self, residents: float, together: float) -> tuple[float, float, float]:
        """(share, first, last): the requests that are sent and admitted together at the start.

        The first prompt is computed alone, as the others arrive while it runs; the rest in full
        steps, which also decode those that are through.
        """
        workload, steps = self.workload, self.replica.steps
        if workload.start != "burst" or together <= 1:
            return 0.0, 0.0, 0.0
        prompt, beside = self.replica.demand.computed_tokens, residents / 2
        others = max(0.0, residents - 1)  # of short requests, less than one may be there on average
        rest = others * prompt
        room = min(steps.room(beside), rest) if rest > 0 else prompt
        step_s = steps.mixed_seconds(min(beside, others), room)
        chunk = min(prompt, steps.room(0))
        first_s = self.frontend_s + prompt / chunk * steps.mixed_seconds(0, chunk)
        full = max(1.0, rest / room)
        share = min(1.0, residents * self.replicas / workload.num_requests)
        return share, first_s + step_s, first_s + full * step_s

    def _estimate(self, outcome: _Outcome) -> PerformanceEstimate:
        demand, replicas, point = self.replica.demand, self.replicas, outcome.point
        rate = outcome.rate * replicas
        good = self._share_good(point, outcome.waiting, outcome.tpot_s)
        capacity, total = outcome.capacity, fsum(point.parts)
        return PerformanceEstimate(
            ttft_ms=milliseconds(outcome.waiting, outcome.is_saturated),
            itl_ms=self._itl(outcome),
            tpot_ms=outcome.tpot_s * 1e3,
            output_tokens_per_s=rate * demand.output_tokens,
            total_tokens_per_s=rate * (demand.prompt_tokens + demand.output_tokens),
            requests_per_s=rate,
            goodput_requests_per_s=rate * good,
            saturated=outcome.is_saturated,
            capacity_requests_per_s=None if capacity is None else capacity * replicas,
            queue_growth_per_s=self._queue_growth(capacity),
            running=outcome.running * replicas,
            waiting=outcome.waiting_requests * replicas,
            preemptions_per_request=outcome.preempted,
            floor=_floor(self.replica.step, demand),
            shares=StepShares(*(part / total for part in point.parts)),
            not_modeled=self.replica.step.not_modeled,
            steady_ttft_p99_ms=None if outcome.is_saturated else steady_p99_ms(outcome.waiting),
        )

    def _queue_growth(self, capacity: float | None) -> float | None:
        """Requests a second, of all replicas."""
        if capacity is None or self.workload.rate is None:
            return None
        return max(0.0, self.workload.rate - capacity * self.replicas)

    def _itl(self, outcome: _Outcome) -> Latency:
        point, mean = outcome.point, outcome.tpot_s * self.replica.step.acceptance * 1e3
        if self.gaps == 0 or outcome.is_saturated:
            return Latency(mean)
        median = point.decode_step_s if point.mixed_share < 0.5 else point.mixed_step_s
        return Latency(mean, median * 1e3, point.slowest_step_s * 1e3)

    def _share_good(
        self, point: OperatingPoint, waiting: WaitingTime | CountedWaits, tpot_s: float
    ) -> float:
        """The share of requests within all objectives, taken as independent."""
        slo, share = self.slo, 1.0
        if slo.ttft_ms is not None:
            share *= waiting.share_within(slo.ttft_ms / 1e3)
        if slo.tpot_ms is not None and self.gaps:
            share *= 1.0 if tpot_s * 1e3 <= slo.tpot_ms else 0.0
        if slo.itl_ms is not None and self.gaps:
            share *= self._share_steady(point, slo.itl_ms / 1e3)
        return share

    def _share_steady(self, point: OperatingPoint, limit_s: float) -> float:
        """Requests whose own 99th-percentile gap is within the limit: at most one gap in a
        hundred may be a step that carries prefill, where those are too slow.
        """
        if point.decode_step_s > limit_s:
            return 0.0
        if point.mixed_step_s <= limit_s:
            return 1.0
        gaps = self.replica.steps.gaps
        return poisson_within(point.mixed_share * gaps, 0.01 * gaps)


def _floor(step: StepModel, demand: Demand) -> Floor:
    """One stream alone: its weights and context over the memory bandwidth, at full speed."""
    parts = step.step_parts(1, demand.mean_context_tokens)
    bound = max(zip(parts, StepShares._fields, strict=True))[1]
    return Floor(step.bandwidth_floor_s(demand.mean_context_tokens) * 1e3, str(bound))
