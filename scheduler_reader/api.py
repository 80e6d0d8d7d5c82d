"""The Python interface: the readings of the command line as functions that return typed objects.

    import scheduler_reader

    for reading in scheduler_reader.diagnose("serve.yaml", vllm_version="0.18.0", gpu="l40s"):
        print(reading.capacity.num_blocks, reading.bottleneck)

Nothing is printed, and nothing is looked up that is not stated: no settings file, no network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from scheduler_reader.assessment import Assessment, Checked
from scheduler_reader.errors import InputError, SchedReaderError, UsageError
from scheduler_reader.observe.observation import observe
from scheduler_reader.observe.stated import stated_measures
from scheduler_reader.parse import parse_command, parse_file, parse_text
from scheduler_reader.parse.source import ParsedEngine, ParsedFile
from scheduler_reader.pipeline import Request, assess
from scheduler_reader.pipeline import check as find
from scheduler_reader.report.formats import json
from scheduler_reader.report.report import Report
from scheduler_reader.resolve import ResolveOptions
from scheduler_reader.rule_engine.selection import read_selection
from scheduler_reader.value import Known, Unknown, Value
from scheduler_reader.workload import Slo, Workload, load_workload, read_workload

__all__ = [
    "Assessment",
    "Checked",
    "InputError",
    "Known",
    "SchedReaderError",
    "Slo",
    "Unknown",
    "UsageError",
    "Value",
    "Workload",
    "check",
    "diagnose",
    "to_json",
]

Config: TypeAlias = str | Path | Sequence[str]


def diagnose(
    config: Config,
    *,
    text: str | None = None,
    vllm_version: str | None = None,
    gpu: str | None = None,
    gpu_count: int | None = None,
    gpu_memory_used_gib: float = 0.0,
    offline: bool = False,
    model_config: str | Path | None = None,
    workload: Workload | Mapping[str, Any] | str | None = None,
    slo: Slo | None = None,
    metrics: Sequence[str] = (),
    bench: Sequence[str] = (),
    startup_log: str | None = None,
    observed: Mapping[str, float] | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> tuple[Assessment, ...]:
    """Every engine of a configuration, read whole: one `Assessment` each.

    `config` is the path of a file, or a command line as words (`["vllm", "serve", "Qwen/Qwen3-8B"]`);
    with `text` it is only the name that the text goes by.  `workload` is a preset's name, the path
    of a workload file or trace, its content, or a `Workload`; without one the default load is taken
    and the assessment says so.  `metrics`, `bench` and `startup_log` are paths of what was observed
    (a URL among `metrics` is fetched), `observed` figures by name.  The other arguments are the options of the command line.
    Remarks in the file, a baseline and a policy are the gate's, and not applied here.

    Raises `InputError` for a file that cannot be read or holds no engine, and `UsageError` for an
    argument that names no release, GPU, preset or rule.
    """
    request = _request(
        ResolveOptions(
            vllm_version=vllm_version,
            gpu=gpu,
            gpu_count=gpu_count,
            gpu_memory_used_gib=gpu_memory_used_gib,
            offline=offline,
            model_config=_path(model_config),
        ),
        workload,
        slo,
        read_selection(select, ignore),
    ).observing(observe(metrics, bench, startup_log, stated=stated_measures(observed or {})))
    return tuple(assess(engine, request) for engine in _engines(config, text))


def check(
    config: Config,
    *,
    text: str | None = None,
    vllm_version: str | None = None,
    gpu: str | None = None,
    gpu_count: int | None = None,
    model_config: str | Path | None = None,
    workload: Workload | Mapping[str, Any] | str | None = None,
    slo: Slo | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> tuple[Checked, ...]:
    """Only the findings of every engine, in a few milliseconds each; arguments as for `diagnose`.

    Nothing is predicted where neither a workload nor an objective is stated.
    """
    target = ResolveOptions(
        vllm_version=vllm_version, gpu=gpu, gpu_count=gpu_count, model_config=_path(model_config)
    )
    request = _request(target, workload, slo, read_selection(select, ignore))
    return tuple(find(engine, request) for engine in _engines(config, text))


def to_json(readings: Sequence[Assessment]) -> str:
    """The report that `diagnose --format json` prints, for assessments that are at hand."""
    return json.render(Report.of(readings))


def _request(target: ResolveOptions, workload: Any, slo: Slo | None, rules: Any) -> Request:
    return Request(target=target, workload=_workload(workload), slo=slo or Slo(), rules=rules)


def _workload(stated: Workload | Mapping[str, Any] | str | None) -> Workload | None:
    if stated is None or isinstance(stated, Workload):
        return stated
    if isinstance(stated, str):
        return load_workload(stated)
    return read_workload(stated, "workload")


def _path(path: str | Path | None) -> Path | None:
    if path is not None and not Path(path).exists():
        raise UsageError(f"model_config {path}: no such file or folder")
    return None if path is None else Path(path)


def _engines(config: Config, text: str | None) -> tuple[ParsedEngine, ...]:
    file = _parsed(config, text)
    if not file.readable:
        raise InputError(file.why_none_is_readable)
    return file.readable


def _parsed(config: Config, text: str | None) -> ParsedFile:
    if text is not None:
        return parse_text(text, str(config))
    if isinstance(config, str | Path):
        return parse_file(str(config))
    return parse_command(config)
