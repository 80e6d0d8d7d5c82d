"""A sweep says the same wherever its points are evaluated."""

from __future__ import annotations

import os

import pytest

from scheduler_reader.errors import UsageError
from scheduler_reader.report.tuning.json import render
from scheduler_reader.tune.pool import pool
from scheduler_reader.tune.store import Store
from scheduler_reader.tune.sweep import sweep
from scheduler_reader.tune.tuner import Wishes

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
WISHES = Wishes(budget=60)


@pytest.fixture(scope="module")
def cases(case):
    return [case(LLAMA_8B + f" --max-num-seqs {seats}") for seats in (4, 8)]


@pytest.fixture(scope="module")
def alone(cases):
    with pool(jobs=1) as evaluate:
        return render(sweep(cases, WISHES, Store({}), evaluate))


def test_on_two_cores(cases, alone):
    pytest.importorskip("joblib", reason="the extra sched-reader[sweep] is not installed")
    with pool(jobs=2) as evaluate:
        assert render(sweep(cases, WISHES, Store({}), evaluate)) == alone


def test_where_nobody_says_how_many(cases, alone):
    with pool() as evaluate:
        assert render(sweep(cases, WISHES, Store({}), evaluate)) == alone


def test_on_a_dask_cluster_of_two_workers(cases, alone):
    distributed = pytest.importorskip(
        "distributed", reason="the extra sched-reader[cluster] is not installed"
    )
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, pool(scheduler=cluster.scheduler_address) as evaluate:
        assert render(sweep(cases, WISHES, Store({}), evaluate)) == alone
        with distributed.Client(cluster) as client:
            workers = client.run(os.getpid)
    assert len(workers) == 2


def test_an_address_where_nobody_answers_is_wrong_usage():
    pytest.importorskip("distributed", reason="the extra sched-reader[cluster] is not installed")
    with (
        pytest.raises(UsageError, match="no Dask scheduler answers"),
        pool(scheduler="nonsense://x"),
    ):
        pass
