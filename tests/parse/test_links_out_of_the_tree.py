"""Nothing outside of the tree that was given is read: its text is in no output.

Everything a checkout can hold that names another file is pointed at one outside, by a link, by
`../` and by an absolute path.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]

MARKER = "outside-9f3a7c"
POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {MARKER}}}
spec:
  containers:
    - {{name: vllm, image: "vllm/vllm-openai:v0.18.0", args: [--model={MARKER}]}}
"""
SERVED = "vllm serve Qwen/Qwen3-8B --max-num-seqs 8\n"
COMPOSE = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.18.0
    command: ["--model", "${NAME:-Qwen/Qwen3-8B}", "--served-model-name", "$NAME"]
"""

Case = Callable[[Path, Path], None]  # the tree and the folder outside


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def file_link(tree: Path, outside: Path) -> None:
    (tree / "pod.yaml").symlink_to(write(outside / "pod.yaml", POD))


def folder_link(tree: Path, outside: Path) -> None:
    write(outside / "pod.yaml", POD)
    (tree / "deploy").symlink_to(outside, target_is_directory=True)


def chain_of_links(tree: Path, outside: Path) -> None:
    file_link(tree, outside)
    (tree / "again.yaml").symlink_to(tree / "pod.yaml")


def loops(tree: Path, outside: Path) -> None:
    (tree / "loop").symlink_to(tree, target_is_directory=True)
    (tree / "self.yaml").symlink_to(tree / "self.yaml")
    (tree / "a.yaml").symlink_to(tree / "b.yaml")
    (tree / "b.yaml").symlink_to(tree / "a.yaml")
    write(tree / "c.sh", "vllm serve Qwen/Qwen3-8B --config a.yaml\n")


def configured(name: str) -> Case:
    """`--config` names a link to a file outside, or the file itself, in the forms that can name it."""

    def build(tree: Path, outside: Path) -> None:
        write(outside / "c.yaml", f"model: {MARKER}\nserved-model-name: {MARKER}\nx-{MARKER}: 1\n")
        (tree / "linked.yaml").symlink_to(outside / "c.yaml")
        (tree / "folder").symlink_to(outside, target_is_directory=True)
        path = name.format(outside=outside)
        write(tree / "serve.sh", f"vllm serve --config {path}\nvllm serve m --config={path}\n")
        write(
            tree / "compose.yaml", COMPOSE.replace("command: [", f'command: ["--config", "{path}",')
        )
        write(
            tree / "Dockerfile", f'FROM vllm/vllm-openai:v0.18.0\nCMD ["m", "--config", "{path}"]\n'
        )

    return build


def environment_files(tree: Path, outside: Path) -> None:
    write(outside / "secret.env", f"NAME={MARKER}\n")
    (tree / ".env").symlink_to(outside / "secret.env")
    (tree / "linked.env").symlink_to(outside / "secret.env")
    files = f"    env_file: [linked.env, ../outside/secret.env, {outside}/secret.env]\n"
    write(tree / "compose.yaml", COMPOSE + files)
    write(tree / "run.sh", f". ./linked.env\nsource {outside}/secret.env\nvllm serve $NAME\n")
    write(
        tree / "vllm.service",
        f"[Service]\nEnvironmentFile={outside}/secret.env\nExecStart={SERVED}",
    )


def copied_script(tree: Path, outside: Path) -> None:
    write(outside / "start.sh", f"vllm serve {MARKER}\n")
    (tree / "start.sh").symlink_to(outside / "start.sh")
    write(
        tree / "Dockerfile",
        "FROM vllm/vllm-openai:v0.18.0\nCOPY start.sh ../outside/start.sh /\nCMD /start.sh\n",
    )


def kustomize_and_helm(tree: Path, outside: Path) -> None:
    write(outside / "pod.yaml", POD)
    write(outside / "values.yaml", f"image: vllm/vllm-openai\nmodel: {MARKER}\nvllm: [{MARKER}]\n")
    write(
        tree / "kustomization.yaml",
        f"kind: Kustomization\nresources: [base, ../outside/pod.yaml, {outside}/pod.yaml]\n# vllm\n",
    )
    (tree / "base").symlink_to(outside, target_is_directory=True)
    (tree / "values.yaml").symlink_to(outside / "values.yaml")
    template = POD.replace(MARKER, "{{ .Values.model }}")
    write(
        tree / "templates" / "pod.yaml", template + '# {{ .Files.Get "../../outside/pod.yaml" }}\n'
    )
    write(tree / "Chart.yaml", "apiVersion: v2\nname: vllm\n")


def extended_compose(tree: Path, outside: Path) -> None:
    write(outside / "base.yaml", COMPOSE.replace("$NAME", MARKER))
    (tree / "base.yaml").symlink_to(outside / "base.yaml")
    extends = "    extends: {file: base.yaml, service: vllm}\ninclude: [base.yaml]\n"
    write(tree / "compose.yaml", COMPOSE + extends)


def settings_link(tree: Path, outside: Path) -> None:
    stated = write(outside / "s.toml", f'[tool.sched-reader]\n"{MARKER}" = "{MARKER}"\n')
    (tree / "pyproject.toml").symlink_to(stated)
    (tree / "sched-reader.toml").symlink_to(stated)


def stated(setting: str, text: str, name: str = "x.yaml") -> Case:
    """The tree's own settings name a file of the tree that is a link to one outside."""

    def build(tree: Path, outside: Path) -> None:
        is_folder = "[" in setting
        target = write(outside / name, text)
        (tree / "x").symlink_to(outside if is_folder else target, target_is_directory=is_folder)
        write(tree / "sched-reader.toml", setting + "\n")

    return build


def rule_link(tree: Path, outside: Path) -> None:
    (tree / "own").mkdir()
    (tree / "own" / "x.yaml").symlink_to(write(outside / "x.yaml", f"{MARKER}: {MARKER}\n"))
    write(tree / "sched-reader.toml", 'rules = ["own"]\n')


ENTRY = f"version: 1\nfindings:\n  - {{path: a, code: {MARKER}, {MARKER}: 1}}\n"
CASES: dict[str, Case] = {
    "a link to a file": file_link,
    "a link to a folder": folder_link,
    "a chain of links": chain_of_links,
    "loops of links": loops,
    "--config, a link": configured("linked.yaml"),
    "--config, through a linked folder": configured("folder/c.yaml"),
    "--config, above": configured("../outside/c.yaml"),
    "--config, above through a linked folder": configured("folder/../outside/c.yaml"),
    "--config, absolute": configured("{outside}/c.yaml"),
    "environment files": environment_files,
    "a script that is copied": copied_script,
    "kustomize and helm": kustomize_and_helm,
    "compose that extends": extended_compose,
    "settings, a link": settings_link,
    "a stated baseline, a link": stated('baseline = "x"', ENTRY),
    "a stated workload, a link": stated('workload = "x"', f"{MARKER}: {MARKER}\n"),
    "a stated model, a link": stated('model-config = "x"', f'{{"model_type": "{MARKER}"}}'),
    "stated rules, a link": stated('rules = ["x"]', f"{MARKER}: {MARKER}\n"),
    "a stated rule, a link": rule_link,
}


@pytest.mark.skipif(os.name != "posix", reason="links need a right there")
@pytest.mark.parametrize("name", CASES)
def test_nothing_outside_is_said(
    name: str, call: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / ".git").mkdir(parents=True)
    outside.mkdir()
    write(tree / "serve-own.sh", SERVED)
    CASES[name](tree, outside)
    monkeypatch.chdir(tree)
    own = [
        str(path) for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink()
    ]
    for command in (
        ("check", tree, "--format", "json"),
        ("check", ".", "--format", "sarif"),
        ("check", tree),
        *(("parse", path, "--format", "json") for path in own),
        *(("diagnose", path, "--format", "json") for path in own),
    ):
        _, out, err = call(*command)
        assert MARKER not in out + err, command
        assert "Traceback" not in err


@pytest.mark.skipif(os.name != "posix", reason="links need a right there")
@pytest.mark.parametrize("setting", ["baseline", "workload", "model-config", "rules"])
def test_what_settings_name_is_no_link_out(setting: str, call: Run, tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    (tree / ".git").mkdir(parents=True)
    outside.mkdir()
    write(tree / "serve.sh", SERVED)
    written = '["x"]' if setting == "rules" else '"x"'
    stated(f"{setting} = {written}", "a: [\n")(tree, outside)
    code, out, err = call("check", tree)
    assert (code, out) == (2, "")
    says = f"tree/sched-reader.toml:1: {setting}: x is, or has, a link that leads out of {tree}"
    assert says in err.replace("\n", " ")


def test_settings_may_name_a_file_outside_by_its_path(call: Run, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    write(tree / "serve.sh", SERVED)
    write(tmp_path / "known.yaml", "version: 1\nfindings:\n  - {path: tree/serve.sh, code: ABC}\n")
    write(tree / "sched-reader.toml", 'baseline = "../known.yaml"\n')
    _, _, err = call("check", tree)
    assert "known.yaml: fixed, so --write-baseline" in err
