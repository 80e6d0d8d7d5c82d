"""Constants of the step-time model that were fitted to a user's own measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.validation import validated


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What takes the place of the shipped constants of one engine.

    `step_us` and `sequence_us` are the host's time of a step and of each of its sequences,
    `request_ms` that of a request before its first token, its tokenizer apart; `kernel_scale`
    multiplies all kernels.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    step_us: float
    sequence_us: float
    request_ms: float
    kernel_scale: float = 1.0
    fitted_on: str = "not stated"  # the runs and the engine, in words
    path: str = ""

    def __post_init__(self) -> None:
        if min(self.step_us, self.sequence_us, self.request_ms) < 0 or not self.kernel_scale > 0:
            raise ValueError("times cannot be negative, and kernel_scale must be positive")

    @property
    def sentence(self) -> str:
        """What is assumed with it."""
        return (
            f"calibrated by {self.path}: {self.step_us:,.0f} us a step, {self.sequence_us:,.1f} us a "
            f"sequence, {self.request_ms:,.1f} ms a request, kernels x {self.kernel_scale:.2f} "
            f"(fitted on {self.fitted_on})"
        )


def read_calibration(path: Path) -> Calibration:
    """The constants of a file that `calibrate --write` made.

    Raises `InputError` where it cannot be read, `UsageError` for a bad field.
    """
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        text = str(error).replace("\n", " ")
        raise InputError(f"{path}: not readable as a calibration: {text}") from None
    if not isinstance(content, dict) or not isinstance(content.get("constants"), dict):
        raise UsageError(f"{path}: a calibration has `constants:`, see sched-reader calibrate")
    stated = {**content["constants"], "fitted_on": str(content.get("fitted_on", "not stated"))}
    try:
        return validated(Calibration, {**stated, "path": str(path)})
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
