"""The workload a prediction is for: how requests arrive, and how long they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from scheduler_reader.data import documents
from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.validation import validated

LENGTHS = ("input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """A distribution of token counts, exactly one of the fields: a number, a range, or a law."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    constant: int | None = None
    uniform: tuple[int, int] | None = None  # both ends included
    normal: dict[Literal["mean", "std"], float] | None = None
    lognormal: dict[Literal["mean", "std"], float] | None = None  # of the lengths themselves

    def __post_init__(self) -> None:
        given = (self.constant, self.uniform, self.normal, self.lognormal)
        if sum(law is not None for law in given) != 1:
            raise ValueError("give one of: a number, uniform, normal, lognormal")
        if self.constant is not None and not self.constant >= 1:
            raise ValueError("a length is at least 1 token")
        if self.uniform and not 1 <= self.uniform[0] <= self.uniform[1]:
            raise ValueError("uniform needs 1 <= low <= high")
        for law in (self.normal, self.lognormal):
            if law is not None and not (law.get("mean", 0) >= 1 and law.get("std", -1) >= 0):
                raise ValueError("a law needs mean >= 1 and std >= 0")

    @property
    def mean(self) -> float:
        if self.constant is not None:
            return self.constant
        if self.uniform is not None:
            return sum(self.uniform) / 2
        law = self.normal or self.lognormal
        assert law is not None
        return law["mean"]

    @property
    def summary(self) -> str:
        """`1,024`, `820–1,024` or `1,000 ± 900`."""
        if self.uniform is not None:
            return f"{self.uniform[0]:,}–{self.uniform[1]:,}"
        law = self.normal or self.lognormal
        return f"{self.mean:,.0f}" if law is None else f"{law['mean']:,.0f} ± {law['std']:,.0f}"

    @property
    def largest(self) -> float:
        """The longest length that matters: the maximum, or the mean plus two deviations."""
        if self.uniform is not None:
            return self.uniform[1]
        law = self.normal or self.lognormal
        return self.mean if law is None else law["mean"] + 2 * law["std"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A load protocol and the lengths of its requests."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    protocol: Literal["closed-loop", "open-loop"] = "closed-loop"
    concurrency: int | None = None
    rate: float | None = None  # requests per second
    num_requests: int = 640
    start: Literal["burst", "steady"] = "burst"
    input_tokens: Lengths
    output_tokens: Lengths
    prefix_cache_hit_rate: float = 0.0
    name: str | None = None

    def __post_init__(self) -> None:
        if self.concurrency is not None and not self.concurrency >= 1:
            raise ValueError("concurrency must be at least 1")
        if self.rate is not None and not self.rate > 0:
            raise ValueError("rate must be positive")
        if not self.num_requests >= 1:
            raise ValueError("num_requests must be at least 1")
        if not 0 <= self.prefix_cache_hit_rate <= 1:
            raise ValueError("prefix_cache_hit_rate must be between 0 and 1")
        if self.protocol == "closed-loop" and self.concurrency is None:
            raise ValueError("a closed loop needs concurrency")
        if self.protocol == "open-loop" and self.rate is None:
            raise ValueError("an open loop needs rate (requests per second)")

    def replaced(self, fields: Mapping[str, Any]) -> Workload:
        """A copy with some fields replaced, without the name; a bad value is a `UsageError`."""
        if not fields:
            return self
        numbers = {name: fields[name] for name in LENGTHS if _is_number(fields.get(name))}
        try:
            lengths = {name: Lengths(constant=number) for name, number in numbers.items()}
            return replace(self, **{**fields, **lengths, "name": None})
        except ValueError as error:
            raise UsageError(f"workload: {error}") from None

    def as_file(self) -> dict[str, Any]:
        """The workload as a file states it: a length is a number or one law, no field is null."""
        stated = _without_none(asdict(self))
        for name in LENGTHS:
            lengths = _without_none(stated[name])
            stated[name] = lengths.get("constant", lengths)
        return stated


def load_workload(name: str) -> Workload:
    """The preset of that name, or the JSON or YAML file at that path.

    Raises `UsageError` for a name that is neither or a bad field, `InputError` for a file that
    cannot be read.
    """
    known = documents("compat_matrix", "workloads.yaml")["workloads.yaml"]["presets"]
    if name in known:
        return read_workload({**known[name], "name": name}, f"preset {name}")
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name!r} is no workload file and no preset; presets: {', '.join(known)}")
    try:
        content = _parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: not readable as a JSON or YAML workload: {error}") from error
    return read_workload(content, name)


def presets() -> tuple[Workload, ...]:
    """The workloads that ship with the tool, in file order."""
    known = documents("compat_matrix", "workloads.yaml")["workloads.yaml"]["presets"]
    return tuple(load_workload(name) for name in known)


def read_workload(content: Any, place: str) -> Workload:
    """A workload from the content of a file; `UsageError` names `place` and the bad field."""
    if not isinstance(content, dict):
        raise UsageError(f"{place}: a workload is a mapping such as {{concurrency: 64, …}}")
    numbers = {
        name: {"constant": content[name]} for name in LENGTHS if _is_number(content.get(name))
    }
    try:
        return validated(Workload, content | numbers)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _parsed(text: str) -> Any:
    """JSON where it is JSON, else YAML; a mistake of either kind is a ValueError."""
    try:
        return json.loads(text)
    except ValueError:
        import yaml

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error).replace("\n", " ")) from None


# What is assumed where nobody states a workload.
DEFAULT_WORKLOAD = Workload(
    concurrency=64,
    num_requests=640,
    input_tokens=Lengths(uniform=(820, 1024)),
    output_tokens=Lengths(uniform=(205, 256)),
    name="default",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Latency objectives of a request in milliseconds; None: no objective."""

    ttft_ms: float | None = None
    itl_ms: float | None = None  # a request's own 99th-percentile gap
    tpot_ms: float | None = None  # a request's mean gap

    @property
    def is_set(self) -> bool:
        return any(v is not None for v in (self.ttft_ms, self.itl_ms, self.tpot_ms))
