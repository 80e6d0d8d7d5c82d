"""The engine around the scheduler: batches in flight, and their outputs handed back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.simulate.batch import Batch
from scheduler_reader.simulate.behaviour import behaviour_of
from scheduler_reader.simulate.config import EngineConfig, as_run, check, overlap_of
from scheduler_reader.simulate.quiet import NOT_QUIET, Quiet, can_be_quiet, quiet_steps
from scheduler_reader.simulate.request import Request
from scheduler_reader.simulate.rotation import Rotation, can_rotate, rotation
from scheduler_reader.simulate.scheduler import Scheduler

# How many of a request's drafts the model accepts in a step: (request, drafts) -> accepted.
Acceptance = Callable[[Request, int], int]


class Engine:
    """One engine of a release.  It has no clock: the caller says when a batch is done."""

    def __init__(self, config: EngineConfig, release: Release, acceptance: Acceptance) -> None:
        """Raises `UsageError` when the release refuses the settings."""
        behaviour = behaviour_of(release)
        config = as_run(config, behaviour)
        check(config, behaviour, release.name)
        self._config = config
        self._drafts = config.num_speculative_tokens > 0
        self._can_be_quiet = can_be_quiet(config)
        self.overlap = overlap_of(config, behaviour)
        self._can_rotate = can_rotate(config, self.overlap)
        self.queues_empty_steps = behaviour.queues_empty_steps
        self.scheduler = Scheduler(config, behaviour, self.overlap)
        self.in_flight: deque[Batch] = deque()
        self._acceptance = acceptance

    @property
    def is_full(self) -> bool:
        """Whether the oldest batch must be done before another can be queued."""
        return len(self.in_flight) >= self.overlap.batches_in_flight

    def quiet_steps(self) -> Quiet:
        """The steps ahead in which all that run decode and nothing else happens."""
        if not self._can_be_quiet:
            return NOT_QUIET
        scheduler = self.scheduler
        return quiet_steps(
            self._config, scheduler.running, scheduler.waiting, scheduler.kv, self.in_flight
        )

    def decode(self, steps: int) -> None:
        """Make quiet steps, with no output in flight: all are done but the last, which is queued."""
        self.in_flight.append(self.scheduler.decode(steps))

    def rotation(self) -> Rotation | None:
        """The rounds that groups of decoding requests make through pipeline stages, if they do."""
        if not self._can_rotate:
            return None
        scheduler = self.scheduler
        return rotation(
            self._config,
            self.overlap,
            scheduler.running,
            scheduler.waiting,
            scheduler.kv,
            in_flight=self.in_flight,
        )

    def rotate(self, rounds: Rotation) -> None:
        """Make rounds, with no output in flight: all steps are done but the last, as many as fit."""
        self.in_flight.extend(self.scheduler.rotate(rounds))

    def add(self, request: Request) -> None:
        """A request arrives."""
        self.scheduler.add(request)

    def launch(self) -> Batch:
        """Schedule a step and queue it, empty or not."""
        batch = self.scheduler.schedule()
        for request, share in batch.shares.items() if self._drafts else ():
            if share.samples and share.drafts:
                share.returned = 1 + self._acceptance(request, share.drafts)
        self.in_flight.append(batch)
        return batch

    def complete(self) -> tuple[Batch, list[Request]]:
        """The oldest batch is done: that batch, and the requests that it finished."""
        batch = self.in_flight.popleft()
        return batch, self.scheduler.settle(batch)
