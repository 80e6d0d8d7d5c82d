"""Options that say what was measured on a running engine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OBSERVED = "What was observed"

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        metavar="FILE|URL",
        help="The server's /metrics: a file, or a URL to fetch; twice for the time between.",
        rich_help_panel=OBSERVED,
    ),
]
MetricsInterval = Annotated[
    float | None,
    typer.Option(
        "--metrics-interval-s",
        min=0.001,
        metavar="S",
        help="Seconds between the two, where the files' times do not tell.",
        rich_help_panel=OBSERVED,
    ),
]
BenchFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--bench",
        metavar="FILE",
        help="Result of vllm bench serve, guidellm or genai-perf.",
        rich_help_panel=OBSERVED,
    ),
]
ObservedFigures = Annotated[
    list[str] | None,
    typer.Option(
        "--observed",
        metavar="NAME=VALUE",
        help="A figure you observed: itl_p99_ms=900, kv_cache_usage=97% (repeatable).",
        rich_help_panel=OBSERVED,
    ),
]
StartupLogFile = Annotated[
    Path | None,
    typer.Option(
        "--startup-log",
        metavar="FILE",
        help="What the server logged at its start, also one that failed.",
        rich_help_panel=OBSERVED,
    ),
]
