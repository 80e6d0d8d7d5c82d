"""A mutant in a process of its own, forked from one in which the tests have run without it."""

from __future__ import annotations

import gc
import os
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

import coverage
import pytest

ARGUMENTS = ["-x", "-q", "--tb=no", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:cov"]
ARGUMENTS += ["-p", "no:cacheprovider"]
TESTS = ("tests", "tools")  # the folders whose modules are loaded anew beside the mutated ones
SECONDS_OF_ONE = 3.0  # of CPU time: a test that takes as much more than without a mutant fails
MEMORY_BYTES = 4 << 30


class Mutant(NamedTuple):
    """A module, its file, and the source to load in that file's place."""

    module: str
    path: Path
    source: str


class Baseline(NamedTuple):
    """What the tests do without a mutant: seconds of each, and the tests that run each line."""

    seconds: dict[str, float]
    covering: dict[Path, dict[int, set[str]]]


class Recorder:
    """Notes of each test the seconds that it takes and the lines that it covers."""

    def __init__(self, modules: list[Path]) -> None:
        include = [str(module) for module in modules]
        self._coverage = coverage.Coverage(None, include=include, config_file=False)
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_configure(self) -> None:
        from hypothesis import settings  # not before pytest's plugin has loaded it

        settings.register_profile("mutants", database=None, deadline=None, derandomize=True)
        settings.load_profile("mutants")
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._coverage.switch_context(item.nodeid)
        yield
        self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()

    def covering(self, module: Path) -> dict[int, set[str]]:
        """The tests of each line of a module."""
        lines = self._coverage.get_data().contexts_by_lineno(str(module.resolve()))
        return {line: set(tests) - {""} for line, tests in lines.items()}


class Chosen:
    """Runs chosen tests only, in their order; one that takes far longer ends the process."""

    def __init__(self, tests: list[str], seconds: dict[str, float]) -> None:
        self._rank = {test: rank for rank, test in enumerate(tests)}
        self._seconds = seconds

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chosen = [item for item in items if item.nodeid in self._rank]
        items[:] = sorted(chosen, key=lambda item: self._rank[item.nodeid])

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        limit = SECONDS_OF_ONE + 10 * self._seconds[item.nodeid]
        signal.setitimer(signal.ITIMER_VIRTUAL, limit)


class MutantFinder:
    """Finds the mutated module before its file is looked for."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        if name != self._mutant.module:
            return None
        return spec_from_file_location(name, self._mutant.path, loader=MutantLoader(self._mutant))


class MutantLoader(SourceFileLoader):
    """Loads a module from mutated source, which no cache has seen."""

    def __init__(self, mutant: Mutant) -> None:
        super().__init__(mutant.module, str(mutant.path))
        self._source = mutant.source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


def baseline(tests: str, modules: list[Path], loaded_anew: set[str]) -> Baseline:
    """Run the tests without a mutant and leave loaded what depends on none; raises if one fails."""
    recorder = Recorder(modules)
    if status := pytest.main([*ARGUMENTS, tests], [recorder]):
        raise SystemExit(f"the tests fail without a mutant ({status!r})")
    of_tests = tuple(f"{Path(folder).resolve()}{os.sep}" for folder in TESTS)
    for name, module in [*sys.modules.items()]:
        file = getattr(module, "__file__", None) or ""
        if name in loaded_anew or (file.startswith(of_tests) and name not in __name__):
            del sys.modules[name]
    gc.freeze()  # collections in the forked processes leave shared memory alone
    covering = {module: recorder.covering(module) for module in modules}
    return Baseline(dict(recorder.seconds), covering)


def start(mutant: Mutant, tests: list[str], plain: Baseline) -> int:
    """Begin the tests of a mutant in a process; its number. Its status is 0 if all of them pass."""
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silent, stream)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        signal.setitimer(signal.ITIMER_VIRTUAL, 10 * SECONDS_OF_ONE)
        sys.meta_path.insert(0, MutantFinder(mutant))
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        status = pytest.main([*ARGUMENTS, *files], [Chosen(tests, plain.seconds)])
    finally:
        os._exit(status)
