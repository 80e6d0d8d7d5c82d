"""The workload a prediction is for: how requests arrive, and how long they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from scheduler_reader.data import documents
from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.record import Record
from scheduler_reader.validation import validated

LENGTHS = ("input_tokens", "output_tokens")

OPTIONAL = ("arrival", "seed", "shared_prefix_tokens")  # not stated where they are as by default
TRACE_SUFFIXES = (".jsonl", ".csv")

# Gaps between arrivals: exponential, equal, gamma with a coefficient of variation, `burst` requests
# at once, or the times of the trace.
Arrivals: TypeAlias = (
    Literal["poisson", "constant", "trace"] | dict[Literal["gamma", "burst"], float]
)


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
    def std(self) -> float:
        """How far they spread: the standard deviation."""
        if self.constant is not None:
            return 0.0
        if self.uniform is not None:
            low, high = self.uniform
            return sqrt(((high - low + 1) ** 2 - 1) / 12)
        law = self.normal or self.lognormal
        assert law is not None
        return law["std"]

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
    """A load protocol and the lengths of its requests.

    With a trace, the lengths (and with `arrival: trace` the times) of each request are its own;
    the fields say what they are like on the whole.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    protocol: Literal["closed-loop", "open-loop"] = "closed-loop"
    concurrency: int | None = None
    rate: float | None = None  # requests per second
    num_requests: int = 640
    start: Literal["burst", "steady"] = "burst"
    input_tokens: Lengths
    output_tokens: Lengths
    prefix_cache_hit_rate: float = 0.0
    shared_prefix_tokens: int = 0  # that all requests begin with, such as a system prompt
    acceptance_length: float | None = (
        None  # tokens a step yields with drafts, the target's included
    )
    arrival: Arrivals = "poisson"  # of an open loop
    trace: str | None = None  # the file that the requests themselves are read from
    seed: int = 0
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
        if not self.shared_prefix_tokens >= 0:
            raise ValueError("shared_prefix_tokens cannot be negative")
        if self.acceptance_length is not None and not self.acceptance_length >= 1:
            raise ValueError("acceptance_length is at least 1: the target's own token")
        if self.shared_prefix_tokens and self.prefix_cache_hit_rate:
            raise ValueError("give shared_prefix_tokens or prefix_cache_hit_rate, not both")
        if isinstance(self.arrival, dict):
            if len(self.arrival) != 1 or not min(self.arrival.values()) > 0:
                raise ValueError("arrival is poisson, constant, one {gamma: cv} or one {burst: n}")
        elif self.arrival == "trace" and self.trace is None:
            raise ValueError("arrival: trace needs a trace")

    @property
    def expected_hit_rate(self) -> float:
        """Share of prompt tokens that the prefix cache holds once it is warm."""
        if self.shared_prefix_tokens:
            return min(1.0, self.shared_prefix_tokens / self.input_tokens.mean)
        return self.prefix_cache_hit_rate

    @property
    def keeps_in_step(self) -> bool:
        """Whether it is a closed loop of several clients whose outputs are all of one length: requests
        that start together then end together, and so do those that follow them.
        """
        is_crowd = self.protocol == "closed-loop" and (self.concurrency or 1) > 1
        return is_crowd and self.trace is None and self.output_tokens.constant is not None

    def busy_replicas(self, replicas: int) -> int:
        """How many data-parallel replicas have something to do: of a closed loop no more than clients."""
        if self.protocol != "closed-loop" or self.concurrency is None:
            return replicas
        return min(replicas, self.concurrency, self.num_requests)

    def replaced(self, changes: Mapping[str, Any]) -> Workload:
        """A copy with some fields replaced, without the name; a bad value is a `UsageError`.

        A stated length takes the place of a trace, a stated rate that of its times.
        """
        if not changes:
            return self
        if self.trace is not None and not changes.keys().isdisjoint(LENGTHS):
            changes = {"trace": None, **changes}
        if self.arrival == "trace" and not changes.keys().isdisjoint({*LENGTHS, "rate"}):
            changes = {"arrival": "poisson", **changes}
        numbers = {name: changes[name] for name in LENGTHS if _is_number(changes.get(name))}
        try:
            lengths = {name: Lengths(constant=number) for name, number in numbers.items()}
            return replace(self, **{**changes, **lengths, "name": None})
        except ValueError as error:
            raise UsageError(f"workload: {error}") from None

    def as_file(self) -> dict[str, Any]:
        """The workload as a file states it: a length is a number or one law, no field is null."""
        stated = _without_none(asdict(self))
        for field in fields(self):
            if field.name in OPTIONAL and stated.get(field.name) == field.default:
                del stated[field.name]
        for name in LENGTHS:
            lengths = _without_none(stated[name])
            stated[name] = lengths.get("constant", lengths)
        return stated


def load_workload(name: str) -> Workload:
    """The preset of that name, the trace, or the JSON or YAML file at that path.

    Raises `UsageError` for a name that is neither or a bad field, `InputError` for a file that
    cannot be read.
    """
    known = documents("compat_matrix", "workloads.yaml")["workloads.yaml"]["presets"]
    if name in known:
        return read_workload({**known[name], "name": name}, f"preset {name}")
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name!r} is no workload file and no preset; presets: {', '.join(known)}")
    if path.suffix.lower() in TRACE_SUFFIXES:
        return read_workload({"trace": name, "name": path.name}, name)
    try:
        content = _parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{name}: not readable as a JSON or YAML workload: {error}") from error
    if isinstance(content, dict) and isinstance(content.get("trace"), str):
        content["trace"] = str(path.parent / content["trace"])
    return read_workload(content, name)


def presets() -> tuple[Workload, ...]:
    """The workloads that ship with the tool, in file order."""
    known = documents("compat_matrix", "workloads.yaml")["workloads.yaml"]["presets"]
    return tuple(load_workload(name) for name in known)


def read_workload(content: Any, place: str) -> Workload:
    """A workload from the content of a file; `UsageError` names `place` and the bad field."""
    if not isinstance(content, dict):
        raise UsageError(f"{place}: a workload is a mapping such as {{concurrency: 64, …}}")
    if isinstance(content.get("trace"), str):
        content = _traced(content["trace"]) | content
    numbers = {
        name: {"constant": content[name]} for name in LENGTHS if _is_number(content.get(name))
    }
    try:
        return validated(Workload, content | numbers)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None


def _traced(trace: str) -> dict[str, Any]:
    """The fields that a trace implies; without times it is a closed loop as by default."""
    from scheduler_reader.traces import measure, read_trace

    shape = measure(read_trace(trace))
    implied: dict[str, Any] = {
        "num_requests": shape.requests,
        "prefix_cache_hit_rate": shape.hit_rate,
    }
    for name, lengths in zip(LENGTHS, (shape.prompt, shape.output), strict=True):
        implied[name] = {"lognormal": {"mean": lengths.mean, "std": lengths.std}}
    if shape.rate is not None:
        return implied | {"protocol": "open-loop", "rate": shape.rate, "arrival": "trace"}
    return implied | {"concurrency": DEFAULT_WORKLOAD.concurrency}


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


class Slo(Record):
    """Latency objectives of a request in milliseconds; None: no objective."""

    ttft_ms: float | None = None
    itl_ms: float | None = None  # a request's own 99th-percentile gap
    tpot_ms: float | None = None  # a request's mean gap

    @property
    def is_set(self) -> bool:
        return any(v is not None for v in (self.ttft_ms, self.itl_ms, self.tpot_ms))
