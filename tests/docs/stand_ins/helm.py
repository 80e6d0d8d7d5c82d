"""Stands in for `helm template CHART`: values of values.yaml and the chart's name, nothing else."""

from __future__ import annotations

import re
import sys
from functools import reduce
from pathlib import Path

import yaml


def main(command: str, chart: Path) -> None:
    assert command == "template", command
    known = {
        "Chart": {"Name": yaml.safe_load((chart / "Chart.yaml").read_text())["name"]},
        "Release": {"Name": "release-name"},
        "Values": yaml.safe_load((chart / "values.yaml").read_text()),
    }
    for file in sorted((chart / "templates").glob("*.yaml")):
        print(f"---\n# Source: {file}")
        print(
            re.sub(r"\{\{ \.([\w.]+) \}\}", lambda found: _value(known, found[1]), file.read_text())
        )


def _value(known: object, name: str) -> str:
    return str(reduce(lambda inner, key: inner[key], name.split("."), known))  # type: ignore[index]


main(sys.argv[1], *map(Path, sys.argv[2:]))
