"""The options of each release."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scheduler_reader.data import documents, json_file
from scheduler_reader.knowledge.flags import (
    Match,
    any_release_table,
    did_you_mean,
    flag_table,
    last_release_with,
    lifetime,
    next_release_with,
    replacement,
)
from scheduler_reader.knowledge.versions import releases

ROOT = Path(__file__).resolve().parents[2]


def test_options_by_release() -> None:
    assert flag_table("0.18.0").flags["--gpu-memory-utilization"].default == 0.9
    assert flag_table("0.33.0").flags["--gpu-memory-utilization"].default == 0.92
    assert "--device" in flag_table("0.9.2").flags
    assert "--device" not in flag_table("0.10.0").flags
    assert flag_table("0.8.5").flags["--block-size"].choices == (1, 8, 16, 32, 64, 128)


@pytest.mark.parametrize(
    ("release", "option", "name", "is_negative"),
    [
        ("0.18.0", "--max_num_seqs", "--max-num-seqs", False),
        ("0.18.0", "--max-num-seq", "--max-num-seqs", False),
        ("0.18.0", "-tp", "--tensor-parallel-size", False),
        ("0.18.0", "--no-enforce-eager", "--enforce-eager", True),
        ("0.33.0", "--disable-prefix-caching", "--enable-prefix-caching", True),
        ("0.33.0", "--enable-cascade-attn", "--disable-cascade-attn", True),
        ("0.33.0", "--device-memory-utilization", "--gpu-memory-utilization", False),
    ],
)
def test_names_of_an_option(release: str, option: str, name: str, is_negative: bool) -> None:
    found = flag_table(release).find(option)
    assert isinstance(found, Match)
    assert (found.flag.name, found.negative) == (name, is_negative)


def test_prefix_of_several_options_is_ambiguous_and_of_none_empty() -> None:
    table = flag_table("0.33.0")
    assert table.find("--device") == ("--device-memory-utilization", "--device-ids")
    assert table.find("--nothing-like-it") == ()


def test_all_releases_together_keep_an_old_option_beside_its_successor() -> None:
    table = any_release_table()
    found = table.find("--disable-log-requests")
    assert isinstance(found, Match)
    assert found.flag.name == "--disable-log-requests"
    assert any_release_table("0.8.4").flags["--enable-chunked-prefill"].type == "bool-value"
    assert any_release_table("0.8.4").flags["--optimization-level"].since == "0.12.0"


def test_life_of_an_option() -> None:
    assert lifetime("--swap_space") == ("0.6.0", "0.17.1")
    assert last_release_with("--swap-space", "0.18.0") == "0.17.1"
    assert next_release_with("--disable-log-requests", "0.18.0") == "0.33.0"
    assert lifetime("--never-was") is None
    assert did_you_mean("--max-num-sequences", flag_table("0.18.0")) == "--max-num-seqs"


def test_every_replacement_is_of_an_option_that_is_gone() -> None:
    newest = flag_table(releases()[-1])
    for name in documents("compat_matrix")["flag_replacements.yaml"]["replacements"]:
        assert lifetime(name) is not None, name
        assert name not in newest.flags, name
        assert replacement(name) is not None


def importer() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "import_flags", ROOT / "tools" / "import_flags.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_import_keeps_what_a_reader_needs_in_order() -> None:
    entry: dict[str, Any] = {"from": "1.0", "to": "1.1", "type": "str", "default": None}
    table = {
        "meta": {"versions": ["1.0", "1.1"]},
        "flags": {
            "--b": [entry | {"annotation": "Literal['x'] | None", "hidden": False}],
            "--a": [entry | {"annotation": "str"}],
        },
    }
    content = importer().flags_table(table)
    assert list(content["flags"]) == ["--a", "--b"]
    assert content["flags"]["--a"] == [entry]
    assert content["flags"]["--b"] == [entry | {"optional": True}]


def test_recorded_facts_are_reproduced(shared: Path) -> None:
    facts = json.loads((shared / "facts" / "vllm_flags.json").read_bytes())
    assert importer().flags_table(facts) == json_file("flags.json")
