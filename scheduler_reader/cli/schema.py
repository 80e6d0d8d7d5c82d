"""`sched-reader schema`: a JSON Schema of a release's config file."""

from __future__ import annotations

import json

import typer

from scheduler_reader.cli.plain_options import ReleaseOption, stated_release


def schema(
    vllm_version: ReleaseOption = None,
) -> None:
    """Print the JSON Schema of the `vllm serve --config` YAML of a release, for editors and CI.

    Example: sched-reader schema --vllm-version 0.18.0
    """
    from scheduler_reader.config_schema import config_schema

    release = stated_release(vllm_version)
    typer.echo(json.dumps(config_schema(release), indent=2, ensure_ascii=False))
