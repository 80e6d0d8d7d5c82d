"""What two releases make of the same engine."""

from __future__ import annotations

import shlex

import pytest
from packaging.version import Version

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.upgrade.changes import Upgrade
from scheduler_reader.upgrade.engines import upgrades_of
from scheduler_reader.value import Known

LLAMA = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192"


def upgrade(arguments: str, before: str, after: str, gpu: str = "h100") -> Upgrade:
    parsed = parse_command(["vllm", "serve", *shlex.split(arguments)])
    request = Request(ResolveOptions(gpu=gpu))
    return upgrades_of([parsed], before, Release(after), request)[0]


def moved(found: Upgrade) -> dict[str, tuple[object, object]]:
    return {
        change.name: (change.before.value, change.after.value)
        for change in found.settings
        if isinstance(change.before, Known) and isinstance(change.after, Known)
    }


def test_utilization_moves_and_takes_blocks_with_it() -> None:
    found = upgrade(LLAMA, "0.19.1", "0.20.0")
    assert moved(found)["gpu_memory_utilization"] == (0.9, 0.92)
    change = next(one for one in found.settings if one.name == "gpu_memory_utilization")
    budget = change.effect["memory_budget_gib"]
    # The H100 has 79.19 GiB: 0.92 of it is 1.58 GiB more than 0.9 of it.
    assert budget.after - budget.before == pytest.approx(0.02 * 79.19, abs=0.01)
    assert change.effect["num_blocks"].after > change.effect["num_blocks"].before
    assert not found.is_refused


def test_a_stated_value_does_not_move() -> None:
    assert "gpu_memory_utilization" not in moved(
        upgrade(f"{LLAMA} --gpu-memory-utilization 0.9", "0.19.1", "0.20.0")
    )


@pytest.mark.parametrize(
    ("arguments", "before", "after", "setting", "values"),
    [
        (LLAMA, "0.13.0", "0.14.0", "async_scheduling", (False, True)),
        (LLAMA, "0.18.1", "0.19.0", "scheduler_reserve_full_isl", (False, True)),
        (LLAMA, "0.7.3", "0.8.0", "max_num_seqs", (256, 1024)),
        ("Qwen/Qwen3-Next-80B-A3B-Instruct -tp 4 --max-model-len 8192", "0.27.1", "0.28.0",
         "enable_prefix_caching", (False, True)),
    ],
)  # fmt: skip
def test_defaults_that_move(
    arguments: str, before: str, after: str, setting: str, values: tuple[object, object]
) -> None:
    assert moved(upgrade(arguments, before, after))[setting] == values


def test_a_removed_flag_is_refused_with_its_place_and_successor() -> None:
    found = upgrade(f"{LLAMA} --guided-decoding-backend xgrammar", "0.9.2", "0.18.0")
    assert [(one.kind, one.flag, one.use) for one in found.flags] == [
        ("removed", "--guided-decoding-backend", "--structured-outputs-config.backend")
    ]
    assert found.is_refused


def test_behaviours_that_need_a_setting_are_told_only_with_it() -> None:
    names = {one.name for one in upgrade(LLAMA, "0.30.0", "0.31.0").behaviours}
    with_threshold = upgrade(f"{LLAMA} --long-prefill-token-threshold 512", "0.30.0", "0.31.0")
    assert "threshold_spares_lone_request" not in names
    assert "threshold_spares_lone_request" in {one.name for one in with_threshold.behaviours}


def test_a_behaviour_is_told_in_the_words_of_its_two_values() -> None:
    found = upgrade(LLAMA, "0.10.2", "0.12.0")
    limit = next(one for one in found.behaviours if one.name == "output_limit")
    assert limit.before == "nothing"
    assert limit.after.startswith("it is left out once")
    assert [one.since for one in found.behaviours] == sorted(
        (one.since for one in found.behaviours), key=Version
    )


def test_the_same_release_twice_is_wrong_usage() -> None:
    with pytest.raises(Exception, match="later release"):
        upgrade(LLAMA, "0.18.0", "0.18.0")
