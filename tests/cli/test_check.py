"""`check`: what it finds in a repository, what it passes over, what it never follows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

POD = """apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.18.0
      args: ["--model=Qwen/Qwen3-8B", "--max-model-len=8192", "--swap-space=4"]
"""
SWAP = "vLLM 0.18.0 no longer has --swap-space"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    files = {
        "deploy/pod.yaml": POD,
        "a/serve.sh": "vllm serve Qwen/Qwen3-8B --no-such-flag\n",
        "app/service.yaml": "kind: Service\nspec: {ports: [{port: 80}]}\n",
        "app/notes.yaml": "text: we thought about vllm\n",
        "app/start.sh": '#!/bin/sh\nvllm serve "$(cat model)" | eval \'x\n',
        "app/broken.yaml": "command: vllm serve x\n  bad: [\n",
        "src/server.py": "import vllm  # vllm serve m --swap-space 4\n",
        "README.md": "vllm serve m --swap-space 4\n",
        ".git/hooks/x.yaml": POD,
        "web/node_modules/p/pod.yaml": POD,
        "env/pyvenv.cfg": "home = /usr\n",
        "env/share/pod.yaml": POD,
    }
    for name, content in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    (root / "big.yaml").write_bytes(b"vllm" * 1_100_000)
    (root / "data.yaml").write_bytes(b"vllm\0serve")
    return root


def test_a_repository_is_walked_in_order(call: Run, repository: Path) -> None:
    code, out, err = call("check", repository, "--select", "FLG")
    assert code == 1
    first, second = out.splitlines()
    assert first.startswith(f"{repository}/a/serve.sh:1:26: FLG001 no vLLM release knows")
    assert second.startswith(f"{repository}/deploy/pod.yaml:8:63: FLG002 {SWAP}")
    assumed, *told, summary = err.splitlines()
    assert [f"{repository}/app/broken.yaml:2:" in line for line in told] == [True]
    assert assumed.startswith("sched-reader: assumed: vLLM ")
    counted = "3 engines in 3 files, 6 files skipped, 1 not understood: 2 findings"
    assert summary == f"sched-reader: {counted}"


def test_a_named_file_must_be_a_configuration(call: Run, repository: Path) -> None:
    code, out, err = call("check", repository / "app" / "service.yaml", repository / "deploy")
    assert code == 3
    assert SWAP in out
    assert "service.yaml: no vLLM configuration" in err


def test_exit_code_follows_fail_on(call: Run, repository: Path) -> None:
    pod = repository / "deploy"
    assert call("check", pod)[0] == 1
    assert call("check", pod, "--fail-on", "never")[0] == 0
    assert call("check", pod, "--ignore", "FLG,CMB")[0] == 0
    assert call("check", pod, "--select", "XYZ")[0] == 2
    assert call("check", repository / "app" / "missing")[0] == 3
    assert call("check")[0] == 2


def test_json_is_that_of_diagnose(call: Run, repository: Path) -> None:
    pod = repository / "deploy" / "pod.yaml"
    options = ("--format", "json", "--gpu", "l40s", "--fail-on", "never")
    (checked,) = json.loads(call("check", pod.parent, *options)[1])["engines"]
    (diagnosed,) = json.loads(call("diagnose", pod, *options)[1])["engines"]
    rules = ("findings", "not_evaluated")  # predictions are no findings without a workload
    assert {f["code"] for f in checked["findings"]} <= {f["code"] for f in diagnosed["findings"]}
    for engine in (checked, diagnosed):
        for name in rules:
            del engine[name]
    assert checked == diagnosed


def test_findings_are_those_of_diagnose(call: Run, repository: Path) -> None:
    pod = repository / "deploy" / "pod.yaml"
    code, out, _ = call("check", pod)
    assert (code, out) == call("diagnose", pod, "--format", "text")[:2]


def test_links_are_not_followed(call: Run, repository: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "pod.yaml").write_text(POD)
    (repository / "linked").symlink_to(outside)
    (repository / "linked.yaml").symlink_to(outside / "pod.yaml")
    (repository / "loop").symlink_to(repository)
    _, out, err = call("check", repository, "--select", "FLG002")
    assert out.count("FLG002") == 1
    assert "3 engines in 3 files" in err


@pytest.mark.parametrize("name", ["../secret.yaml", "linked.yaml", "x" * 300, "a\0b"])
def test_a_config_file_outside_the_tree_is_not_read(
    call: Run, repository: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "secret.yaml").write_text("max-num-seqs: 77\nmodel: m\n")
    (repository / "linked.yaml").symlink_to(tmp_path / "secret.yaml")
    script = repository / "run.sh"
    script.write_text(f"vllm serve m --config '{name}'\n")
    for command in (("diagnose", script), ("check", repository)):
        _, out, _ = call(*command, "--format", "json", "--vllm-version", "0.18.0")
        assert "77" not in [
            str(engine["settings"].get("max_num_seqs", {}).get("value"))
            for engine in json.loads(out)["engines"]
        ]


def test_a_config_file_elsewhere_in_the_tree_is_read(call: Run, tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "configs" / "c.yaml").write_text("max-num-seqs: 77\n")
    (tmp_path / "run" / "run.sh").write_text("vllm serve m --config ../configs/c.yaml\n")
    _, out, _ = call("check", tmp_path / "run" / "..", "--format", "json")
    settings = [engine["settings"] for engine in json.loads(out)["engines"]]
    assert [s["max_num_seqs"]["value"] for s in settings if "max_num_seqs" in s] == [77, 77]


def test_only_vllm_passes_over_named_files_as_well(call: Run, repository: Path) -> None:
    named = [repository / name for name in ("README.md", "app/service.yaml", "deploy/pod.yaml")]
    code, out, err = call("check", *named, "--only-vllm", "--select", "FLG")
    assert (code, len(out.splitlines())) == (1, 1)
    assert err.splitlines()[-1].startswith("sched-reader: 1 engine in 1 file, 2 files skipped")
    assert call("check", *named[:2], "--only-vllm")[0] == 0
    assert call("check", repository / "gone.yaml", "--only-vllm")[0] == 3
