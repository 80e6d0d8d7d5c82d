"""The command blocks that need a checkout, a package index, a hub or another program run too."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from pages.blocks import blocks
from set_ups import LEAST, ROOT, SET_UPS
from test_command_blocks import PAGES

BLOCKS = [
    (page, block)
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.set_up
]


@pytest.mark.parametrize("name", SET_UPS)
def test_the_commands_run_in_their_set_up(name: str, tmp_path: Path) -> None:
    """Those of one set-up in their order, as a reader would."""
    printed = ""
    with SET_UPS[name].fill(tmp_path) as environment:
        for page, block in BLOCKS:
            if block.set_up == name:
                done = subprocess.run(
                    ["bash", "-eu", "-o", "pipefail", "-c", block.commands],
                    cwd=tmp_path,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                where = f"{page.relative_to(ROOT)}:{block.line}"
                assert done.returncode == block.exit_code, f"{where}\n{done.stdout}{done.stderr}"
                printed += done.stdout + done.stderr
    assert re.search(SET_UPS[name].prints, printed), printed


def test_every_set_up_of_a_page_is_there_and_used() -> None:
    assert {block.set_up for _, block in BLOCKS} == set(SET_UPS)


def test_a_measurement_has_a_smallest_count() -> None:
    """Else a new line of the README runs at its full length in the tests."""
    measured = re.findall(r"python (benchmarks/\w+\.py)", (ROOT / "README.md").read_text())
    assert measured
    assert set(measured) <= set(LEAST)
