"""The options that commands share, as annotated types, and what they mean together."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler_reader.cli.plain_options import OUTPUT
from scheduler_reader.report import formats

TARGET = "What is read"
LOAD = "Workload and objectives"

VllmVersion = Annotated[
    str | None,
    typer.Option(
        "--vllm-version", metavar="V", help="Read as this vLLM release.", rich_help_panel=TARGET
    ),
]
GpuName = Annotated[
    str | None,
    typer.Option("--gpu", metavar="NAME", help="GPU, by any usual name.", rich_help_panel=TARGET),
]
GpuCount = Annotated[
    int | None,
    typer.Option(
        "--gpu-count", min=1, metavar="N", help="GPUs the engine can see.", rich_help_panel=TARGET
    ),
]
GpuMemoryUsed = Annotated[
    float | None,
    typer.Option(
        "--gpu-memory-used-gib",
        min=0.0,
        metavar="GIB",
        help="What other processes hold on each GPU.",
        rich_help_panel=TARGET,
    ),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline/--no-offline",
        help="Defaults of the LLM class, not of the server.",
        rich_help_panel=TARGET,
    ),
]
ModelConfig = Annotated[
    Path | None,
    typer.Option(
        "--model-config",
        metavar="PATH",
        help="A local config.json or model folder.",
        rich_help_panel=TARGET,
    ),
]
Hub = Annotated[
    bool,
    typer.Option(
        "--hub",
        help="Fetch the model's config and tensor sizes from the Hugging Face hub.",
        rich_help_panel=TARGET,
    ),
]
WorkloadName = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="W",
        help="A preset (list workloads), a JSON or YAML file, or a trace (.jsonl, .csv).",
        rich_help_panel=LOAD,
    ),
]
InputTokens = Annotated[
    int | None,
    typer.Option("--isl", min=1, metavar="N", help="Prompt tokens.", rich_help_panel=LOAD),
]
OutputTokens = Annotated[
    int | None,
    typer.Option("--osl", min=1, metavar="N", help="Output tokens.", rich_help_panel=LOAD),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        min=1,
        metavar="N",
        help="Requests in flight (closed loop).",
        rich_help_panel=LOAD,
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--rate",
        min=0.0,
        metavar="R",
        help="Requests per second (open loop).",
        rich_help_panel=LOAD,
    ),
]
CalibrationFile = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        metavar="FILE",
        help="Constants fitted to your own runs: see calibrate.",
        rich_help_panel=TARGET,
    ),
]
AcceptanceLength = Annotated[
    float | None,
    typer.Option(
        "--acceptance-length",
        min=1.0,
        metavar="N",
        help="Tokens a step yields with speculative decoding, the target's own included.",
        rich_help_panel=LOAD,
    ),
]
SloTtft = Annotated[
    float | None,
    typer.Option("--slo-ttft-ms", metavar="MS", help="Time to first token.", rich_help_panel=LOAD),
]
SloItl = Annotated[
    float | None,
    typer.Option(
        "--slo-itl-ms",
        metavar="MS",
        help="A request's 99th-percentile gap between tokens.",
        rich_help_panel=LOAD,
    ),
]
SloTpot = Annotated[
    float | None,
    typer.Option(
        "--slo-tpot-ms",
        metavar="MS",
        help="A request's mean gap between tokens.",
        rich_help_panel=LOAD,
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="CODE",
        help="Only rules whose code starts so: MEM, CMB0 (repeatable, or with commas).",
        rich_help_panel=OUTPUT,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="CODE",
        help="Not the rules whose code starts so.",
        rich_help_panel=OUTPUT,
    ),
]


if TYPE_CHECKING:
    FormatName = str
else:
    FormatName = StrEnum("FormatName", {name: name for name in formats.names()})

Format = Annotated[
    FormatName | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help=f"What stdout gets: {', '.join(formats.names())}.",
        rich_help_panel=OUTPUT,
    ),
]
OutputFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        metavar="FORMAT=FILE",
        help="Write a format to a file as well (repeatable).",
        rich_help_panel=OUTPUT,
    ),
]


class FailOn(StrEnum):
    error = "error"
    warning = "warning"
    note = "note"
    never = "never"


FailOnOption = Annotated[
    FailOn,
    typer.Option("--fail-on", help="Exit 1 from this severity on.", rich_help_panel=OUTPUT),
]
RequireFacts = Annotated[
    bool,
    typer.Option(
        "--require-facts/--no-require-facts",
        help="Exit 4 if a rule could not be evaluated for lack of a fact.",
        rich_help_panel=OUTPUT,
    ),
]
Severity = Annotated[
    list[str] | None,
    typer.Option(
        "--severity",
        metavar="CODE=LEVEL",
        help="Another severity for the rules whose code starts so: MEM103=note (repeatable).",
        rich_help_panel=OUTPUT,
    ),
]
PolicyThreshold = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="NAME=VALUE",
        help="A threshold that every engine is held to: min_kv_tokens=200000 (repeatable).",
        rich_help_panel=OUTPUT,
    ),
]
BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Findings of this file are known and do not fail the run.",
        rich_help_panel=OUTPUT,
    ),
]
WriteBaseline = Annotated[
    Path | None,
    typer.Option(
        "--write-baseline",
        metavar="FILE",
        help="Write what is found to a baseline, JSON or YAML by its name.",
        rich_help_panel=OUTPUT,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help=r"Take \[profile.NAME] of the settings file over its other settings.",
        rich_help_panel=TARGET,
    ),
]
Rules = Annotated[
    list[Path] | None,
    typer.Option(
        "--rules", metavar="DIR", help="A folder of further rules.", rich_help_panel=OUTPUT
    ),
]
