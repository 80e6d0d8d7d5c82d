"""`sched-reader list`: what is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from scheduler_reader.cli.conversion import Group, PlainCommand
from scheduler_reader.cli.plain_options import (
    FormatOption,
    PlainFormat,
    ReleaseOption,
    stated_release,
)

app = typer.Typer(
    name="list",
    help="""What is known: GPUs, models, vLLM releases, flags, rules, workloads, quoted figures.

    Example: sched-reader list flags --vllm-version 0.18.0
    """,
    cls=Group,
    add_completion=False,
)


@app.command(cls=PlainCommand)
def versions(format: FormatOption = PlainFormat.terminal) -> None:
    """The vLLM releases whose behaviour is known."""
    from scheduler_reader.knowledge.versions import releases

    if format is PlainFormat.json:
        _print_json({"versions": list(releases())})
    else:
        typer.echo("\n".join(releases()))


@app.command(cls=PlainCommand)
def flags(
    vllm_version: ReleaseOption = None,
    format: FormatOption = PlainFormat.terminal,
) -> None:
    """The flag table of a release, as `vllm serve` of that release parses it."""
    from scheduler_reader.knowledge.flags import flag_table

    release = stated_release(vllm_version)
    table = flag_table(release)
    if format is PlainFormat.json:
        _print_json({"vllm_version": release.name, "flags": table.to_json()})
        return
    rows = [
        (name, str(flag["type"]), _short(flag["default"]), _short(flag.get("choices") or ""))
        for name, flag in table.to_json().items()
    ]
    _print_table(f"vLLM {release.name}", ("flag", "type", "default", "choices"), rows)


@app.command(cls=PlainCommand)
def gpus(format: FormatOption = PlainFormat.terminal) -> None:
    """The GPU catalogue."""
    from scheduler_reader.knowledge.gpus import all_gpus

    known = all_gpus()
    if format is PlainFormat.json:
        _print_json({"gpus": [asdict(gpu) for gpu in known]})
        return
    rows = [
        (
            gpu.name,
            gpu.title,
            f"{gpu.memory_gib:.1f}",
            f"{gpu.memory_bandwidth_bytes_per_s / 1e12:.2f}",
            gpu.compute_capability,
        )
        for gpu in known
    ]
    _print_table("GPUs", ("name", "card", "GiB", "TB/s", "capability"), rows)


@app.command(cls=PlainCommand)
def models(format: FormatOption = PlainFormat.terminal) -> None:
    """The model catalogue.  A local config.json always works: --model-config."""
    from scheduler_reader.knowledge.models import all_models

    known = all_models()
    if format is PlainFormat.json:
        _print_json({"models": [asdict(model) for model in known]})
        return
    rows = [
        (
            model.id,
            model.architecture,
            str(model.layers),
            str(model.kv_heads),
            model.quantization.method if model.quantization else model.dtype,
        )
        for model in known
    ]
    _print_table("Models", ("id", "architecture", "layers", "KV heads", "weights"), rows)


@app.command(cls=PlainCommand)
def rules(format: FormatOption = PlainFormat.terminal) -> None:
    """The rules, with severity and the vLLM versions they hold for."""
    from scheduler_reader.rule_engine import all_rules

    known = all_rules()
    if format is PlainFormat.json:
        _print_json(
            {
                "rules": [
                    {
                        "code": rule.code,
                        "name": rule.name,
                        "severity": rule.severity,
                        "effect": rule.effect,
                        "versions": str(rule.versions),
                    }
                    for rule in known
                ]
            }
        )
        return
    rows = [(r.code, r.name, r.severity, r.effect, str(r.versions) or "all") for r in known]
    _print_table("Rules", ("code", "name", "severity", "effect", "vLLM"), rows)


@app.command(cls=PlainCommand)
def workloads(format: FormatOption = PlainFormat.terminal) -> None:
    """The workload presets for --workload."""
    from scheduler_reader.workload import presets

    known = presets()
    if format is PlainFormat.json:
        _print_json({"workloads": [load.as_file() for load in known]})
        return
    rows = [
        (load.name or "", load.protocol, load.input_tokens.summary, load.output_tokens.summary)
        for load in known
    ]
    _print_table("Workloads", ("name", "protocol", "input tokens", "output tokens"), rows)


@app.command(cls=PlainCommand)
def claims(format: FormatOption = PlainFormat.terminal) -> None:
    """Figures that are quoted everywhere; `explain NAME` checks one."""
    from scheduler_reader.claims.claim import all_claims

    known = all_claims()
    if format is PlainFormat.json:
        entries = [
            {"name": one.name, "says": one.says, "at_least": one.least, "at_most": one.most}
            for one in known
        ]
        _print_json({"claims": entries})
        return
    _print_table("Quoted figures", ("name", "says"), [(one.name, one.says) for one in known])


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def _short(value: Any) -> str:
    if isinstance(value, list):
        return " ".join("none" if item is None else str(item) for item in value)
    if isinstance(value, dict):
        return str(value.get("dynamic") or json.dumps(value))
    return "" if value is None else str(value)


def _print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)
