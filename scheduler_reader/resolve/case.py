"""One engine on its way to being resolved: what is given, and what has been settled so far.

Settings are settled one after the other (`settings.ORDER`); each rule is a function of a `Case`
that returns a `Known`.  A rule that needs something unknown stops there: reading it raises
`Blocked`, and the setting becomes unknown for the same reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import isfinite
from typing import Any

from packaging.version import Version

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError
from scheduler_reader.knowledge.flags import FlagTable
from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.knowledge.models import ModelFacts
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.record import Record
from scheduler_reader.resolve.engine import UsageContext
from scheduler_reader.value import Known, Origin, Unknown, Value

Range = Mapping[str, Any]  # a YAML entry with `from` and `to`, both inclusive and optional


class Blocked(Exception):  # noqa: N818 - control flow inside this package, never leaves it
    """A rule needs a value that is unknown."""

    def __init__(self, unknown: Unknown) -> None:
        self.unknown = unknown
        super().__init__(unknown.reason)


class Case(Record):
    """Everything a rule may look at.  `settled` grows as the rules run, in their order."""

    release: Release
    context: UsageContext
    gpu: Gpu
    model: Value[ModelFacts]
    given: Mapping[str, Value[Any]]  # arguments the user wrote, by name
    variable_of: Callable[[str], Value[str] | None]  # by name, of the engine's process
    flags: FlagTable
    settled: dict[str, Value[Any]]

    def without(self, name: str) -> Case:
        """The same case had the user not written that argument."""
        given = {other: value for other, value in self.given.items() if other != name}
        return Case(
            self.release,
            self.context,
            self.gpu,
            self.model,
            given,
            self.variable_of,
            self.flags,
            dict(self.settled),
        )

    # What is written

    def written(self, name: str) -> Known[Any] | None:
        """The argument as the user wrote it, or None when he did not."""
        value = self.given.get(name)
        if isinstance(value, Unknown):
            raise Blocked(value)
        return value

    def argument(self, name: str) -> Any:
        """The bare value of an argument: as written, else the default of that release, else None."""
        written = self.written(name)
        if written is not None:
            return written.value
        flag = self.flags.argument(name)
        default = None if flag is None else flag.default
        return None if _is_expression(default) else default

    def variable(self, name: str) -> Known[str] | None:
        """An environment variable of the engine's process, or None when it is not set."""
        value = self.variable_of(name)
        if isinstance(value, Unknown):
            raise Blocked(value)
        return value

    # What is known

    def get(self, name: str) -> Any:
        """The bare value of a setting that has been settled before."""
        return known(self.settled[name])

    @property
    def facts(self) -> ModelFacts:
        """The model's facts."""
        facts: ModelFacts = known(self.model)
        return facts

    @property
    def is_model_known(self) -> bool:
        """Whether there are model facts; without them the model is taken for a plain decoder."""
        return not isinstance(self.model, Unknown)

    @property
    def architecture(self) -> str:
        """The model's architecture, empty when the model is unknown."""
        return "" if isinstance(self.model, Unknown) else self.model.value.architecture

    # What the release does

    def within(self, entry: Range) -> bool:
        """Whether this release lies in the range of a YAML entry."""
        return in_range(self.release.name, entry.get("from"), entry.get("to"))

    def pick(self, entries: Iterable[Range]) -> Range | None:
        """The first entry whose range holds this release."""
        return next((entry for entry in entries if self.within(entry)), None)

    def follows(self, behaviour: str) -> bool:
        """Whether this release has a behaviour of `compat_matrix/defaults/behaviours.yaml`."""
        return release_follows(self.release.name, behaviour)

    # Values with their origin

    def by_default(self, value: Any, detail: str) -> Known[Any]:
        """A value that vLLM takes by itself."""
        return Known(
            value, Origin("vllm default", f"default of vLLM {self.release.name}: {detail}")
        )

    def decided(self, value: Any, detail: str) -> Known[Any]:
        """A value that vLLM works out from others, or sets against what is written."""
        return Known(value, Origin("derived", f"vLLM {self.release.name}: {detail}"))

    def by_behaviour(self, value: Any, behaviour: str) -> Known[Any]:
        """A value that a behaviour of this release decides; its words and source are the origin."""
        entry = _behaviour(behaviour)
        return self.decided(value, f"{entry['says']} ({entry['source']})")


def known(value: Value[Any]) -> Any:
    """The bare value, or `Blocked`."""
    if isinstance(value, Unknown):
        raise Blocked(value)
    return value.value


def whole_number(value: object, what: str) -> int:
    """A number out of a JSON option or a model's configuration, or `Blocked` when it is none."""
    return int(number(value, what))


def number(value: object, what: str) -> float:
    """As `whole_number`, with a fraction.  vLLM refuses other values by itself."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise Blocked(Unknown(f"{what} is {value!r}, which is no number"))
    return value


def table(name: str) -> Mapping[str, Any]:
    """A document of `compat_matrix/defaults/`."""
    document: Mapping[str, Any] = documents("compat_matrix", "defaults/")[f"defaults/{name}.yaml"]
    return document


@cache
def in_range(release: str, first: str | None, last: str | None) -> bool:
    """Whether a release lies in an inclusive range; None leaves an end open."""
    version = Version(release)
    return (first is None or Version(first) <= version) and (
        last is None or version <= Version(last)
    )


def release_follows(release: str, behaviour: str) -> bool:
    """Whether a release has a behaviour of `compat_matrix/defaults/behaviours.yaml`."""
    entry = _behaviour(behaviour)
    return in_range(release, entry.get("from"), entry.get("to"))


def _behaviour(name: str) -> Range:
    try:
        entry: Range = table("behaviours")[name]
    except KeyError:
        raise DataError(f"compat_matrix/defaults/behaviours.yaml has no {name!r}") from None
    return entry


def _is_expression(default: Any) -> bool:
    return isinstance(default, dict) and "dynamic" in default
