"""Change one operator of a core module at a time and see whether its fast tests notice.

    python tools/mutants.py scheduler|kv_pool|capacity [--sample 40] [--seed 1] [--folder FOLDER]

Works on a copy of the tree, with cosmic-ray; a sample of one seed is the same while the modules
are.  A copy in FOLDER is kept, and a run there that was broken off goes on.  Prints how many
mutants the tests killed, and the diff of each that survived.
"""

from __future__ import annotations

import argparse
import json
import os
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
PACKAGE = "scheduler_reader"
PARTS = (PACKAGE, "rules", "compat_matrix", "examples", "tools", "tests")
CAPACITY = sorted(path.stem for path in (ROOT / PACKAGE / "capacity").glob("*.py"))
# The fastest first.
SCHEDULER_TESTS = ["block_pool", "admission", "steps", "blocks_counted", "stepwise", "quiet"]


class Target(NamedTuple):
    """Modules, and the tests that run against each mutant of them."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


TARGETS = {
    "scheduler": Target(
        tuple(f"simulate/{name}.py" for name in ("admission", "block_pool", "kv_manager")),
        tuple(f"simulate/test_{name}.py" for name in SCHEDULER_TESTS),
    ),
    "kv_pool": Target(
        ("capacity/kv_pool.py",),
        tuple(f"capacity/test_{name}.py" for name in ("kv_pool", "kv_cache", "fit", "plan")),
    ),
    "capacity": Target(
        tuple(f"capacity/{name}.py" for name in CAPACITY if name not in ("__init__", "kv_pool")),
        ("capacity",),
    ),
}
ANNOTATION = "ReplaceBinaryOperator_BitOr_"  # here only in annotations, which are never evaluated
CONFIG, SESSION = "mutants.toml", "mutants.sqlite"
SECONDS_OF_ONE = 60.0  # a mutant whose tests take longer counts as killed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tree = wanted.folder or Path(scratch)
        if not (tree / SESSION).exists():
            prepare(tree, TARGETS[wanted.target])
            keep_sample(tree / SESSION, wanted.sample, random.Random(wanted.seed))
        cosmic_ray(tree, "exec", CONFIG, SESSION)
        ran = cosmic_ray(tree, "dump", SESSION).splitlines()
    survivors = list(diffs_of_survivors(ran))
    for diff in survivors:
        print(diff)
    print(f"{len(ran)} mutants: {len(ran) - len(survivors)} killed, {len(survivors)} survived")
    return 0


def prepare(tree: Path, target: Target) -> None:
    """Copy what the tests need, list all mutants, and see the tests pass without one."""
    for part in PARTS:
        shutil.copytree(ROOT / part, tree / part)
    shutil.copy(ROOT / "pyproject.toml", tree)
    (tree / CONFIG).write_text(config(target))
    cosmic_ray(tree, "init", CONFIG, SESSION)
    cosmic_ray(tree, "baseline", CONFIG, PYTHONDONTWRITEBYTECODE="")


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


def cosmic_ray(tree: Path, *arguments: str, **variables: str) -> str:
    """The output of one cosmic-ray command in the copy; raises where it fails.

    Only the run without a mutant writes compiled modules, which the others use: two mutants of one
    size in one second would pass for each other.
    """
    compiled = {"PYTHONPYCACHEPREFIX": str(tree / "compiled"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "cosmic_ray.cli", *arguments],
        cwd=tree,
        env={**os.environ, **compiled, **variables},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def keep_sample(session: Path, count: int, pick: random.Random) -> None:
    """Leave a random sample of the mutants in a session, and print of how many."""
    with use_db(session, WorkDB.Mode.open) as database:
        items = sorted(database.work_items, key=lambda item: str(item.mutations))
        made = [item for item in items if ANNOTATION not in item.mutations[0].operator_name]
        database.clear()
        database.add_work_items(pick.sample(made, min(count, len(made))))
    print(f"{min(count, len(made)):,} of {len(made):,} mutants", flush=True)


def diffs_of_survivors(dump: list[str]) -> Iterator[str]:
    """The diffs of the mutants in cosmic-ray's dump that no test noticed."""
    for line in dump:
        _, result = json.loads(line)
        if result and result["test_outcome"] == "survived":
            yield result["diff"]


if __name__ == "__main__":
    sys.exit(main())
