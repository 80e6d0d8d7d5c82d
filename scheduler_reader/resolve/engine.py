"""The resolved engine: every setting with the value that vLLM release will run with, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse.reading import FlagReading
from scheduler_reader.parse.source import ParsedEngine
from scheduler_reader.record import Record
from scheduler_reader.value import Known, Origin, Unknown, Value

if TYPE_CHECKING:
    from scheduler_reader.knowledge.calibration import Calibration  # few engines have one

UsageContext = Literal["serve", "offline"]

NOT_RESOLVED = Origin("assumed", "not resolved")
NO_RUNNER = Unknown("the model runner is not resolved")
NOTHING_FORCED = Unknown("whether a variable forces an engine is not resolved")


class Setting(Record):
    """One engine argument as that release resolves it.

    `is_set` says that the user gave it; `default` is what it would be otherwise, and `controls`
    is what it does in the scheduler, in one sentence.
    """

    value: Value[Any]
    is_set: bool
    default: Any
    controls: str


@dataclass(frozen=True, slots=True)
class Hardware:
    """The GPUs of one engine: all of one kind."""

    gpu: Gpu
    count: int
    origin: Origin
    count_is_stated: bool = False  # otherwise as many as the ranks need
    memory_used_bytes: float = 0.0  # of each, by other processes when the engine starts


class ResolvedEngine(Record):
    """Everything later stages need to know about one engine; nothing in it depends on them."""

    parsed: ParsedEngine
    release: Release
    release_origin: Origin
    context: UsageContext
    engine: Literal["V0", "V1"]
    hardware: Hardware
    model_id: Value[str]
    model: Value[ModelFacts]
    flags: FlagReading
    settings: Mapping[str, Setting]
    assumptions: tuple[str, ...]
    engine_origin: Origin = NOT_RESOLVED
    model_runner: Value[str] = NO_RUNNER  # V1 or V2
    calibration: Calibration | None = None
    # What an engine or model runner that an environment variable forces does not support.
    unsupported: Value[str | None] = NOTHING_FORCED

    @property
    def fits_length_to_memory(self) -> bool:
        """Whether max_model_len is `auto` or -1: its value is the upper end, start-up lowers it."""
        setting = self.settings.get("max_model_len")
        given = self.flags.settings.get("max_model_len")
        return (
            setting is not None
            and isinstance(given, Known)
            and given.value in (-1, "-1", "auto")
            and isinstance(setting.value, Known)
            and setting.value.value != given.value
        )

    def value(self, name: str) -> Value[Any]:
        """The resolved value of an argument; an argument that is not modelled is Unknown."""
        setting = self.settings.get(name)
        if setting is None:
            return Unknown(f"{name} is not resolved for vLLM {self.release.name}")
        return setting.value

    def get(self, name: str) -> Any:
        """The bare value of an argument that must be known here; raises KeyError otherwise."""
        value = self.value(name)
        if isinstance(value, Unknown):
            raise KeyError(f"{name}: {value.reason}")
        return value.value

    def is_set(self, name: str) -> bool:
        setting = self.settings.get(name)
        return setting is not None and setting.is_set

    def with_values(self, **changes: Any) -> ResolvedEngine:
        """A copy with some resolved values replaced: the "what if" of tuning and lifting limits."""
        settings = dict(self.settings)
        for name, value in changes.items():
            settings[name] = settings[name]._replace(
                value=Known(value, Origin("derived", "what if")), is_set=True
            )
        return self._replace(settings=settings)
