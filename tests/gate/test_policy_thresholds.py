"""Thresholds: how they are stated, what is predicted for them, and what is not evaluated."""

from __future__ import annotations

import pytest

from scheduler_reader.assessment import Checked
from scheduler_reader.errors import UsageError
from scheduler_reader.gate.severity import read_severities, with_severity
from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request, assess, check
from scheduler_reader.policy import THRESHOLDS, Policy, read_policy
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.rule_engine import all_rules
from scheduler_reader.rule_engine.selection import read_selection
from scheduler_reader.value import Known, Origin
from scheduler_reader.workload import DEFAULT_WORKLOAD

PLACE = Origin("option", path="sched-reader.toml", line=7)


def checked(
    *thresholds: str, version: str | None = "0.18.0", model: str = "Qwen/Qwen3-8B"
) -> Checked:
    (engine,) = parse_command(["vllm", "serve", model, "--max-num-seqs", "64"]).engines
    target = ResolveOptions(vllm_version=version, gpu="h100")
    request = Request(
        target=target, rules=read_selection(["POL"], []), policy=read_policy({}, thresholds)
    )
    return check(engine, request)


def test_every_threshold_has_a_rule() -> None:
    asked = [rule.when for rule in all_rules() if rule.code.startswith("POL")]
    assert len(asked) == len(THRESHOLDS)
    assert all(any(f'policy("{name}")' in when for when in asked) for name in THRESHOLDS)


def test_without_a_policy_nothing_is_asked_and_nothing_missing() -> None:
    one = checked(model="no/such-model-of-ours")
    assert (one.findings, one.not_evaluated) == ((), ())


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        ("min_kv_tokens=100000000", "POL001"),
        ("min_concurrency=1e6", "POL002"),
        ("min_workload_concurrency=1e6", "POL003"),
        ("min_max_model_len=1000000", "POL004"),
        ("allowed_vllm=>=0.19", "POL006"),
        ("max_ttft_p99_ms=0.1", "POL101"),
        ("max_itl_p99_ms=0.1", "POL102"),
        ("max_tpot_ms=0.1", "POL103"),
        ("min_output_tokens_per_s=1e9", "POL104"),
    ],
)
def test_what_misses_a_threshold_is_found(threshold: str, code: str) -> None:
    one = checked(threshold)
    assert [finding.code for finding in one.findings] == [code]
    assert "--policy" in one.findings[0].message


@pytest.mark.parametrize(
    "threshold",
    ["min_kv_tokens=1", "max_gpu_count=1", "allowed_vllm=>=0.18,<0.34", "max_ttft_p99_ms=1e9"],
)
def test_what_meets_it_is_not(threshold: str) -> None:
    one = checked(threshold)
    assert (one.findings, one.not_evaluated) == ((), ())


def test_a_threshold_is_held_against_the_prediction_that_diagnose_prints() -> None:
    (engine,) = parse_command(["vllm", "serve", "Qwen/Qwen3-8B"]).engines
    target = ResolveOptions(vllm_version="0.18.0", gpu="h100")
    workload = DEFAULT_WORKLOAD.replaced({"concurrency": 16, "num_requests": 64})
    policy = read_policy({"max_ttft_p99_ms": Known(0.5, PLACE)}, [])
    request = Request(target=target, workload=workload, policy=policy)
    (quick,) = [f for f in check(engine, request).findings if f.code == "POL101"]
    whole = assess(engine, request)
    (same,) = [f for f in whole.findings if f.code == "POL101"]
    assert quick.message == same.message
    assert isinstance(whole.performance, Known)
    assert f"{whole.performance.value.ttft_ms.p99:,.0f} ms" in quick.message
    assert "sched-reader.toml:7" in quick.message


def test_what_is_not_known_is_not_evaluated() -> None:
    unknown = checked("min_kv_tokens=1", model="no/such-model-of-ours")
    assert [rule.code for rule in unknown.not_evaluated] == ["POL001"]
    unstated = checked("allowed_vllm=>=0.1", version=None)
    assert [(rule.code, rule.missing) for rule in unstated.not_evaluated] == [
        ("POL006", "the vLLM release is not stated (--vllm-version)")
    ]
    newer = checked("allowed_vllm=<0.34", version="0.99.0")
    assert [rule.code for rule in newer.not_evaluated] == ["POL006"]


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("min_kv_tokens", "--policy min_kv_tokens: write NAME=VALUE"),
        ("kv=1", "policy: no threshold kv; there are min_kv_tokens"),
        ("min_kv_tokens=many", 'policy: min_kv_tokens: takes a whole number, not "many"'),
        ("min_kv_tokens=1.5", "policy: min_kv_tokens: takes a whole number, not 1.5"),
        ("max_tpot_ms=nan", "policy: max_tpot_ms: takes a number, not nan"),
        ("max_tpot_ms=0", "policy: max_tpot_ms: takes a positive number, not 0"),
        ("allowed_vllm=0.18", "policy: allowed_vllm: takes a version specifier"),
    ],
)
def test_a_wrong_threshold_is_wrong_usage(option: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_policy({}, [option])
    assert str(caught.value).startswith(says)


def test_the_command_line_wins_over_the_file() -> None:
    stated: Policy = {"max_tpot_ms": Known(20.0, PLACE), "min_kv_tokens": Known(5, PLACE)}
    policy = read_policy(stated, ["max_tpot_ms=30"])
    assert {name: (one.value, str(one.origin)) for name, one in policy.items()} == {
        "max_tpot_ms": (30.0, "--policy"),
        "min_kv_tokens": (5, "sched-reader.toml:7"),
    }


def test_the_longest_prefix_gives_the_severity() -> None:
    (finding,) = checked("min_kv_tokens=100000000").findings
    severities = read_severities({"POL": Known("note", PLACE)}, ["pol001=warning", "MEM=error"])
    assert with_severity(finding, severities).severity == "warning"
    assert with_severity(finding, read_severities({}, ["MEM=note"])).severity == "error"


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("MEM", "--severity MEM: write CODE=LEVEL"),
        ("MEM=fatal", "severity: MEM: takes error, warning, note, not fatal"),
        ("MEN=note", "severity: MEN: no rule's code starts so"),
    ],
)
def test_a_wrong_severity_is_wrong_usage(option: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_severities({}, [option])
    assert str(caught.value).startswith(says)
