"""`sched-reader schema`: a JSON Schema of a release's config file."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from scheduler_reader.cli.messages import tell


def schema(
    vllm_version: Annotated[
        str | None,
        typer.Option("--vllm-version", metavar="V", help="The release; newest if unsaid."),
    ] = None,
) -> None:
    """Print the JSON Schema of the `vllm serve --config` YAML of a release, for editors and CI.

    Example: sched-reader schema --vllm-version 0.18.0
    """
    from scheduler_reader.config_schema import config_schema
    from scheduler_reader.knowledge.versions import find_release, latest

    release = find_release(vllm_version) if vllm_version else latest()
    if release.assumption:
        tell(release.assumption)
    typer.echo(json.dumps(config_schema(release), indent=2, ensure_ascii=False))
