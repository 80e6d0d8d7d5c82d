"""Findings alone are those of the whole assessment."""

from __future__ import annotations

import gc
import shlex

import pytest

from scheduler_reader.parse import parse_command
from scheduler_reader.pipeline import Request, assess, check, workload_assumption
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.rule_engine import Selection
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

COMMANDS = (
    "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-batched-tokens 512 --max-num-seqs 4",
    "vllm serve meta-llama/Llama-3.3-70B-Instruct --swap-space 4",
    "vllm serve acme/private -tp 2",
)
WORKLOAD = DEFAULT_WORKLOAD.replaced({"input_tokens": 12_000})


@pytest.mark.parametrize("command", COMMANDS)
def test_findings_for_a_stated_load_are_the_same(command: str) -> None:
    (engine,) = parse_command(shlex.split(command)).engines
    objective = Slo(itl_ms=25.0)  # at 20 ms half of the requests meet it, by a hair
    request = Request(ResolveOptions("0.18.0", "h100"), WORKLOAD, objective)
    whole, alone = assess(engine, request), check(engine, request)
    assert alone.findings == whole.findings
    assert alone.not_evaluated == whole.not_evaluated


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_stated_load_nothing_is_predicted(command: str) -> None:
    (engine,) = parse_command(shlex.split(command)).engines
    request = Request(ResolveOptions("0.18.0", "h100"))
    whole, alone = assess(engine, request), check(engine, request)
    assert all(finding in whole.findings for finding in alone.findings)
    left = {finding.code for finding in whole.findings} - {f.code for f in alone.findings}
    assert left <= {one.code for one in alone.not_evaluated}
    assert left <= {"CHK101", "CHK102"}


def test_only_selected_rules_are_evaluated() -> None:
    (engine,) = parse_command(shlex.split(COMMANDS[1])).engines
    request = Request(ResolveOptions("0.18.0", "h100"), rules=Selection(("FLG",), ("FLG01",)))
    for judged in (assess(engine, request), check(engine, request)):
        assert {finding.code for finding in judged.findings} == {"FLG002"}


@pytest.mark.parametrize(
    ("changes", "stay"),
    [
        ({"input_tokens": 1024, "output_tokens": 256}, True),
        ({"output_tokens": 256, "concurrency": 1}, False),
        ({"input_tokens": 1024}, False),
        ({"output_tokens": 256, "protocol": "open-loop", "rate": 2.0}, False),
    ],
)
def test_equal_outputs_of_a_closed_loop_stay_in_step_and_the_report_says_so(changes, stay) -> None:
    said = workload_assumption(DEFAULT_WORKLOAD.replaced(changes))
    assert [note.split(",")[0] for note in said] == ["all outputs are of one length"] * stay


def test_a_check_leaves_no_cycles_behind() -> None:
    """A fleet's memory is freed as it goes, whether or not Python looks for cycles."""
    (engine,) = parse_command(shlex.split(COMMANDS[1])).engines
    request = Request(ResolveOptions("0.18.0", "h100"), WORKLOAD)
    check(engine, request)
    gc.collect()
    gc.disable()
    try:
        check(engine, request)
        assert gc.collect() == 0
    finally:
        gc.enable()
