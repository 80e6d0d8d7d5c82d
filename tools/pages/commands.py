"""Pages whose commands run, and whose outputs are those of the commands above them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from pages.blocks import Block, blocks
from pages.excerpt import excerpt

ROOT = Path(__file__).resolve().parent.parent.parent
AT_HAND = Path(__file__).parent / "at_hand"  # files that pages name without showing them
COLUMNS = "100"
NOWHERE = "http://127.0.0.1:9"  # the port where nothing listens: no page waits for a network
READ_ENOUGH = 141  # `head` has closed the pipe

# A runner of CI that runs the tests names files that the `github` format would write to.
_SURROUNDINGS = {name: text for name, text in os.environ.items() if not name.startswith("GITHUB_")}


@cache
def with_outputs(page: str) -> str:
    """The page with every output block as its command prints it now.

    The commands run in order, in one new folder that has `examples/` and the files of `at_hand/`,
    offline; those with a set-up of their own are left to the tests.  RuntimeError where one ends with
    another exit code than the page says, or no longer prints a line that is shown.
    """
    lines = page.split("\n")
    written: list[tuple[Block, list[str]]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(AT_HAND, folder, dirs_exist_ok=True)
        shutil.copytree(ROOT / "examples", folder / "examples")
        for block in blocks(page):
            if block.set_up is None:
                printed = _output(block, folder).splitlines()
                if block.output:
                    written.append((block, _shown(block, lines, printed)))
    for block, output in reversed(written):
        assert block.output is not None
        lines[block.output.first : block.output.end] = output
    return "\n".join(lines)


def _shown(block: Block, lines: list[str], printed: list[str]) -> list[str]:
    assert block.output is not None
    try:
        return excerpt(lines[block.output.first : block.output.end], printed)
    except ValueError as error:
        raise RuntimeError(f"line {block.line}: {block.commands}{error}") from None


def _output(block: Block, folder: Path) -> str:
    """What the commands of a block print; RuntimeError where they end otherwise than the page says."""
    # Words that a reader has on the path are those of this Python.
    ours = "".join(
        f'{name}() {{ "{sys.executable}" {module} "$@"; }}\n'
        for name, module in (("sched-reader", "-m scheduler_reader"), ("python", ""))
    )
    done = subprocess.run(
        [sys.executable, "-c", block.commands]
        if block.language == "python"
        else ["bash", "-eu", "-o", "pipefail", "-c", ours + block.commands],
        cwd=folder,
        env={
            **_SURROUNDINGS,
            "COLUMNS": COLUMNS,
            "PYTHONIOENCODING": "utf-8",
            "PYTHONPATH": str(ROOT),
            "HOME": str(folder),  # where a shell's completion is installed
            "HF_HUB_OFFLINE": "1",
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (block.exit_code, READ_ENOUGH):
        raise RuntimeError(
            f"line {block.line}: {block.commands}ended with {done.returncode}, "
            f"not {block.exit_code}: {done.stderr}"
        )
    return done.stdout
