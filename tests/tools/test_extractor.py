"""Reading a release from its source, on a small package of our own that uses each construct."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from extract_flags import main
from extractor.architectures import read_architectures
from extractor.config_fields import read_config_fields
from extractor.options import read_options
from extractor.ranges import write
from extractor.source import ExtractError, SourceTree

SMALL = Path(__file__).parent / "small_vllm"


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    return read_options(SourceTree(SMALL))


EXPECTED: dict[str, dict[str, Any]] = {
    "--budget": {
        "type": "human_int",
        "default": None,
        "aliases": ["-b"],
        "group": "Engine",
        "field": "EngineConfig.budget",
        "optional": True,
    },
    "--level": {"type": "str", "default": 2, "group": "Engine", "field": "EngineConfig.level"},
    "--mode": {
        "type": "str",
        "choices": ["b", None],
        "default": "b",
        "group": "Engine",
        "field": "EngineConfig.mode",
        "optional": True,
    },
    "--cache": {
        "type": "json:CacheConfig",
        "default": {"dynamic": "CacheConfig()"},
        "group": "Engine",
        "field": "EngineConfig.cache",
    },
    "--extra": {"type": "json", "default": {}, "group": "Engine", "field": "EngineConfig.extra"},
    "--mixed": {
        "type": "json_or_str",
        "default": {"k": [1]},
        "group": "Engine",
        "field": "EngineConfig.mixed",
    },
    "--path": {
        "type": "str",
        "default": "/models",
        "group": "Engine",
        "field": "EngineConfig.path",
    },
    "--start": {
        "type": "str",
        "default": {"dynamic": "'fast' if platform.is_cuda() else 'safe'"},
        "group": "Engine",
        "field": "EngineConfig.start",
    },
    "--enable-verbose": {
        "type": "bool",
        "default": {"dynamic": "envs.VERBOSE"},
        "aliases": ["--disable-verbose", "--no-enable-verbose", "-v"],
        "group": "Engine",
        "field": "EngineConfig.verbose",
    },
    "--block-size": {"type": "int", "default": 8, "field": "CacheConfig.block_size"},
    "--width": {
        "type": "str",
        "suggested": ["auto", "fp8"],
        "default": "auto",
        "field": "CacheConfig.width",
    },
    "--hash": {
        "type": "str",
        "choices": ["sha256", "xxhash"],
        "default": "sha256",
        "field": "CacheConfig.hash",
    },
    "--reserve": {
        "type": "float",
        "default": None,
        "deprecated": {"by": "text", "removal": "9.3.0"},
        "field": "CacheConfig.reserve",
        "optional": True,
    },
    "--share": {
        "type": "bool",
        "default": False,
        "aliases": ["--no-share"],
        "field": "CacheConfig.share",
    },
    "--layers": {"type": "str", "default": [], "nargs": "+", "field": "CacheConfig.layers"},
    "--device": {
        "type": "str",
        "choices": ["auto", {"dynamic": "platform.name"}],
        "default": "auto",
    },
    "--old": {
        "type": "int",
        "default": None,
        "action": "custom",
        "deprecated": {"by": "text", "removal": "9.2"},
        "field": "EngineArgs.old",
        "optional": True,
    },
    "--log-path": {
        "type": "str",
        "default": {"dynamic": "suppressed-unless-given"},
        "field": "EngineArgs.log_path",
        "optional": True,
    },
    "--ids": {"type": "custom", "default": None},
    "--quiet": {"type": "flag", "default": False},
    "--origins": {
        "type": "json",
        "default": ["*"],
        "group": "Frontend",
        "field": "FrontendArgs.origins",
    },
    "--port": {"type": "int", "default": 8000, "group": "Frontend", "field": "FrontendArgs.port"},
    "--api-key": {
        "type": "str",
        "default": None,
        "action": "append",
        "group": "Frontend",
        "field": "FrontendArgs.api_key",
        "optional": True,
    },
}


def test_every_option_is_found(options: dict[str, dict[str, Any]]) -> None:
    assert list(options) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_attributes_of_an_option(options: dict[str, dict[str, Any]], name: str) -> None:
    assert options[name] == EXPECTED[name]


def test_a_wheel_reads_as_its_unpacked_folder(
    options: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    wheel = tmp_path / "vllm-9.1.0.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in SMALL.rglob("*.py"):
            archive.write(file, file.relative_to(SMALL).as_posix())
    tree = SourceTree(wheel)
    assert tree.release() == "9.1.0"
    assert read_options(tree) == options


def test_what_is_no_vllm_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExtractError, match="no folder vllm"):
        SourceTree(tmp_path)


def test_keys_of_json_options(options: dict[str, dict[str, Any]]) -> None:
    assert read_config_fields(SourceTree(SMALL), options) == {
        "CacheConfig": {
            "block_size": {"annotation": "int", "default": 8},
            "width": {"annotation": "Literal['auto', 'fp8'] | str", "default": "auto"},
            "hash": {"annotation": "Literal['sha256', 'xxhash']", "default": "sha256"},
            "reserve": {"annotation": "float | None", "default": None},
            "share": {"annotation": "bool", "default": False},
            "layers": {"annotation": "list[str]", "default": []},
        }
    }


def test_an_architecture_has_the_last_table_that_names_it() -> None:
    assert read_architectures(SourceTree(SMALL)) == {
        "SmallForCausalLM": {"kind": "text_generation"},
        "SmallModel": {"kind": "embedding"},
        "TwofoldForCausalLM": {"kind": "embedding"},
    }


PORT = {"type": "int", "default": 8080, "group": "Frontend", "field": "FrontendArgs.port"}
QUIET = {"type": "flag", "default": False}
ONLY = {"from": "9.0.0", "to": "9.0.0"}


def test_a_new_release_is_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = [ONLY | {"type": "flag"}]
    flags = {"--gone": gone, "--port": [ONLY | PORT], "--quiet": [ONLY | QUIET]}
    width = {"annotation": "str", "default": "auto"}
    write({"versions": ["9.0.0"], "flags": flags}, tmp_path / "flags.json")
    fields = {"CacheConfig": {"width": [ONLY | width]}}
    write({"classes": fields}, tmp_path / "config_fields.json")
    known = {"kind": "text_generation", "versions": [["9.0.0", "9.0.0"]]}
    architectures = {"OldForCausalLM": known, "SmallForCausalLM": known}
    write({"meta": {}, "architectures": architectures}, tmp_path / "architectures.json")
    assert main([str(SMALL), "--matrix", str(tmp_path), "--write"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "vLLM 9.1.0: 23 options, 23 changes against 9.0.0"
    assert "- --gone" in printed
    assert "~ --port default: 8080 -> 8000" in printed
    assert "vLLM 9.1.0: 6 keys of JSON options, 6 changes against 9.0.0" in printed
    after = json.loads((tmp_path / "flags.json").read_bytes())
    assert after["versions"] == ["9.0.0", "9.1.0"]
    assert after["flags"]["--gone"] == gone
    assert "vLLM 9.1.0: 3 architectures, 3 changes against 9.0.0" in printed
    assert json.loads((tmp_path / "architectures.json").read_bytes())["architectures"] == {
        "OldForCausalLM": known,
        "SmallForCausalLM": known | {"versions": [["9.0.0", "9.1.0"]]},
        "SmallModel": {"kind": "embedding", "versions": [["9.1.0", "9.1.0"]]},
        "TwofoldForCausalLM": {"kind": "embedding", "versions": [["9.1.0", "9.1.0"]]},
    }
    assert after["flags"]["--quiet"] == [{"from": "9.0.0", "to": "9.1.0"} | QUIET]
    assert [(entry["from"], entry["to"]) for entry in after["flags"]["--port"]] == [
        ("9.0.0", "9.0.0"),
        ("9.1.0", "9.1.0"),
    ]
    assert main([str(SMALL), "--matrix", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "vLLM 9.1.0: 23 options, 0 changes against 9.1.0",
        "vLLM 9.1.0: 6 keys of JSON options, 0 changes against 9.1.0",
        "vLLM 9.1.0: 3 architectures, 0 changes against 9.1.0",
    ]
