"""Stands in for `kustomize build FOLDER`: that of kubectl, or where there is none, resources alone."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml


def main(command: str, folder: Path) -> None:
    assert command == "build", command
    if shutil.which("kubectl"):
        os.execvp("kubectl", ["kubectl", "kustomize", str(folder)])
    print("---\n".join(_resources(folder)))


def _resources(path: Path) -> Iterator[str]:
    if path.is_file():
        yield path.read_text()
        return
    asked = yaml.safe_load((path / "kustomization.yaml").read_text())
    assert set(asked) == {"resources"}, asked
    for resource in asked["resources"]:
        yield from _resources(path / resource)


main(sys.argv[1], *map(Path, sys.argv[2:]))
