"""Which comments and annotations of a file speak to sched-reader, and what each is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_file, parse_text

DEPLOYMENT = """\
# sched-reader: ignore-file[DEP] one GPU a node
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm
  annotations: {sched-reader/ignore: "MEM101: known"}
spec:
  template:
    metadata:
      annotations:
        sched-reader/ignore: "CHK103: later"
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.18.0
          args:
            - --model=Qwen/Qwen3-8B  # sched-reader: ignore[FLG] a: 'b' # c
            # why it is so
            # sched-reader: ignore[BAT101] one at a time
            - --max-num-seqs=1
            - --served-model-name
            - "name # sched-reader: ignore[X] in quotes"
          env:
            - {name: A, value: 'b # sched-reader: ignore[X] in quotes'}
            - name: B
              value: "over two
                # sched-reader: ignore[X] lines"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: notes}
data:
  notes: |
    # sched-reader: ignore[X] nothing runs with this text
"""
SCRIPT = """\
#!/bin/sh
# sched-reader: ignore[MEM101] above the command
vllm serve Qwen/Qwen3-8B \\
  --max-num-seqs 1 \\
  --enforce-eager
ARGS=(
  --max-num-seqs 2  # sched-reader: ignore[BAT101] in an array
)
vllm serve Qwen/Qwen3-8B "${ARGS[@]}"
echo "
# sched-reader: ignore[X] quoted"
"""
IN_A_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.18.0
      command: [sh, -c]
      args:
        - |
          # sched-reader: ignore[FLG] in the script
          vllm serve Qwen/Qwen3-8B --zzz  # sched-reader: ignore[FLG001] behind it
          echo "# sched-reader: ignore[X] quoted"
"""
DOCKERFILE = """\
FROM vllm/vllm-openai:v0.18.0
# sched-reader: ignore[FLG001] above
CMD ["--model", "Qwen/Qwen3-8B", \\
  # sched-reader: ignore[FLG002] within
  "--zzz", "# sched-reader: ignore[X] no"]
"""
UNIT = """\
[Service]
; sched-reader: ignore[FLG001] here
ExecStart=/usr/bin/vllm serve Qwen/Qwen3-8B \\
  --zzz 3
"""
HCL = """\
// sched-reader: ignore-file[DEP] for all
locals { x = "# sched-reader: ignore[X] text" } /* sched-reader: ignore[FLG] behind */
resource "docker_container" "llm" {
  image = "vllm/vllm-openai:v0.18.0"
  # sched-reader: ignore[MEM] above
  command = ["--model", "Qwen/Qwen3-8B"]
  env = [<<-EOT
    # sched-reader: ignore[X] a here document
  EOT
  ]
}
"""
CONFIG = """\
# of the team

# sched-reader: ignore[BAT101] small on purpose

max-num-seqs: 1
model: Qwen/Qwen3-8B#sched-reader: ignore[X] no comment
"""


def remarks(text: str, path: str) -> list[tuple[str, int]]:
    """What each remark says, and the line it is about."""
    return [(remark.text, remark.line) for remark in parse_text(text, path).remarks]


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        (
            "deployment.yaml",
            DEPLOYMENT,
            [
                ("ignore-file[DEP] one GPU a node", 2),
                ("MEM101: known", 6),
                ("CHK103: later", 11),
                ("ignore[FLG] a: 'b' # c", 17),
                ("ignore[BAT101] one at a time", 20),
            ],
        ),
        (
            "serve.sh",
            SCRIPT,
            [("ignore[MEM101] above the command", 3), ("ignore[BAT101] in an array", 7)],
        ),
        (
            "pod.yaml",
            IN_A_POD,
            [("ignore[FLG] in the script", 12), ("ignore[FLG001] behind it", 12)],
        ),
        ("Dockerfile", DOCKERFILE, [("ignore[FLG001] above", 3), ("ignore[FLG002] within", 5)]),
        ("vllm.service", UNIT, [("ignore[FLG001] here", 3)]),
        (
            "main.tf",
            HCL,
            [("ignore-file[DEP] for all", 2), ("ignore[FLG] behind", 2), ("ignore[MEM] above", 6)],
        ),
        (
            "serve.yaml",
            CONFIG.replace("#sched-reader: ", "#"),
            [("ignore[BAT101] small on purpose", 5)],
        ),
    ],
)
def test_comments_of_each_syntax(path: str, text: str, found: list[tuple[str, int]]) -> None:
    assert remarks(text, path) == found


def test_an_annotation_is_about_its_object_and_no_other() -> None:
    pod = """apiVersion: v1
kind: Pod
metadata: {{name: {name}{annotation}}}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.18.0
      args: [--model=Qwen/Qwen3-8B]
"""
    annotation = ', annotations: {sched-reader/ignore: "FLG: known"}'
    text = (
        pod.format(name="a", annotation="") + "---\n" + pod.format(name="b", annotation=annotation)
    )
    parsed = parse_text(text, "pods.yaml")
    (remark,) = parsed.remarks
    lines = [engine.origin.line or 0 for engine in parsed.engines]
    assert [remark.first <= line <= remark.last for line in lines] == [False, True]


def test_beyond_the_end_of_what_is_valid_nothing_counts() -> None:
    text = IN_A_POD + '---\nx: "# sched-reader: ignore-file[FLG] quoted\n'
    assert "ignore-file[FLG] quoted" not in [said for said, _ in remarks(text, "pod.yaml")]


def test_comments_of_the_config_file_count_as_well(tmp_path: Path) -> None:
    (tmp_path / "vllm.yaml").write_text("max-num-seqs: 1  # sched-reader: ignore[BAT] small\n")
    (tmp_path / "serve.sh").write_text("vllm serve Qwen/Qwen3-8B --config vllm.yaml\n")
    (remark,) = parse_file(str(tmp_path / "serve.sh")).remarks
    assert (remark.origin.path, remark.line) == (str(tmp_path / "vllm.yaml"), 1)


def test_a_file_full_of_remarks_is_refused() -> None:
    text = "vllm serve Qwen/Qwen3-8B\n" + "# sched-reader: ignore[FLG] again\n" * 1_001
    with pytest.raises(InputError, match="has 1,001 remarks to sched-reader"):
        parse_text(text, "serve.sh")


WORDS = st.sampled_from(
    ["a", "#", " ", "  ", "\n", "'", '"', ":", "- ", "\\", "# sched-reader: ignore-file[FLG] x"]
)


def in_style(pod: object, style: str | None, width: int) -> str:
    """A pod as YAML text with the values of its variables quoted, folded or in blocks."""
    document = yaml.compose(yaml.safe_dump(pod))
    pending: list[tuple[str | None, Any]] = [(None, document)]
    while pending:
        key, node = pending.pop()
        if isinstance(node, yaml.ScalarNode):
            node.style = style if key == "value" else node.style
        elif isinstance(node, yaml.MappingNode):
            pending += [(name.value, value) for name, value in node.value]
        else:
            pending += [(None, item) for item in node.value]
    return str(yaml.serialize(document, width=width))


@given(
    st.lists(st.lists(WORDS, max_size=8).map("".join), min_size=1, max_size=4),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.integers(20, 120),
)
def test_no_text_of_a_manifest_is_taken_for_a_comment(
    values: list[str], style: str | None, width: int
) -> None:
    variables = [{"name": f"A{number}", "value": value} for number, value in enumerate(values)]
    pod = yaml.safe_load(IN_A_POD)
    pod["spec"]["containers"][0] |= {"command": ["vllm", "serve", "m"], "env": variables}
    del pod["spec"]["containers"][0]["args"]
    text = in_style(pod, style, width)
    assert parse_text(text, "pod.yaml").remarks == ()
    end = "# sched-reader: ignore-file[FLG] a comment\n"
    assert remarks(text + end, "pod.yaml")[-1][0] == "ignore-file[FLG] a comment"
