"""Where the blocks of a page run that need more than files at hand: `<!-- set up: NAME -->`.

Each set-up is a function that fills a new folder and gives the environment of the commands.  What
takes the place of a program or a service that is not here is called a stand-in, on the page too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from local_hub import local_hub
from package_index import package_index

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
PACKAGE = ("scheduler_reader", "rules", "compat_matrix", "examples", "tools", "pyproject.toml", "LICENSE")  # fmt: skip
OURS = ("GITHUB_", "PYTEST_", "PIP_", "PYTHON", "COV", "HF_", "VIRTUAL_ENV")
FEW_TESTS = "tests/knowledge/test_safetensors.py"
FEW_SIMULATED = ("tests/conftest.py", "tests/simulate/test_block_pool.py")
NOT_LENT = ("sched_reader", "scheduler_reader", "_editable", "__", "pip", "_pytest", "pytest")
LEAST = {
    "benchmarks/check_fleet.py": "2",
    "benchmarks/check_repository.py": "1",
    "benchmarks/closed_form.py": "1",
    "benchmarks/diagnose_load.py": "1 'closed loop'",
    "benchmarks/simulator.py": "20",
    "benchmarks/start_up.py": "1",
    "tools/fuzz.py": "--count 5",
    "tools/mutants.py": "--sample 1",
}
# Of the options that the stand-in for a new release has.
KINDS = {
    "int": "type=int",
    "float": "type=float",
    "bool": "action=argparse.BooleanOptionalAction",
    "flag": "action='store_true'",
    "json": "type=json.loads",
    "human_int": "type=human_readable_int",
    "human_int_or_auto": "type=human_readable_int_or_auto",
    "json_or_str": "type=union_dict_and_str",
}
SERVE = """\
import argparse
import json
from vllm.converters import human_readable_int, human_readable_int_or_auto, union_dict_and_str


class ServeSubcommand:
    name = "serve"

    def subparser_init(self, subparsers):
        parser = subparsers.add_parser(self.name, help="")
"""
CONVERTERS = """\
def human_readable_int(value): ...
def human_readable_int_or_auto(value): ...
def union_dict_and_str(value): ...
"""
Environment = dict[str, str]


@contextmanager
def checkout(folder: Path) -> Iterator[Environment]:
    """A copy of the checkout, and a stand-in for PyPI."""
    _copy(folder, *PACKAGE, "README.md")
    with package_index({}) as pip:
        yield _surroundings(folder) | pip


@contextmanager
def checkout_with_tests(folder: Path) -> Iterator[Environment]:
    """A copy of the checkout with few of its tests, and a stand-in for PyPI."""
    _copy(folder, *PACKAGE, "README.md", FEW_TESTS)
    with package_index({}) as pip:
        few = {"PYTEST_ADDOPTS": FEW_TESTS, "PYTHONPATH": _installed(folder / "installed")}
        yield _surroundings(folder) | pip | few


@contextmanager
def least_work(folder: Path) -> Iterator[Environment]:
    """A small checkout, where each command is given the smallest count of what it does."""
    _small_checkout(folder)
    cases = "".join(f'{name}) set -- "$@" {least};;\n' for name, least in LEAST.items())
    python = f'case "$1" in {cases} esac\nexec {sys.executable} "$@"'
    environment = _surroundings(folder, python=python)
    yield environment | {"PYTHONPATH": str(folder)}


@contextmanager
def least_work_of_extras(folder: Path) -> Iterator[Environment]:
    """The same, where the programs of these extras are installed; mypy goes on from its last run."""
    for module in ("cosmic_ray", "furo", "importlinter", "mypy", "pytest_cov", "ruff"):
        pytest.importorskip(module, reason="the extras dev and docs are not installed")
    with least_work(folder) as environment:
        yield environment | {"MYPY_CACHE_DIR": str(ROOT / ".mypy_cache")}


@contextmanager
def templates(folder: Path) -> Iterator[Environment]:
    """A chart and an overlay; helm and kustomize, or where they are not here, stand-ins for them."""
    shutil.copytree(HERE / "templates", folder, dirs_exist_ok=True)
    missing = [name for name in ("helm", "kustomize") if not shutil.which(name)]
    yield _surroundings(folder, sched_reader=_us(), **{name: _stand_in(name) for name in missing})


@contextmanager
def image(folder: Path) -> Iterator[Environment]:
    """A copy of the checkout, something to check in it, and a stand-in for docker."""
    _copy(folder, *PACKAGE, "README.md")
    shutil.copytree(ROOT / "tools/pages/at_hand/deploy", folder / "deploy")
    environment = _surroundings(folder, sched_reader=_us(), docker=_stand_in("docker"))
    yield environment | {"REAL_DOCKER": shutil.which("docker") or ""}


@contextmanager
def hub(folder: Path) -> Iterator[Environment]:
    """A new virtual environment, a file that serves a model of the hub, and stand-ins for hub and PyPI."""
    (folder / "serve.yaml").write_text("model: acme/small\n")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    wheel = _built(folder / "built")
    pip = f'PIP_PYTHON={venv}/bin/python exec {sys.executable} -m pip "$@"'
    environment = _surroundings(folder, pip=pip)
    environment["PATH"] = f"{venv}/bin{os.pathsep}{environment['PATH']}"
    with package_index({"sched-reader": wheel}) as index, local_hub() as address:
        there = {"HF_ENDPOINT": address, "PYTHONPATH": _installed(folder / "installed")}
        yield environment | index | there


@contextmanager
def release(folder: Path) -> Iterator[Environment]:
    """A small checkout, and a stand-in for PyPI that has a vLLM 0.34.0 of nothing but options."""
    _small_checkout(folder)
    wheel = folder / "index" / "vllm-0.34.0-cp38-abi3-manylinux_2_31_x86_64.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("vllm/__init__.py", "")
        archive.writestr("vllm/_version.py", "__version__ = version = '0.34.0+cu130'\n")
        archive.writestr("vllm/entrypoints/cli/serve.py", _serve_command())
        archive.writestr("vllm/model_executor/models/registry.py", _registry())
        archive.writestr("vllm/converters.py", CONVERTERS)
        archive.writestr("vllm/engine/arg_utils.py", "class AsyncEngineArgs:\n    pass\n")
        about = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.34.0\n"
        archive.writestr("vllm-0.34.0.dist-info/METADATA", about)
        archive.writestr("vllm-0.34.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr("vllm-0.34.0.dist-info/RECORD", "")
    commands = {
        "pip": f'exec {sys.executable} -m pip "$@"',
        "python": f'exec {sys.executable} "$@"',
    }
    environment = _surroundings(folder, **commands)
    with package_index({"vllm": wheel}) as index:
        yield environment | index | {"PYTHONPATH": str(folder)}


class SetUp(NamedTuple):
    """How to set up, and a line that the blocks print then."""

    fill: Callable[[Path], AbstractContextManager[Environment]]
    prints: str


SET_UPS = {
    "a copy of the checkout, a stand-in for PyPI": SetUp(checkout, "Bottleneck|bottleneck"),
    "a copy of the checkout, few tests, a stand-in for PyPI": SetUp(
        checkout_with_tests, r"\d+ passed in"
    ),
    "a small checkout, the smallest counts": SetUp(least_work, r"20 requests of 512/128: \d+ s"),
    "a small checkout, the smallest counts, the extras dev and docs": SetUp(
        least_work_of_extras, "1 mutants: "
    ),
    "stand-ins for helm and kustomize": SetUp(
        templates, r"(?s)0 findings.*1 engine in 1 file: 0 findings"
    ),
    "a stand-in for docker": SetUp(image, "1 engine in 1 file: "),
    "stand-ins for the hub and PyPI": SetUp(hub, "acme/small"),
    "a small checkout, a stand-in for PyPI with a vLLM of nothing but options": SetUp(
        release, r"vLLM 0\.34\.0: \d+ options, \d+ changes against 0\.33\.0"
    ),
}


def _copy(folder: Path, *parts: str) -> None:
    for part in parts:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".*")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        else:
            shutil.copy(ROOT / part, folder / part)


def _small_checkout(folder: Path) -> None:
    """The whole package, one published run, quoted figure and report of each kind, and two pages."""
    _copy(folder, *PACKAGE, "benchmarks", *FEW_SIMULATED, "docs/hub.md", "docs/conf.py")  # fmt: skip
    (folder / "README.md").write_text("# sched-reader\n")
    (folder / "docs/index.md").write_text("# sched-reader\n\n```{toctree}\nhub\n```\n")
    _copy(folder, "tests/performance/published_runs.yaml", "tests/performance/published_drafts.yaml")  # fmt: skip
    _copy(folder, "tests/observe/complaints.yaml", "tests/inputs/shell", "tests/observe/logs")
    for kept in (
        "compat_matrix/headline_claims.yaml",
        "compat_matrix/skill.yaml",
        *_yaml_below(folder / "tests"),
    ):
        path = folder / kept
        path.write_text(yaml.safe_dump(_first_of_each(yaml.safe_load(path.read_text()))))


def _serve_command() -> str:
    """A parser of `vllm serve` with the options of the newest release, and one that is new."""
    table = json.loads((ROOT / "compat_matrix/flags.json").read_bytes())
    added = ["    parser.add_argument('--brand-new', type=int, default=7)\n"]
    for name, ranges in table["flags"].items():
        if ranges[-1]["to"] == table["versions"][-1]:
            kind, default = KINDS.get(ranges[-1]["type"], "type=str"), ranges[-1].get("default")
            added.append(f"    parser.add_argument({name!r}, {kind}, default={default!r})\n")
    return f"{SERVE}{'    '.join(['', *added])}        return parser\n"


def _registry() -> str:
    """The architectures of the newest release, each in its table."""
    known = json.loads((ROOT / "compat_matrix/architectures.json").read_bytes())["architectures"]
    newest = known["LlamaForCausalLM"]["versions"][-1][1]
    tables: dict[str, dict[str, tuple[str, str]]] = {}
    for name, entry in known.items():
        if entry["versions"][-1][1] == newest:
            tables.setdefault(entry["kind"], {})[name] = ("module", name)
    return "".join(f"_{kind.upper()}_MODELS = {table!r}\n" for kind, table in tables.items())


def _yaml_below(folder: Path) -> list[Path]:
    return [path for name in ("performance", "observe") for path in (folder / name).glob("*.yaml")]


def _first_of_each(document: dict[str, Any]) -> dict[str, Any]:
    short = dict(document)
    for name in {"known", "further", "second", "third", "commands"} & set(document):
        short[name] = document[name][:1]
    if "claims" in document:
        short["claims"] = dict(list(document["claims"].items())[:1])
    if "series" in document:
        of_source = {one["source"]: one for one in reversed(document["series"])}
        short["series"] = [
            one | {"runs": [min(one["runs"], key=_load)]} for one in of_source.values()
        ]
    return short


def _load(run: list[float]) -> float:
    return run[3]  # concurrency


def _surroundings(folder: Path, **programs: str) -> Environment:
    """This environment without what is ours alone, with programs that go before those on the path."""
    bin_folder = folder / "stand-in-bin"
    bin_folder.mkdir()
    for name, script in programs.items():
        program = bin_folder / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    kept = {name: text for name, text in os.environ.items() if not name.startswith(OURS)}
    path = os.pathsep.join([str(bin_folder), str(Path(sys.executable).parent), kept["PATH"]])
    return kept | {"HOME": str(folder), "PATH": path, "PIP_CONFIG_FILE": os.devnull}


def _installed(folder: Path) -> str:
    """What is installed here as something pip finds installed, but for us and what gives a program."""
    folder.mkdir()
    for one in Path(sysconfig.get_path("purelib")).iterdir():
        if not one.name.startswith(NOT_LENT) and one.suffix != ".pth":
            (folder / one.name).symlink_to(one)
    return str(folder)


def _us() -> str:
    return f'PYTHONPATH={ROOT} exec {sys.executable} -m scheduler_reader "$@"'


def _stand_in(name: str) -> str:
    return f'exec {sys.executable} {HERE}/stand_ins/{name}.py "$@"'


def _built(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.iterdir()
    return wheel
