"""The gate as a user calls it: options, settings file, exit codes, and what stderr says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

SETTINGS = """\
vllm-version = "0.18.0"
gpu = "l40s"
select = ["FLG", "POL", "GAT", "MEM"]
concurrency = 8

[severity]
FLG = "warning"

[policy]
min_kv_tokens = 1_000_000

[profile.ci]
baseline = "known.yaml"
severity.FLG002 = "error"

[profile.load]
rate = 2.0
policy = { max_ttft_p99_ms = 1 }
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "serve.yaml").write_text(
        "model: Qwen/Qwen3-8B\nmax-model-len: 8192\nmax-num-seqs: 8\nswap-space: 4\n"
    )
    (tmp_path / "sched-reader.toml").write_text(SETTINGS)
    return tmp_path


def codes(out: str) -> list[str]:
    return [line.split()[1] for line in out.splitlines()]


def test_severities_and_thresholds_of_the_file_hold(call: Run, repository: Path) -> None:
    code, out, err = call("check", repository / "serve.yaml")
    assert (code, codes(out)) == (1, ["POL001", "FLG002"])
    assert f"(min_kv_tokens of the policy, {repository}/sched-reader.toml:10)" in out
    assert err.splitlines()[-1] == "sched-reader: 1 engine in 1 file: 2 findings"


def test_the_command_line_is_put_over_the_tables(call: Run, repository: Path) -> None:
    lenient = ("--severity", "POL=note", "--policy", "max_gpu_count=1")
    code, out, _ = call("check", repository / "serve.yaml", *lenient)
    assert (code, codes(out)) == (0, ["FLG002", "POL001"])
    assert call("check", repository / "serve.yaml", *lenient, "--severity", "FLG=error")[0] == 1


def test_a_profile_stands_over_the_rest_of_the_file(call: Run, repository: Path) -> None:
    config = repository / "serve.yaml"
    (repository / "known.yaml").write_text(
        "version: 1\nfindings:\n- {path: serve.yaml, code: POL001, argument: '', reason: L40S}\n"
    )
    code, out, err = call("check", config, "--profile", "ci")
    assert (code, codes(out)) == (1, ["FLG002"])
    assert err.splitlines()[-1].endswith(": 1 finding, 1 known from the baseline")
    code, out, _ = call("check", config, "--profile", "load")
    assert codes(out) == ["POL001", "POL101", "FLG002"]
    assert call("check", config, "--profile", "prod")[0] == 2
    shown = json.loads(call("settings", "show", config, "--profile", "load", "--format", "json")[1])
    assert shown["profiles"] == ["ci", "load"]
    assert shown["settings"]["concurrency"]["value"] is None  # the profile's rate takes its place
    place = f"{repository}/sched-reader.toml"
    assert shown["settings"]["policy"]["value"] == {
        "min_kv_tokens": {"value": 1_000_000, "origin": f"{place}:10"},
        "max_ttft_p99_ms": {"value": 1.0, "origin": f"{place}:18"},
    }


def test_a_baseline_is_written_and_held_against(call: Run, repository: Path) -> None:
    config, known = repository / "serve.yaml", repository / "known.json"
    code, _, err = call("check", config, "--write-baseline", known)
    assert (code, f"sched-reader: {known}: 2 findings written" in err) == (0, True)
    assert call("check", config, "--baseline", known)[:2] == (0, "")
    assert call("diagnose", config, "--baseline", known)[0] == 0
    config.write_text(config.read_text().replace("swap-space: 4\n", "") + "zzz: 1\n")
    code, out, err = call("check", config, "--baseline", known, "--fail-on", "warning")
    assert (code, codes(out)) == (1, ["FLG001"])
    assert "can shrink it: FLG002 --swap-space of serve.yaml" in err


def test_an_entry_that_is_over_counts_and_is_told(call: Run, repository: Path) -> None:
    known = repository / "known.yaml"
    known.write_text(
        "version: 1\nfindings:\n- {path: serve.yaml, code: POL001, expires: 2020-01-31}\n"
    )
    code, out, err = call("check", repository / "serve.yaml", "--baseline", known)
    assert (code, codes(out)) == (1, ["POL001", "FLG002"])
    assert f"{known}:3: POL001 of serve.yaml counts again: it was known until 2020-01-31" in err


def test_json_lists_what_is_accepted_with_its_place(call: Run, repository: Path) -> None:
    config = repository / "serve.yaml"
    config.write_text(
        config.read_text().replace("4\n", "4  # sched-reader: ignore[FLG002] image is next\n")
    )
    for command in ("check", "diagnose"):
        _, out, _ = call(command, config, "--format", "json")
        (engine,) = json.loads(out)["engines"]
        assert [finding["code"] for finding in engine["findings"]] == ["POL001"]
        (accepted,) = engine["suppressed"]
        assert accepted["code"] == "FLG002"
        assert accepted["suppression"] == {
            "kind": "comment",
            "reason": "image is next",
            "origin": f"{config}:4:16",
            "expires": None,
        }
    printed = "".join(call("diagnose", config)[1].split())
    assert f"Accepted:FLG002(imageisnext,{config}:4:16)" in printed


def test_what_is_missing_and_assumed_is_said(call: Run, repository: Path) -> None:
    (repository / "sched-reader.toml").unlink()
    arguments = (
        "check",
        repository / "serve.yaml",
        "--select",
        "POL",
        "--policy",
        "allowed_vllm=<9",
    )
    code, _, err = call(*arguments, "--require-facts")
    missing, assumed, _ = err.splitlines()
    assert code == 4
    stated = "the vLLM release is not stated (--vllm-version)"
    assert missing == f"sched-reader: 1 rule not evaluated: {stated} (POL006)"
    assert assumed.startswith("sched-reader: assumed: vLLM ")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[policy]\n\nkv = 1\n", ":3: policy: no threshold kv"),
        (
            "[policy]\nmin_kv_tokens = '5'\n",
            ':2: policy: min_kv_tokens: takes a whole number, not "5"',
        ),
        ("[severity]\nMEM = 'loud'\n", ':2: severity: MEM: takes error, warning, note, not "loud"'),
        ("[severity]\nMEN = 'note'\n", ":2: severity: MEN: no rule's code starts so"),
        ("severity = 'note'\n", ':1: severity: takes a table, not "note"'),
        ("profile = 'ci'\n", ":1: profile: takes tables, as in [profile.ci]"),
        ("[profile.ci]\ngpu = 'l4'\n\n[profile.x.policy]\nkv=1\n", ":5: policy: no threshold kv"),
        ("[profile.ci]\nprofile = 'x'\n", ":2: profile: no such setting"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_line(
    call: Run, repository: Path, text: str, says: str
) -> None:
    settings = repository / "sched-reader.toml"
    settings.write_text(text)
    code, _, err = call("check", repository / "serve.yaml")
    assert code == 2
    assert err.startswith(f"sched-reader: {settings}{says}")


def test_tables_of_a_project_file(call: Run, repository: Path) -> None:
    (repository / "sched-reader.toml").unlink()
    (repository / "pyproject.toml").write_text(
        '[tool.sched-reader.policy]\nmin_kv_tokens = 1\n\n[tool.sched-reader.profile.ci]\ngpu = "l4"\n'
        "[tool.other]\nmin_kv_tokens = 3\n"
    )
    shown = json.loads(
        call("settings", "show", repository, "--profile", "ci", "--format", "json")[1]
    )
    place = f"{repository}/pyproject.toml"
    assert shown["settings"]["policy"]["value"] == {
        "min_kv_tokens": {"value": 1, "origin": f"{place}:2"}
    }
    assert shown["settings"]["gpu"] == {"value": "l4", "origin": f"{place}:5"}
    _, _, err = call("check", repository / "serve.yaml", "--profile", "ci")
    assert "no GPU is stated" not in err
