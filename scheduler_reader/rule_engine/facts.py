"""The flat view of one engine: the only thing a rule can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.diagnosis.verdict import Bottleneck
from scheduler_reader.knowledge.versions import parsed
from scheduler_reader.performance.estimate import PerformanceEstimate
from scheduler_reader.policy import Policy
from scheduler_reader.resolve.engine import ResolvedEngine
from scheduler_reader.rule_engine.settings import is_setting, setting_value
from scheduler_reader.rule_engine.sources import Sources
from scheduler_reader.rule_engine.vocabulary import computed_facts
from scheduler_reader.value import Origin, Unknown, Value
from scheduler_reader.workload import Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.observe.observation import Observation


class Facts:
    """Values by name, each computed at most once; a fact may be `Unknown` with its reason."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._values: dict[str, Any] = {}

    @classmethod
    def of(  # noqa: PLR0917 - the stages in their order
        cls,
        engine: ResolvedEngine,
        capacity: CapacityPlan,
        performance: Value[PerformanceEstimate],
        bottleneck: Value[Bottleneck],
        workload: Workload,
        slo: Slo,
        observation: Observation | None = None,
        policy: Policy | None = None,
    ) -> Facts:
        """The facts of one engine after all stages."""
        return cls(
            Sources(
                engine,
                lambda _: capacity,
                lambda _: performance,
                lambda _: bottleneck,
                workload,
                slo,
                observation,
                policy or {},
            )
        )

    def value(self, name: str) -> Any:
        """The bare value of a fact or engine argument, or `Unknown`; KeyError: no such name."""
        if name not in self._values:
            self._values[name] = self._compute(name)
        return self._values[name]

    def is_set(self, name: str) -> bool:
        """Whether the user gave this argument."""
        return name in self._sources.engine.flags.settings

    def given(self, name: str) -> Any:
        """What the user wrote for this argument, whatever becomes of it; None where nothing."""
        value = self._sources.engine.flags.settings.get(name)
        return value if value is None or isinstance(value, Unknown) else value.value

    def env(self, name: str) -> Any:
        """An environment variable: text, empty where it is not set, or `Unknown`."""
        value = self._sources.engine.parsed.variable(name)
        if value is None:
            return ""
        return value if isinstance(value, Unknown) else value.value

    def origin(self, name: str) -> Origin | None:
        """Where the user wrote this argument; None where nobody did."""
        value = self._sources.engine.flags.settings.get(name)
        return None if value is None else value.origin

    @property
    def place(self) -> Origin | None:
        """Where the engine itself stands."""
        return self._sources.engine.parsed.origin

    def option(self, name: str, key: str) -> Any:
        """A key of a JSON argument: its value, None where it is not written, or `Unknown`."""
        value = self.given(name)
        if isinstance(value, Unknown):
            return value
        return value.get(key) if isinstance(value, Mapping) else None

    def since(self, version: str) -> bool:
        """Whether the release is this one or a later one."""
        return parsed(self.value("vllm_version")) >= parsed(version)

    def policy(self, name: str) -> Any:
        """A threshold that the user states; None where he states none."""
        threshold = self._sources.policy.get(name)
        return None if threshold is None else threshold.value

    def policy_place(self, name: str) -> str:
        """Where a threshold is stated, empty where it is not."""
        threshold = self._sources.policy.get(name)
        return "" if threshold is None else str(threshold.origin)

    def _compute(self, name: str) -> Any:
        fact = computed_facts().get(name)
        if fact is not None and fact.compute is not None:
            return fact.compute(self._sources)
        if not is_setting(name):
            raise KeyError(name)
        return setting_value(self._sources.engine, name)


class GivenFacts(Facts):
    """Facts written out by hand: what the unit examples of a rule are evaluated on.

    A name that is not given is `Unknown`.  Engine arguments that are given count as set, but for
    the names under `defaults`; `env` holds the environment variables, `policy` the thresholds, and
    `given` what the user wrote where the resolved value differs.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)
        self._env: Mapping[str, str] = self._given.pop("env", {})
        self._policy: Mapping[str, Any] = self._given.pop("policy", {})
        self._written: Mapping[str, Any] = self._given.pop("given", {})
        self._defaults: list[str] = self._given.pop("defaults", [])

    def value(self, name: str) -> Any:
        return self._given.get(name, Unknown(f"{name} is not given"))

    def is_set(self, name: str) -> bool:
        return name in self._given and name not in self._defaults

    def given(self, name: str) -> Any:
        return self._written.get(name, self._given.get(name) if self.is_set(name) else None)

    def env(self, name: str) -> Any:
        return self._env.get(name, "")

    def policy(self, name: str) -> Any:
        return self._policy.get(name)

    def policy_place(self, name: str) -> str:
        return "--policy"

    def origin(self, name: str) -> Origin | None:
        return Origin("file", path="example", line=1) if self.is_set(name) else None

    @property
    def place(self) -> Origin | None:
        return None
