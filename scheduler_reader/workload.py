"""The workload a prediction is for: how requests arrive, and how long they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from scheduler_reader.data import documents
from scheduler_reader.errors import InputError, UsageError


class Lengths(BaseModel):
    """A distribution of token counts, exactly one of the fields: a number, a range, or a law."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    constant: Annotated[int, Field(ge=1)] | None = None
    uniform: tuple[int, int] | None = None  # both ends included
    normal: dict[Literal["mean", "std"], float] | None = None
    lognormal: dict[Literal["mean", "std"], float] | None = None  # of the lengths themselves

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, data: Any) -> Any:
        is_number = isinstance(data, int | float) and not isinstance(data, bool)
        return {"constant": data} if is_number else data

    @model_validator(mode="after")
    def _exactly_one(self) -> Lengths:
        given = [n for n in ("constant", "uniform", "normal", "lognormal") if getattr(self, n)]
        if len(given) != 1:
            raise ValueError("give one of: a number, uniform, normal, lognormal")
        if self.uniform and not 1 <= self.uniform[0] <= self.uniform[1]:
            raise ValueError("uniform needs 1 <= low <= high")
        for law in (self.normal, self.lognormal):
            if law is not None and not (law.get("mean", 0) >= 1 and law.get("std", -1) >= 0):
                raise ValueError("a law needs mean >= 1 and std >= 0")
        return self

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


class Workload(BaseModel):
    """A load protocol and the lengths of its requests."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    protocol: Literal["closed-loop", "open-loop"] = "closed-loop"
    concurrency: int | None = Field(default=None, ge=1)
    rate: float | None = Field(default=None, gt=0)  # requests per second
    num_requests: int = Field(default=640, ge=1)
    start: Literal["burst", "steady"] = "burst"
    input_tokens: Lengths
    output_tokens: Lengths
    prefix_cache_hit_rate: float = Field(default=0.0, ge=0, le=1)
    name: str | None = None

    @model_validator(mode="after")
    def _protocol_has_its_number(self) -> Workload:
        if self.protocol == "closed-loop" and self.concurrency is None:
            raise ValueError("a closed loop needs concurrency")
        if self.protocol == "open-loop" and self.rate is None:
            raise ValueError("an open loop needs rate (requests per second)")
        return self

    def replaced(self, fields: Mapping[str, Any]) -> Workload:
        """A copy with some fields replaced, checked; a bad value is a `UsageError`."""
        known = self.model_dump(exclude_none=True)
        return read_workload({**known, **fields, "name": None} if fields else known, "workload")


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
    try:
        return Workload.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{place}: {field + ': ' if field else ''}{message}") from None


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


class Slo(BaseModel):
    """Latency objectives of a request in milliseconds; None: no objective."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ttft_ms: float | None = Field(default=None, gt=0)
    itl_ms: float | None = Field(default=None, gt=0)  # a request's own 99th-percentile gap
    tpot_ms: float | None = Field(default=None, gt=0)  # a request's mean gap

    @property
    def is_set(self) -> bool:
        return any(v is not None for v in (self.ttft_ms, self.itl_ms, self.tpot_ms))
