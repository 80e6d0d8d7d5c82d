"""Small distributions for the tails of the closed form: of TTFT, and of arrivals in a step."""

from __future__ import annotations

from math import exp, fsum, inf, log, sqrt

from scheduler_reader.performance.estimate import Latency
from scheduler_reader.record import Record


class WaitingTime(Record):
    """Seconds to the first token: a share of requests waits in the start-up burst, uniformly
    between `burst_low` and `burst_high`; the rest waits `shift` plus an exponential of mean
    `scale`.
    """

    burst_share: float
    burst_low: float
    burst_high: float
    shift: float
    scale: float

    @property
    def mean(self) -> float:
        burst = (self.burst_low + self.burst_high) / 2
        return self.burst_share * burst + (1 - self.burst_share) * (self.shift + self.scale)

    @property
    def steady_p99(self) -> float:
        """What 99 of 100 requests wait at most that are not of the burst."""
        return self.shift + self.scale * log(100)

    def share_within(self, seconds: float) -> float:
        """The share of requests that wait at most `seconds`."""
        burst_share, low, high, shift, scale = self  # unpacked: `quantile` asks a hundred times
        steady = burst = 0.0
        if seconds >= shift:
            steady = 1 - exp(-(seconds - shift) / scale) if scale > 0 else 1.0
        if seconds >= high:
            burst = 1.0
        elif seconds > low:
            burst = (seconds - low) / (high - low)
        return burst_share * burst + (1 - burst_share) * steady

    def quantile(self, share: float) -> float:
        """The wait that `share` of the requests do not exceed (bisection)."""
        return _quantile(self, share, max(self.burst_high, self.shift + 20 * self.scale))


class CountedWaits(Record):
    """Seconds to the first token: a share of requests waits in the start-up burst, uniformly between
    `burst_low` and `burst_high`; of the rest, so many requests wait so many seconds.
    """

    burst_share: float
    burst_low: float
    burst_high: float
    later: tuple[tuple[float, float], ...]

    @property
    def mean(self) -> float:
        burst = (self.burst_low + self.burst_high) / 2
        if not self.later:
            return burst
        later = fsum(count * wait_s for count, wait_s in self.later) / self._count
        return self.burst_share * burst + (1 - self.burst_share) * later

    @property
    def steady_p99(self) -> float | None:
        """What 99 of 100 requests wait at most that are not of the burst; None: all are."""
        if not self.later:
            return None
        return _quantile(self._replace(burst_share=0.0), 0.99, max(self.later, key=_wait)[1])

    def share_within(self, seconds: float) -> float:
        """The share of requests that wait at most `seconds`."""
        burst_share, low, high, later = self
        within = 0.0
        for count, wait_s in later:
            if wait_s <= seconds:
                within += count
        steady = within / self._count if later else 0.0
        burst = 1.0 if seconds >= high else 0.0
        if low < seconds < high:
            burst = (seconds - low) / (high - low)
        return burst_share * burst + (1 - burst_share) * steady

    def quantile(self, share: float) -> float:
        """The wait that `share` of the requests do not exceed (bisection)."""
        longest_s = max((self.burst_high, *(wait_s for _, wait_s in self.later)))
        return _quantile(self, share, longest_s)

    @property
    def _count(self) -> float:
        return fsum(count for count, _ in self.later)


def _wait(counted: tuple[float, float]) -> float:
    return counted[1]


def _quantile(waits: WaitingTime | CountedWaits, share: float, longest_s: float) -> float:
    low, high = 0.0, longest_s
    for _ in range(50):
        middle = (low + high) / 2
        if waits.share_within(middle) >= share:
            high = middle
        else:
            low = middle
    return high


def growing(first_s: float, mean_s: float) -> WaitingTime:
    """Waits of a finite run above the capacity: each is longer than the one before, from none on."""
    last_s = first_s + 2 * mean_s
    return WaitingTime(1.0, first_s, last_s, last_s, 0.0)


def steady_p99_ms(waiting: WaitingTime | CountedWaits) -> float | None:
    """What 99 of 100 requests wait at most that are not of the burst, in milliseconds."""
    seconds = waiting.steady_p99
    return None if seconds is None else seconds * 1e3


def milliseconds(waiting: WaitingTime | CountedWaits, is_saturated: bool) -> Latency:
    """The waits as TTFT; a saturated load has no tail."""
    if is_saturated:
        return Latency(waiting.mean * 1e3)
    return Latency(waiting.mean * 1e3, waiting.quantile(0.5) * 1e3, waiting.quantile(0.99) * 1e3)


def poisson_within(mean: float, count: float) -> float:
    """The probability that a Poisson variable of this mean is at most `count`."""
    if mean > 200:  # normal: the exact sum would underflow
        return 1 / (1 + exp(min(700.0, -1.702 * (count + 0.5 - mean) / sqrt(mean))))
    term = total = exp(-mean)
    for value in range(1, int(count) + 1):
        term *= mean / value
        total += term
    return min(total, 1.0)


def poisson_quantile(mean: float, share: float) -> int:
    """The smallest count that a Poisson variable of this mean stays within with `share`."""
    if mean > 200:
        return round(mean + 2.33 * sqrt(mean))
    term = total = exp(-mean)
    value = 0
    while total < share:
        value += 1
        term *= mean / value
        total += term
    return value


def queue_wait(utilization: float, servers: float, service_s: float) -> float:
    """Mean wait for one of `servers` seats with near-constant service (Sakasegawa 1977, halved
    for constant service); infinite at or above full utilization.
    """
    if utilization >= 1:
        return inf
    exponent = sqrt(2 * (servers + 1)) - 1
    return float(0.5 * utilization**exponent / (servers * (1 - utilization)) * service_s)
