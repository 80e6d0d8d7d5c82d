"""From the arguments of a command to parsed files and a pipeline request."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scheduler_reader.cli.settings_file import origins
from scheduler_reader.cli.time_limit import time_limit
from scheduler_reader.errors import InputError, UsageError
from scheduler_reader.parse import parse_command, parse_file, parse_text
from scheduler_reader.parse.input_file import MAX_BYTES, STDIN, decode
from scheduler_reader.parse.source import ParsedFile
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.value import Origin
from scheduler_reader.workload import Slo, Workload

if TYPE_CHECKING:
    from scheduler_reader.resolve import ResolveOptions


def read_inputs(
    paths: Sequence[str], command: list[str] | None
) -> tuple[list[ParsedFile], list[Unreadable]]:
    """Parse every file, stdin (`-`) and the command line after `--`.

    One that cannot be read, or in which no engine is found, does not keep the others from being read.
    """
    if not paths and command is None:
        raise UsageError("nothing to read: give a file, - for stdin, or -- vllm serve …")
    files: list[ParsedFile] = []
    unreadable: list[Unreadable] = []
    for path in paths:
        try:
            with time_limit(path):
                files.append(parse_text(_stdin(), STDIN) if path == "-" else parse_file(path))
        except InputError as error:
            unreadable.append(Unreadable(path, str(error)))
    if command is not None:
        try:
            with time_limit("<command line>"):
                files.append(parse_command(command))
        except InputError as error:
            unreadable.append(Unreadable("<command line>", str(error)))
    unreadable += [without_engine(file) for file in files if _has_no_engine(file)]
    return files, unreadable


def _has_no_engine(file: ParsedFile) -> bool:
    return all(engine.is_unreadable for engine in file.engines)


def without_engine(file: ParsedFile) -> Unreadable:
    """Why a file in which no engine was found has none."""
    for problem in file.problems:
        return Unreadable(file.path, f"{problem.origin.place or file.path}: {problem.message}")
    return Unreadable(
        file.path, f"{file.path}: no vLLM engine found; is this a vLLM configuration?"
    )


def _stdin() -> str:
    return decode(sys.stdin.buffer.read(MAX_BYTES + 1), Origin("file", path=STDIN))


def read_target(
    context: Any,
    *,
    vllm_version: str | None = None,
    gpu: str | None,
    gpu_count: int | None,
    gpu_memory_used_gib: float | None,
    offline: bool,
    model_config: Path | None,
) -> ResolveOptions:
    """What the options, or the settings file that stands in for them, state about the target."""
    from scheduler_reader.resolve import ResolveOptions

    stated = origins(context)
    place = stated["model_config"].place if "model_config" in stated else "--model-config"
    return ResolveOptions(
        vllm_version=vllm_version,
        gpu=gpu,
        gpu_count=gpu_count,
        gpu_memory_used_gib=gpu_memory_used_gib or 0.0,
        offline=offline,
        model_config=existing(model_config, place),
        origins=stated,
    )


def read_workload(
    name: str | None,
    isl: int | None,
    osl: int | None,
    concurrency: int | None,
    rate: float | None,
) -> Workload | None:
    """The workload the options state, or None when they state nothing."""
    from scheduler_reader.workload import DEFAULT_WORKLOAD, load_workload

    shape: dict[str, Any] = {}
    if isl is not None:
        shape["input_tokens"] = isl
    if osl is not None:
        shape["output_tokens"] = osl
    if concurrency is not None and rate is not None:
        raise UsageError("--concurrency is a closed loop, --rate an open loop: give one of them")
    if concurrency is not None:
        shape |= {"protocol": "closed-loop", "concurrency": concurrency, "rate": None}
        shape["num_requests"] = 10 * concurrency
    if rate is not None:
        shape |= {"protocol": "open-loop", "rate": rate, "concurrency": None}
    if name is None and not shape:
        return None
    base = load_workload(name) if name is not None else DEFAULT_WORKLOAD
    return base.replaced(shape)


def read_slo(ttft_ms: float | None, itl_ms: float | None, tpot_ms: float | None) -> Slo:
    """The latency objectives; a value that is not positive is a `UsageError`."""
    for option, value in (("ttft", ttft_ms), ("itl", itl_ms), ("tpot", tpot_ms)):
        if value is not None and not value > 0:
            raise UsageError(f"--slo-{option}-ms must be positive, not {value:g}")
    return Slo(ttft_ms=ttft_ms, itl_ms=itl_ms, tpot_ms=tpot_ms)


def existing(path: Path | None, option: str) -> Path | None:
    """The path, checked to exist; a missing one is a `UsageError` that names the option."""
    if path is not None and not path.exists():
        raise UsageError(f"{option} {path}: no such file or folder")
    return path
