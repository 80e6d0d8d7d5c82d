"""Change one operator of a core module at a time and see whether its tests notice.

    python tools/mutants.py scheduler|capacity [--only weights] [--sample 40] [--seed 1]
                            [--jobs 1] [--quick] [--session FILE [--again]]

cosmic-ray makes the mutants; type unions are left out, as they stand only in annotations.  The
tests run once without a mutant, which notes the lines that each covers and leaves loaded all that
depends on no mutated module.  Then each mutant is loaded in a forked process (`mutant_process.py`),
from memory: first for the tests that cover its line, the quickest first, until one fails; then for
all others of the folder, with `--quick` for none, and for none that takes long.

Without `--sample` every mutant runs, with `--only` those of the modules that are named; a sample of
one seed is the same while the modules are.  A session FILE is cosmic-ray's (`cosmic-ray dump FILE`):
a run that was broken off goes on with it, and with `--again` those that survived are tried anew.
Prints how many mutants the tests killed, and the diff of each that survived.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import grimp
from cosmic_ray.commands import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult
from mutant_process import Baseline, Mutant, baseline, start

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "scheduler_reader"
ANNOTATION = "ReplaceBinaryOperator_BitOr_"  # here only in annotations, which are never evaluated
LONG_S = 0.05  # a test that takes longer is none of the quick ones


class Target(NamedTuple):
    """Modules, and the folder of tests that run against each mutant of them."""

    modules: tuple[str, ...]
    tests: str


TARGETS = {
    "scheduler": Target(
        tuple(f"simulate/{name}.py" for name in ("admission", "block_pool", "kv_manager")),
        "tests/simulate",
    ),
    "capacity": Target(
        tuple(f"capacity/{path.name}" for path in (ROOT / PACKAGE / "capacity").glob("*.py")),
        "tests/capacity",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--only", nargs="+", metavar="MODULE")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--session", type=Path)
    parser.add_argument("--again", action="store_true")
    wanted = parser.parse_args()
    target = TARGETS[wanted.target]
    with tempfile.TemporaryDirectory() as scratch:
        session = (wanted.session or Path(scratch) / "mutants.sqlite").resolve()
        os.chdir(ROOT)
        sys.path.insert(0, str(ROOT))
        paths = [Path(PACKAGE, module) for module in target.modules]
        modules = [path for path in paths if path.stem in (wanted.only or [path.stem])]
        with use_db(session) as database:
            made = list(mutants(modules))
            if not database.num_work_items:
                count = min(wanted.sample or len(made), len(made))
                database.add_work_items(random.Random(wanted.seed).sample(made, count))
            check_unchanged(database.work_items, made)
            print(f"{database.num_work_items:,} of {len(made):,} mutants", flush=True)
            sys.pycache_prefix, sys.dont_write_bytecode = f"{scratch}/compiled", False
            plain = baseline(target.tests, modules, loaded_anew(modules))
            run(database, to_run(database, wanted.again), plain, wanted.jobs, wanted.quick)
            return report(database)


def mutants(modules: list[Path]) -> Iterator[WorkItem]:
    """All mutants of modules, in an order that depends on nothing else."""
    with use_db(":memory:") as database:
        init(modules, database, {})
        items = database.work_items
    for item in sorted(items, key=lambda item: str(item.mutations)):
        if ANNOTATION not in item.mutations[0].operator_name:
            yield item


def check_unchanged(kept: Iterable[WorkItem], made: Iterable[WorkItem]) -> None:
    """Refuse a session whose mutants cannot be made any more."""
    known = {str(item.mutations) for item in made}
    if any(str(item.mutations) not in known for item in kept):
        sys.exit("the modules have changed since the session began: start a new one")


def to_run(database: WorkDB, again: bool) -> list[WorkItem]:
    """The mutants without a result, and with `again` those that survived."""
    survivors = [item for item, _ in survived(database)] if again else []
    return sorted([*database.pending_work_items, *survivors], key=lambda item: str(item.mutations))


def survived(database: WorkDB) -> Iterator[tuple[WorkItem, WorkResult]]:
    """The mutants that no test noticed."""
    for item, result in database.completed_work_items:
        if not result.is_killed:
            yield item, result


def loaded_anew(modules: list[Path]) -> set[str]:
    """The mutated modules, and all that import them: what a mutant's process loads itself."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    names = {module_name(module) for module in modules}
    return names.union(*(graph.find_downstream_modules(name) for name in names)) - {PACKAGE}


def module_name(module: Path) -> str:
    return ".".join(module.with_suffix("").parts).removesuffix(".__init__")


def run(database: WorkDB, items: list[WorkItem], plain: Baseline, jobs: int, quick: bool) -> None:
    """Try mutants, so many at a time, and keep each result."""
    processes: dict[int, tuple[WorkItem, str]] = {}
    for item in items:
        if len(processes) == jobs:
            keep_next(database, processes)
        mutant, diff = made_of(item.mutations[0])
        tests = in_order(item.mutations[0], plain, quick)
        processes[start(mutant, tests, plain)] = item, diff
    while processes:
        keep_next(database, processes)


def keep_next(database: WorkDB, processes: dict[int, tuple[WorkItem, str]]) -> None:
    """Wait for one of the processes and keep what became of its mutant."""
    process, status = os.wait()
    item, diff = processes.pop(process)
    outcome = TestOutcome.SURVIVED if status == 0 else TestOutcome.KILLED
    result = WorkResult(WorkerOutcome.NORMAL, str(status), outcome, diff)
    database.set_result(item.job_id, result)


def made_of(mutation: MutationSpec) -> tuple[Mutant, str]:
    """The mutated source of a module, and its diff."""
    path = Path(mutation.module_path)
    before = path.read_text()
    operator = get_operator(mutation.operator_name)(**mutation.operator_args)
    after = mutate_code(before, operator, mutation.occurrence)
    lines = before.splitlines(), after.splitlines()
    diff = difflib.unified_diff(*lines, f"a/{path}", f"b/{path}", lineterm="")
    return Mutant(module_name(path), path.resolve(), after), "\n".join(diff)


def in_order(mutation: MutationSpec, plain: Baseline, quick: bool) -> list[str]:
    """The tests of a mutant: those that cover its line before all others, quick ones first."""
    path = Path(mutation.module_path)
    lines = statement(path.read_text(), mutation.start_pos[0])
    covering = set().union(*(plain.covering[path].get(line, set()) for line in lines))
    tests = sorted(plain.seconds, key=lambda test: (test not in covering, plain.seconds[test]))
    if not quick:
        return tests
    return [
        test
        for test in tests
        if plain.seconds[test] < LONG_S and (test in covering or not covering)
    ]


def statement(source: str, line: int) -> range:
    """The lines of a function's innermost statement around a line; none outside of functions,
    where what runs is run as the module is loaded.
    """
    inside = [
        node
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and function.body[0].lineno <= line
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    spans = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in inside]
    return min(spans, key=len, default=range(0))


def report(database: WorkDB) -> int:
    """Print what became of the mutants."""
    survivors = sorted(result.diff for _, result in survived(database))
    for diff in survivors:
        print(diff)
    ran = database.num_results
    print(f"{ran:,} mutants: {ran - len(survivors):,} killed, {len(survivors):,} survived")
    return 0


if __name__ == "__main__":
    sys.exit(main())
