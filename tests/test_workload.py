"""Workloads from presets and files, and what is said about a bad one."""

from __future__ import annotations

import pytest

from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.workload import DEFAULT_WORKLOAD, load_workload, presets, read_workload


def test_every_preset_loads_under_its_name():
    names = {load.name for load in presets()}
    assert {"chat", "rag", "summarisation", "code-completion", "agent", "batch", "mixed"} == names


@pytest.mark.parametrize(
    "text",
    [
        '{"protocol": "open-loop", "rate": 2.5, "input_tokens": {"uniform": [10, 20]}, "output_tokens": 7}',
        "protocol: open-loop\nrate: 2.5\ninput_tokens: {uniform: [10, 20]}\noutput_tokens: 7\n",
    ],
)
def test_json_and_yaml_files_say_the_same(tmp_path, text):
    file = tmp_path / "load"
    file.write_text(text)
    load = load_workload(str(file))
    assert (load.rate, load.input_tokens.mean, load.output_tokens.mean) == (2.5, 15, 7)
    assert load.input_tokens.summary == "10–20"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": None}, "a closed loop needs concurrency"),
        ({"input_tokens": {"uniform": [9, 3]}}, "input_tokens: uniform needs 1 <= low <= high"),
        ({"input_tokens": {"normal": {"mean": 9}}}, "input_tokens: a law needs mean"),
        ({"output_tokens": True}, "output_tokens"),
        ({"prefix_cache_hit_rate": 2}, "prefix_cache_hit_rate"),
        ({"concurency": 3}, "concurency"),
    ],
)
def test_a_bad_field_is_named(changes, field):
    good = {"concurrency": 4, "input_tokens": 10, "output_tokens": 5}
    with pytest.raises(UsageError, match=f"^load.json: {field}"):
        read_workload({**good, **changes}, "load.json")


def test_a_name_that_is_nothing_lists_the_presets():
    with pytest.raises(UsageError, match="presets: chat, rag"):
        load_workload("chatt")


def test_a_file_that_is_neither_json_nor_yaml_cannot_be_read(tmp_path):
    file = tmp_path / "load.yaml"
    file.write_text("concurrency: [1")
    with pytest.raises(InputError, match=r"load\.yaml"):
        load_workload(str(file))


def test_replacing_fields_of_the_default_workload():
    load = DEFAULT_WORKLOAD.replaced({"protocol": "open-loop", "rate": 3.0, "concurrency": None})
    assert (load.protocol, load.rate, load.concurrency) == ("open-loop", 3.0, None)
    assert load.input_tokens == DEFAULT_WORKLOAD.input_tokens
    assert DEFAULT_WORKLOAD.replaced({}) == DEFAULT_WORKLOAD
