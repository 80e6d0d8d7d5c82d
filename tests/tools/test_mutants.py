"""Mutants of a module: what is changed, and which tests run before which."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="of the extra `dev`")
pytest.importorskip("grimp", reason="of the extra `dev`")

from cosmic_ray.work_item import MutationSpec
from mutant_process import Baseline
from mutants import in_order, made_of, module_name, statement

SOURCE = '''\
LIMIT = 4


def least(number: int, limit: int = LIMIT) -> int:
    """A number within the limit."""
    if number > limit:
        return (
            limit
            + 0
        )
    return number
'''
COMPARISON = "core/ReplaceComparisonOperator_Gt_Lt"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("package").mkdir()
    path = Path("package/least.py")
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, []),  # runs as the module is loaded
        (4, []),  # as do defaults
        (6, [6, 7, 8, 9, 10]),  # whoever runs the body has run its condition
        (9, [7, 8, 9, 10]),
        (11, [11]),
    ],
)
def test_lines_of_the_innermost_statement(line: int, lines: list[int]) -> None:
    assert list(statement(SOURCE, line)) == lines


def test_a_mutant_has_one_operator_changed(module: Path) -> None:
    mutant, diff = made_of(MutationSpec(module, COMPARISON, 0, (6, 14), (6, 15)))
    assert (mutant.module, mutant.path) == ("package.least", module.resolve())
    assert mutant.source == SOURCE.replace("number > limit", "number < limit")
    assert "-    if number > limit:\n+    if number < limit:" in diff
    assert module.read_text() == SOURCE  # the file is as it was


def test_a_package_is_named_without_its_file() -> None:
    assert module_name(Path("package/least.py")) == "package.least"
    assert module_name(Path("package/__init__.py")) == "package"


def test_tests_that_cover_the_line_run_first_and_quick_ones_before_slow_ones(module: Path) -> None:
    seconds = {"slow": 2.0, "other": 0.001, "quick": 0.01, "middle": 0.03}
    plain = Baseline(seconds, {module: {6: {"slow", "middle"}, 7: {"quick"}, 11: {"other"}}})
    mutation = MutationSpec(module, COMPARISON, 0, (6, 14), (6, 15))
    assert in_order(mutation, plain, quick=False) == ["quick", "middle", "slow", "other"]
    assert in_order(mutation, plain, quick=True) == ["quick", "middle"]
    default = MutationSpec(module, "core/NumberReplacer", 0, (1, 8), (1, 9))
    assert in_order(default, plain, quick=False) == ["other", "quick", "middle", "slow"]
