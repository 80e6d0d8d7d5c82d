"""The small distributions against values that can be looked up."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.performance.tails import (
    WaitingTime,
    poisson_quantile,
    poisson_within,
    queue_wait,
)


def test_poisson():
    assert poisson_within(2.0, 2) == pytest.approx(0.6767, abs=1e-4)
    assert poisson_within(0.0, 0) == 1
    assert poisson_quantile(2.0, 0.99) == 6
    assert poisson_within(400, 400) == pytest.approx(0.513, abs=0.01)


def test_an_exponential_wait_has_its_99th_percentile_at_4_6_means():
    wait = WaitingTime(0.0, 0.0, 0.0, shift=1.0, scale=2.0)
    assert wait.mean == 3.0
    assert wait.quantile(0.99) == pytest.approx(1 + 2 * math.log(100), rel=1e-6)
    assert wait.share_within(1 + 2 * math.log(2)) == pytest.approx(0.5)


def test_a_burst_of_a_tenth_sets_the_99th_percentile():
    wait = WaitingTime(0.1, 0.0, 10.0, shift=0.05, scale=0.0)
    assert wait.mean == pytest.approx(0.1 * 5 + 0.9 * 0.05)
    assert wait.quantile(0.99) == pytest.approx(9.0, rel=1e-6)
    assert wait.quantile(0.5) == pytest.approx(0.05, rel=1e-6)


def test_one_server_with_constant_service_is_m_d_1():
    # M/D/1: rho / (2 (1 - rho)) x service.
    assert queue_wait(0.8, 1, 3.0) == pytest.approx(0.8 / 0.4 * 3.0)
    assert queue_wait(1.0, 4, 3.0) == math.inf


@given(
    share=st.floats(0, 1),
    high=st.floats(0.1, 100),
    shift=st.floats(0, 10),
    scale=st.floats(0, 10),
)
def test_quantiles_rise(share, high, shift, scale):
    wait = WaitingTime(share, 0.05, high, shift, scale)
    assert wait.quantile(0.1) <= wait.quantile(0.5) <= wait.quantile(0.99)
