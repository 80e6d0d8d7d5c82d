"""The workload a prediction is for: how requests arrive, and how long they are."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


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
        return {"constant": data} if isinstance(data, int | float) else data

    @model_validator(mode="after")
    def _exactly_one(self) -> Lengths:
        given = [n for n in ("constant", "uniform", "normal", "lognormal") if getattr(self, n)]
        if len(given) != 1:
            raise ValueError("give one of: a number, uniform, normal, lognormal")
        if self.uniform and not 1 <= self.uniform[0] <= self.uniform[1]:
            raise ValueError("uniform needs 1 <= low <= high")
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
    def largest(self) -> float:
        """The longest length that matters: the maximum, or the mean plus two deviations."""
        if self.uniform is not None:
            return self.uniform[1]
        law = self.normal or self.lognormal
        return self.mean if law is None else law["mean"] + 2 * law["std"]


class Workload(BaseModel):
    """A load protocol and request shapes (DESIGN §3).  `origin` says who stated it."""

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


# DESIGN §2: what is assumed where nobody states a workload.
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
