"""Change one operator of a core module at a time and see whether its fast tests notice.

    python tools/mutants.py scheduler|kv_pool [--sample 40] [--seed 1]

Works on a copy of the tree, with cosmic-ray; a sample of one seed is the same while the modules
are.  Prints how many mutants the tests killed, and the diff of each that survived.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.work_db import WorkDB, use_db

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("scheduler_reader", "rules", "compat_matrix", "examples", "tools", "tests")


class Target(NamedTuple):
    """Modules, and the tests that run against each mutant of them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


TARGETS = {
    "scheduler": Target(
        tuple(f"simulate/{name}.py" for name in ("admission", "block_pool", "kv_manager")),
        tuple(f"simulate/test_{name}.py" for name in ("steps", "admission", "stepwise", "quiet")),
    ),
    "kv_pool": Target(
        ("capacity/kv_pool.py",),
        tuple(f"capacity/test_{name}.py" for name in ("kv_pool", "kv_cache", "fit", "plan")),
    ),
}
ANNOTATION = "ReplaceBinaryOperator_BitOr_"  # here only in annotations, which are never evaluated
SECONDS_OF_ONE = 60.0  # a mutant whose tests take longer counts as killed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        for part in PARTS:
            shutil.copytree(ROOT / part, tree / part)
        shutil.copy(ROOT / "pyproject.toml", tree)
        (tree / "mutants.toml").write_text(config(TARGETS[wanted.target]))
        cosmic_ray(tree, "init", "mutants.toml", "mutants.sqlite")
        cosmic_ray(tree, "baseline", "mutants.toml")
        made = keep_sample(tree / "mutants.sqlite", wanted.sample, random.Random(wanted.seed))
        cosmic_ray(tree, "exec", "mutants.toml", "mutants.sqlite")
        survivors = list(diffs_of_survivors(cosmic_ray(tree, "dump", "mutants.sqlite")))
    for diff in survivors:
        print(diff)
    ran = min(wanted.sample, made)
    print(f"{ran} of {made} mutants: {ran - len(survivors)} killed, {len(survivors)} survived")
    return 0


def config(target: Target) -> str:
    """cosmic-ray's configuration for a target, as TOML."""
    tests = " ".join(f"tests/{test}" for test in target.tests)
    command = f"{sys.executable} -m pytest -x -q -p no:randomly -p no:cacheprovider {tests}"
    modules = json.dumps([f"scheduler_reader/{module}" for module in target.modules])
    return (
        f"[cosmic-ray]\nmodule-path = {modules}\ntimeout = {SECONDS_OF_ONE}\n"
        f'excluded-modules = []\ntest-command = "{command}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n'
    )


def cosmic_ray(tree: Path, *arguments: str) -> str:
    """The output of one cosmic-ray command in the copy; raises where it fails."""
    command = [sys.executable, "-m", "cosmic_ray.cli", *arguments]
    return subprocess.run(command, cwd=tree, check=True, stdout=subprocess.PIPE, text=True).stdout


def keep_sample(session: Path, count: int, pick: random.Random) -> int:
    """Leave a random sample of the mutants in a session; how many there were."""
    with use_db(session, WorkDB.Mode.open) as database:
        items = sorted(database.work_items, key=lambda item: str(item.mutations))
        made = [item for item in items if ANNOTATION not in item.mutations[0].operator_name]
        database.clear()
        database.add_work_items(pick.sample(made, min(count, len(made))))
    return len(made)


def diffs_of_survivors(dump: str) -> Iterator[str]:
    """The diffs of the mutants in cosmic-ray's dump that no test noticed."""
    for line in dump.splitlines():
        _, result = json.loads(line)
        if result and result["test_outcome"] == "survived":
            yield result["diff"]


if __name__ == "__main__":
    sys.exit(main())
