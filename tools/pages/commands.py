"""Markdown pages whose outputs are those of the commands above them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COLUMNS = "100"

# A command block and the output block that follows it.
_PAIR = re.compile(
    r"(?P<head>```sh\n(?P<command>.*?)```\n\n```text\n)(?P<output>.*?)(?=```\n)", re.S
)
_BLOCK = re.compile(r"```sh\n(.*?)```", re.S)


def with_outputs(text: str) -> str:
    """The page with every output block as its command prints it now."""
    return _PAIR.sub(lambda pair: pair["head"] + output(pair["command"]), text)


def commands(text: str) -> list[str]:
    """The contents of all command blocks."""
    return _BLOCK.findall(text)


@cache
def output(command: str, folder: Path = ROOT) -> str:
    """What a command of a page prints, in a folder; RuntimeError where it fails to run.

    Exit code 1 is an answer (findings); anything above is not.
    """
    ours = f'sched-reader() {{ "{sys.executable}" -m scheduler_reader "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", ours + command],
        cwd=folder,
        env={
            **os.environ,
            "COLUMNS": COLUMNS,
            "PYTHONIOENCODING": "utf-8",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode > 1 and done.returncode != 141:  # 141: `head` has read enough
        raise RuntimeError(f"{command}\nended with {done.returncode}: {done.stderr}")
    return done.stdout
