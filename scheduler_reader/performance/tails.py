"""Small distributions for the tails of the closed form: of TTFT, and of arrivals in a step."""

from __future__ import annotations

from math import exp, inf, log, sqrt

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
        low, high = 0.0, max(self.burst_high, self.shift + 20 * self.scale)
        for _ in range(50):
            middle = (low + high) / 2
            if self.share_within(middle) >= share:
                high = middle
            else:
                low = middle
        return high


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
