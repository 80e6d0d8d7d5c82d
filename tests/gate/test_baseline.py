"""Known findings: compared without lines and words, kept up to a day, and told when they are gone."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from scheduler_reader.assessment import Checked
from scheduler_reader.errors import UsageError
from scheduler_reader.gate.baseline import Baseline
from scheduler_reader.gate.baseline_file import baseline_text, read_baseline
from scheduler_reader.gate.controls import Controls
from scheduler_reader.gate.fingerprint import Identity
from scheduler_reader.gate.judgement import Judgement, judge
from scheduler_reader.parse import parse_command, parse_file
from scheduler_reader.pipeline import Request, check
from scheduler_reader.rule_engine.selection import read_selection

SERVED = "model: Qwen/Qwen3-8B\nmax-model-len: 8192\nmax-num-seqs: 8\n"
CONFIG = SERVED + "zzz: 1\nyyy: 2\n"
REQUEST = Request(rules=read_selection(["FLG"], []))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "serve.yaml").write_text(CONFIG)
    return tmp_path


def judged(
    folder: Path,
    baseline: Path,
    *,
    today: date = date(2027, 1, 31),
    writes: bool = False,
    request: Request = REQUEST,
) -> Judgement[Checked]:
    paths = sorted(path for path in (folder / "deploy").iterdir() if path.is_file())
    files = [parse_file(str(path)) for path in paths]
    found = [check(engine, request) for file in files for engine in file.readable]
    known = read_baseline(baseline) if baseline.exists() else Baseline(baseline)
    result = judge(files, found, request, Controls({}, known, writes, today))
    if writes and result.baseline is not None:
        baseline.write_text(baseline_text(result.baseline))
    return result


def arguments(result: Judgement[Checked]) -> tuple[list[str], list[str]]:
    """What counts and what is known, by the arguments."""
    return (
        [finding.argument for one in result.engines for finding in one.findings],
        [known.finding.argument for one in result.engines for known in one.suppressed],
    )


def test_the_file_is_sorted_and_relative_to_itself(folder: Path) -> None:
    judged(folder, folder / "known.yaml", writes=True)
    assert (folder / "known.yaml").read_text() == (
        "version: 1\n"
        "findings:\n"
        "- path: deploy/serve.yaml\n"
        "  code: FLG001\n"
        "  argument: --yyy\n"
        "- path: deploy/serve.yaml\n"
        "  code: FLG001\n"
        "  argument: --zzz\n"
    )
    judged(folder, folder / "known.json", writes=True)
    assert json.loads((folder / "known.json").read_text())["findings"] == [
        {"path": "deploy/serve.yaml", "code": "FLG001", "argument": "--yyy"},
        {"path": "deploy/serve.yaml", "code": "FLG001", "argument": "--zzz"},
    ]


@pytest.mark.parametrize("name", ["known.yaml", "known.json"])
def test_known_ones_do_not_count_wherever_they_move(folder: Path, name: str) -> None:
    judged(folder, folder / name, writes=True)
    (folder / "deploy" / "serve.yaml").write_text("# moved\n\nzzz: 9\nwww: 3\n" + SERVED)
    result = judged(folder, folder / name)
    assert arguments(result) == (["--www"], ["--zzz"])
    assert [entry.identity.argument for entry in result.fixed] == ["--yyy"]
    (suppressed,) = result.engines[0].suppressed
    assert suppressed.suppression.kind == "baseline"
    assert suppressed.suppression.reason == "in the baseline"
    assert suppressed.suppression.origin.path == str(folder / name)


def test_an_entry_holds_to_the_end_of_its_last_day(folder: Path) -> None:
    known = folder / "known.yaml"
    known.write_text(
        "version: 1\nfindings:\n"
        "- {path: deploy/serve.yaml, code: FLG001, argument: --zzz, expires: 2027-01-31, reason: soon}\n"
        "- {path: deploy/serve.yaml, code: FLG001, argument: --yyy}\n"
    )
    assert arguments(judged(folder, known)) == ([], ["--zzz", "--yyy"])
    later = judged(folder, known, today=date(2027, 2, 1))
    assert arguments(later) == (["--zzz"], ["--yyy"])
    assert [known.expires for known in later.expired] == [date(2027, 1, 31)]


def test_writing_anew_keeps_reasons_and_what_was_not_asked(folder: Path) -> None:
    known = folder / "known.yaml"
    known.write_text(
        "version: 1\nfindings:\n"
        "- {path: deploy/serve.yaml, code: FLG001, argument: --zzz, expires: 2028-01-31, reason: soon}\n"
        "- {path: deploy/serve.yaml, code: FLG001, argument: --gone}\n"
        "- {path: deploy/serve.yaml, code: MEM101}\n"  # the rule is not asked here
        "- {path: deploy/deleted.yaml, code: FLG001, argument: --zzz}\n"
        "- {path: other.yaml, code: FLG001, argument: --zzz}\n"  # nor is this file read
    )
    (folder / "other.yaml").write_text(CONFIG)
    judged(folder, known, writes=True)
    assert known.read_text() == (
        "version: 1\n"
        "findings:\n"
        "- path: deploy/serve.yaml\n"
        "  code: FLG001\n"
        "  argument: --yyy\n"
        "- path: deploy/serve.yaml\n"
        "  code: FLG001\n"
        "  argument: --zzz\n"
        "  reason: soon\n"
        "  expires: 2028-01-31\n"
        "- path: deploy/serve.yaml\n"
        "  code: MEM101\n"
        "- path: other.yaml\n"
        "  code: FLG001\n"
        "  argument: --zzz\n"
    )
    text = known.read_bytes()
    judged(folder, known, writes=True)
    assert known.read_bytes() == text


def test_of_two_that_nothing_tells_apart_one_more_is_new(folder: Path) -> None:
    script = folder / "deploy" / "serve.yaml"
    script.unlink()
    script = folder / "deploy" / "serve.sh"
    script.write_text("vllm serve a --zzz\nvllm serve b --zzz\n")
    judged(folder, folder / "known.yaml", writes=True)
    assert "count: 2" in (folder / "known.yaml").read_text()
    script.write_text("vllm serve a --zzz\nvllm serve b --zzz\nvllm serve c --zzz\n")
    assert arguments(judged(folder, folder / "known.yaml")) == (["--zzz"], ["--zzz", "--zzz"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "known.yaml: is no baseline of version 1"),
        ("version: 2\nfindings: []\n", "known.yaml: is no baseline of version 1"),
        ("version: 1\n", "known.yaml: findings: is no list"),
        ("version: 1\nfindings: [a]\n", "known.yaml:2: an entry is a mapping with path and code"),
        ("version: 1\nfindings:\n- {path: a}\n", "known.yaml:3: code: missing"),
        (
            "version: 1\nfindings:\n- {path: a, code: b, line: 3}\n",
            "known.yaml:3: line: no such key",
        ),
        ("version: 1\nfindings:\n- {path: a, code: 7}\n", "known.yaml:3: code: takes text, not 7"),
        (
            "version: 1\nfindings:\n- {path: a, code: b, expires: soon}\n",
            "known.yaml:3: expires: takes a day such as 2027-01-31, not soon",
        ),
        (
            "version: 1\nfindings:\n- {path: a, code: b, count: 0}\n",
            "known.yaml:3: count: takes 1 or more, not 0",
        ),
        (
            "version: 1\nfindings:\n- {path: a, code: b}\n- {path: a, code: b}\n",
            "known.yaml:4: the same finding stands here again",
        ),
        ("version: [\n", "known.yaml: is not valid YAML or JSON: "),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_baseline(path)
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(says)


def test_what_is_no_file_has_the_same_name_from_everywhere(tmp_path: Path) -> None:
    file = parse_command(["vllm", "serve", "Qwen/Qwen3-8B", "--zzz"])
    found = [check(engine, REQUEST) for engine in file.engines]
    known = Baseline(tmp_path / "known.yaml")
    written = judge([file], found, REQUEST, Controls({}, known, True)).baseline
    assert written is not None
    assert [entry.identity for entry in written.entries] == [
        Identity("<command line>", "", "FLG001", "--zzz")
    ]


def test_a_finding_of_the_config_file_can_be_fixed(folder: Path) -> None:
    config = folder / "deploy" / "conf" / "vllm.yaml"
    config.parent.mkdir()
    (folder / "deploy" / "serve.yaml").rename(config)
    (folder / "deploy" / "serve.sh").write_text("vllm serve m --config conf/vllm.yaml\n")
    judged(folder, folder / "known.yaml", writes=True)
    assert "path: deploy/conf/vllm.yaml" in (folder / "known.yaml").read_text()
    config.write_text(SERVED)
    assert len(judged(folder, folder / "known.yaml").fixed) == 2
