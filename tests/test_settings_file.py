"""Settings files: which one holds, what it states, and what is wrong about one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scheduler_reader.errors import UsageError
from scheduler_reader.settings import find_settings

DOCS = Path(__file__).parents[1] / "docs" / "settings.md"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "deploy" / "eu").mkdir(parents=True)
    return tmp_path / "repo"


def write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def stated(folder: Path) -> dict[str, object]:
    found = find_settings(folder)
    assert found is not None
    return {key: value.value for key, value in found.values.items()}


def mistake(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        find_settings(folder)
    return str(caught.value).removeprefix(f"{folder}/")


def test_the_example_of_the_docs_is_read(repository: Path) -> None:
    example = re.search(
        r"<!-- settings-example -->\n```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL
    )
    assert example is not None
    write(repository / "sched-reader.toml", example[1])
    values = stated(repository)
    assert values["gpu-count"] == 2
    assert values["slo-ttft-ms"] == 1000.0
    assert values["workload"] == "rag"
    assert values["rules"] == [repository / "ci" / "rules"]


def test_the_nearest_file_holds_and_is_not_merged(repository: Path) -> None:
    write(repository / "sched-reader.toml", 'gpu = "h100"\ngpu-count = 8\n')
    write(repository / "deploy" / "sched-reader.toml", 'gpu = "l4"\n')
    assert stated(repository / "deploy" / "eu") == {"gpu": "l4"}
    assert stated(repository) == {"gpu": "h100", "gpu-count": 8}


def test_a_pyproject_counts_where_it_has_the_table(repository: Path) -> None:
    write(
        repository / "pyproject.toml",
        '[project]\nname = "x"\n\n[tool.sched-reader]\ngpu = "a100"\n',
    )
    write(repository / "deploy" / "pyproject.toml", '[project]\nname = "sched-reader"\n')
    found = find_settings(repository / "deploy" / "eu")
    assert found is not None
    assert found.path == repository / "pyproject.toml"
    assert found.values["gpu"].origin.line == 5


def test_nothing_above_the_repository_or_behind_a_link_is_read(repository: Path) -> None:
    outside = write(repository.parent / "sched-reader.toml", 'gpu = "l4"\n')
    (repository / "deploy" / "sched-reader.toml").symlink_to(outside)
    assert find_settings(repository / "deploy") is None


def test_paths_are_relative_to_the_file(repository: Path) -> None:
    write(repository / "load.yaml", "concurrency: 4\n")
    write(
        repository / "sched-reader.toml",
        'workload = "load.yaml"\nmodel-config = "models/config.json"\n',
    )
    values = stated(repository / "deploy")
    assert values["workload"] == str(repository / "load.yaml")
    assert values["model-config"] == repository / "models" / "config.json"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('gpu = "h100"\ngpus = 2\n', "sched-reader.toml:2: gpus: no such setting; there are"),
        ('gpu-count = "2"\n', 'sched-reader.toml:1: gpu-count: takes a whole number, not "2"'),
        ("gpu-count = true\n", "sched-reader.toml:1: gpu-count: takes a whole number, not true"),
        ("gpu-count = 0\n", "sched-reader.toml:1: gpu-count: takes 1 or more, not 0"),
        ("offline = 1\n", "sched-reader.toml:1: offline: takes true or false, not 1"),
        ('ignore = "MEM"\n', 'sched-reader.toml:1: ignore: takes a list of text, not "MEM"'),
        ("slo-itl-ms = -5\n", "sched-reader.toml:1: slo-itl-ms: takes a positive number, not -5"),
        ("rate = nan\n", "sched-reader.toml:1: rate: takes a number, not nan"),
        ('fail-on = "all"\n', "sched-reader.toml:1: fail-on: takes error, warning, note, never"),
        ("[gpu]\nname = 1\n", "sched-reader.toml:1: gpu: takes text, not"),
        ("isl = 5\nrate = 1\nconcurrency = 2\n", "sched-reader.toml:2: rate: an open loop"),
        ("hub = true\n", "sched-reader.toml:1: hub: no such setting"),
        ("gpu = \n", "sched-reader.toml:1: is not TOML: "),
    ],
)
def test_a_mistake_is_named_with_file_line_and_key(repository: Path, text: str, says: str) -> None:
    write(repository / "sched-reader.toml", text)
    assert mistake(repository).startswith(says)
