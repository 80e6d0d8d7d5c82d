"""Times of steps that only decode: a line over the context, with bends at windows and launches."""

from __future__ import annotations

from scheduler_reader.performance.step import StepModel
from scheduler_reader.record import Record

FAR = 1 << 20  # tokens; a point on the line far enough out for its slope
ROUNDING_S = 1e-12  # a step off the line by more than this is beyond a bend


class Stretch(Record):
    """Steps of which each is longer than the one before by `growth` seconds."""

    steps: int
    seconds: float
    growth: float

    def total(self, steps: int) -> float:
        """Seconds of the first `steps`."""
        return steps * self.seconds + self.growth * (steps * (steps - 1) / 2)

    def before(self, seconds: float) -> int:
        """The first step that begins `seconds` after the start of the stretch, or later."""
        low, high = 0, self.steps
        while low < high:
            middle = (low + high) // 2
            if self.total(middle) < seconds:
                low = middle + 1
            else:
                high = middle
        return low


class DecodeLine:
    """Step times of one engine by the number of decoding requests and the sum of their contexts."""

    def __init__(self, step_model: StepModel) -> None:
        self._seconds = step_model.step_seconds
        self._is_straight = not step_model.is_eager and all(
            cost.window is None for cost in step_model.attention
        )
        self._terms: dict[int, tuple[float, float]] = {}

    def at(self, decoding: int, context: int) -> float:
        """Seconds of one step."""
        if not self._is_straight:
            return self._seconds(decoding, context)
        fixed, slope = self._straight(decoding)
        return fixed + slope * context

    def stretch(self, decoding: int, context: int, most: int) -> Stretch:
        """Steps from a context on, as many of `most` as are found to lie on one line."""
        if self._is_straight:
            fixed, slope = self._straight(decoding)
            return Stretch(most, fixed + slope * context, slope * decoding)
        first = self._seconds(decoding, context)
        growth = self._seconds(decoding, context + decoding) - first
        steps = most
        while steps > 2:
            last = self._seconds(decoding, context + decoding * (steps - 1))
            if abs(last - first - growth * (steps - 1)) <= ROUNDING_S * steps:
                break
            steps //= 2
        return Stretch(steps, first, growth)

    def _straight(self, decoding: int) -> tuple[float, float]:
        terms = self._terms.get(decoding)
        if terms is None:
            fixed = self._seconds(decoding, 0)
            terms = fixed, (self._seconds(decoding, FAR) - fixed) / FAR
            self._terms[decoding] = terms
        return terms
