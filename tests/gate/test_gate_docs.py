"""The examples of docs/gate.md are what the program reads, and its tables name all there is."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from scheduler_reader.gate.baseline import Baseline, Entry
from scheduler_reader.gate.baseline_file import baseline_text, read_baseline
from scheduler_reader.gate.fingerprint import Identity
from scheduler_reader.gate.remarks import Acceptance, read_remark
from scheduler_reader.parse import parse_text
from scheduler_reader.policy import THRESHOLDS
from scheduler_reader.rule_engine import all_rules
from scheduler_reader.settings import find_settings

DOCS = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", DOCS, re.DOTALL)


def test_the_settings_are_settings(tmp_path: Path) -> None:
    stated = []
    for block in blocks("toml"):
        (tmp_path / "sched-reader.toml").write_text(block, encoding="utf-8")
        found = find_settings(tmp_path)
        assert found is not None
        stated.append((sorted(found.values), sorted(found.profiles)))
    assert stated == [
        (["severity"], []),
        (["policy"], []),
        (["fail-on"], ["ci", "prod"]),
    ]


def test_the_remarks_are_remarks() -> None:
    in_arguments, in_annotations, _ = blocks("yaml")
    container = "spec:\n  containers:\n  - image: vllm/vllm-openai\n"
    arguments = in_arguments.replace("args", "    args").replace("  - ", "    - ")
    arguments = arguments.replace("  #", "    #")
    pod = "apiVersion: v1\nkind: Pod\n" + in_annotations + container + arguments
    parts = [part for one in parse_text(pod, "pod.yaml").remarks for part in read_remark(one)]
    assert all(isinstance(part, Acceptance) for part in parts)
    assert [part.code for part in parts if isinstance(part, Acceptance)] == [
        "MEM101",
        "CHK103",
        "PRF",
        "PRF101",
        "BAT101",
        "CHK",
    ]


def test_the_baseline_is_one_and_written_so(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(blocks("yaml")[2], encoding="utf-8")
    baseline = read_baseline(path)
    assert baseline_text(baseline) == path.read_text(encoding="utf-8")
    entry = Entry(
        Identity("deploy/llm.yaml", "llm", "FLG002", "--swap-space"),
        reason="the image is next",
        expires=date(2027, 1, 31),
        line=3,
    )
    assert baseline.entries == (entry,)
    as_json = Baseline(tmp_path / "known.json", baseline.entries)
    as_json.path.write_text(baseline_text(as_json), encoding="utf-8")
    (again,) = read_baseline(as_json.path).entries
    assert (again.identity, again.expires) == (entry.identity, entry.expires)


def test_every_threshold_and_every_rule_of_the_gate_is_named() -> None:
    assert all(f"`{name}`" in DOCS for name in THRESHOLDS)
    codes = [rule.code for rule in all_rules() if rule.code.startswith(("GAT", "POL"))]
    assert all(code in DOCS for code in codes)
