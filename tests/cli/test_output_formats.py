"""`--format` and `--output` on `diagnose` and `check`: what goes where, and what is computed for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest

from scheduler_reader import pipeline

Run = Callable[..., tuple[int, str, str]]

FILE = "model: Qwen/Qwen3-8B\nmax-model-len: 8192\nswap-space: 4\n"
OPTIONS = ("--vllm-version", "0.18.0", "--gpu", "h100")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one configuration in a folder, where the command is called."""
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / "deploy").mkdir()
    (root / "deploy" / "serve.yaml").write_text(FILE)
    monkeypatch.chdir(root / "deploy")
    return root


@pytest.mark.parametrize("command", ["diagnose", "check"])
def test_several_formats_at_once(call: Run, repository: Path, command: str) -> None:
    outputs = [f"--output={name}=out.{name}" for name in ("sarif", "junit", "markdown", "html")]
    code, out, _ = call(command, "serve.yaml", *OPTIONS, "--format", "gitlab", *outputs)
    assert code == 1
    assert json.loads(out)[0]["location"] == {"path": "deploy/serve.yaml", "lines": {"begin": 3}}
    written = {file.name: file.read_text() for file in (repository / "deploy").glob("out.*")}
    assert sorted(written) == ["out.html", "out.junit", "out.markdown", "out.sarif"]
    for text in written.values():
        assert "FLG002" in text
        assert str(repository) not in text
    (result,) = json.loads(written["out.sarif"])["runs"][0]["results"]
    assert result["fixes"][0]["artifactChanges"][0] == {
        "artifactLocation": {"uri": "deploy/serve.yaml", "uriBaseId": "SRCROOT"},
        "replacements": [
            {
                "deletedRegion": {"startLine": 3, "startColumn": 1, "endLine": 4, "endColumn": 1},
                "insertedContent": {"text": ""},
            }
        ],
    }


def test_an_absolute_path_is_said_from_the_root(call: Run, repository: Path) -> None:
    file = repository / "deploy" / "serve.yaml"
    for name in ("sarif", "junit", "gitlab", "github", "markdown", "html"):
        text = call("diagnose", file, *OPTIONS, "--format", name)[1]
        assert str(repository) not in text
        assert "deploy/serve.yaml" in text


@pytest.mark.parametrize("name", ["text", "sarif", "junit", "gitlab", "github"])
def test_formats_of_findings_read_no_engine_whole(
    call: Run, repository: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an engine was read whole")

    monkeypatch.setattr(pipeline, "assess", refuse)
    assert call("check", "serve.yaml", *OPTIONS, "--format", name)[0] == 1


def test_the_summary_of_a_job_is_appended(
    call: Run, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    call("check", "serve.yaml", *OPTIONS, "--format", "text")
    assert summary.read_text() == "before\n"
    _, out, _ = call("check", "serve.yaml", *OPTIONS, "--format", "github")
    assert out.startswith("::error file=deploy/serve.yaml,line=3,col=1,title=FLG002 removed-flag::")
    assert summary.read_text().startswith("before\n## sched-reader\n\n1 finding in 1 file.\n")


def test_a_summary_that_cannot_be_written_is_told(
    call: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(repository))
    code, out, err = call("check", "serve.yaml", *OPTIONS, "--format", "github")
    assert (code, out[:7]) == (1, "::error")
    assert f"GITHUB_STEP_SUMMARY {repository}: cannot be written: Is a directory" in err


def test_the_timeline_is_that_of_a_stated_workload(call: Run, repository: Path) -> None:
    plain = call("diagnose", "serve.yaml", *OPTIONS, "--format", "html")[1]
    stated = call(
        *("diagnose", "serve.yaml", *OPTIONS, "--format", "html"),
        *("--isl", "512", "--osl", "32", "--concurrency", "4"),
    )[1]
    assert "Timeline of the simulated run" not in plain
    assert "Timeline of the simulated run" in stated
    assert "<title>request 0: prefill" in stated


@pytest.mark.parametrize("output", ["pdf=x", "json", "json=", "=x"])
def test_an_output_must_say_format_and_file(call: Run, repository: Path, output: str) -> None:
    code, _, err = call("check", "serve.yaml", "--output", output)
    assert code == 2
    assert "write FORMAT=FILE with one of github, gitlab, html, json" in err


def test_two_runs_give_the_same(call: Run, repository: Path) -> None:
    for name in ("sarif", "junit", "gitlab", "github", "markdown", "html", "json"):
        once, again = (
            call("diagnose", "serve.yaml", *OPTIONS, "--format", name, "--isl", "256")
            for _ in range(2)
        )
        assert once == again


def test_the_pages_are_where_the_package_says(
    call: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`Documentation` of the installed package's links; without it there is no link at all."""
    installed = Message()
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: installed)
    sarif = call("check", "serve.yaml", *OPTIONS, "--format", "sarif")[1]
    assert "helpUri" not in sarif
    installed["Project-URL"] = "Source, https://source.example"
    installed["Project-URL"] = "Documentation, https://docs.example/"
    (run,) = json.loads(call("check", "serve.yaml", *OPTIONS, "--format", "sarif")[1])["runs"]
    driver = run["tool"]["driver"]
    assert driver["informationUri"] == "https://docs.example/"
    assert driver["rules"][0]["helpUri"] == "https://docs.example/rules/FLG002.html"
