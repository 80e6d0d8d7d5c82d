"""`list`: the same entries as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from scheduler_reader.knowledge.gpus import all_gpus
from scheduler_reader.knowledge.models import all_models
from scheduler_reader.knowledge.versions import releases
from scheduler_reader.rule_engine import all_rules
from scheduler_reader.workload import presets

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("what", "key", "names"),
    [
        ("gpus", "name", [gpu.name for gpu in all_gpus()]),
        ("models", "id", [model.id for model in all_models()]),
        ("rules", "code", [rule.code for rule in all_rules()]),
        ("workloads", "name", [load.name for load in presets()]),
        ("claims", "name", None),
    ],
)
def test_a_table_has_the_entries_of_the_json(
    call: Run, monkeypatch: pytest.MonkeyPatch, what: str, key: str, names: list[str] | None
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = call("list", what, "--format", "json")
    listed = [entry[key] for entry in json.loads(out)[what]]
    assert (code, bool(listed)) == (0, True)
    assert names is None or listed == names
    code, table, _ = call("list", what)
    assert code == 0
    assert [name for name in listed if name not in table] == []


def test_the_releases_are_listed_one_a_line(call: Run) -> None:
    assert call("list", "versions") == (0, "\n".join(releases()) + "\n", "")
    _, out, _ = call("list", "versions", "--format", "json")
    assert json.loads(out) == {"versions": list(releases())}


def test_the_flags_of_a_release_are_listed_with_type_and_default(
    call: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = call("list", "flags", "--vllm-version", "0.18.0", "--format", "json")
    listed = json.loads(out)
    assert listed["vllm_version"] == "0.18.0"
    assert listed["flags"]["--gpu-memory-utilization"]["default"] == 0.9
    _, table, _ = call("list", "flags", "--vllm-version", "0.18.0")
    (row,) = [line for line in table.splitlines() if "--gpu-memory-utilization" in line]
    assert "float" in row and "0.9" in row
    assert "--calculate-kv-scales" in table
    assert "--calculate-kv-scales" not in call("list", "flags", "--vllm-version", "0.33.0")[1]


def test_a_release_that_is_not_known_is_read_as_another_and_said_so(call: Run) -> None:
    code, _, err = call("list", "flags", "--vllm-version", "0.33.99", "--format", "json")
    assert code == 0
    assert "0.33.99" in err
