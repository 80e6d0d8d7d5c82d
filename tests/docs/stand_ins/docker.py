"""Stands in for `docker build` and `docker run`, without an image.

`build` sees that the Dockerfile and all that it copies are there, and keeps what it says of the image.
`run` starts its entry point as the container would, with the mounted folder as working directory.
A docker on the machine reads each command line first, as far as to its daemon, which is said to be
where nobody is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="docker")
    commands = parser.add_subparsers(required=True)
    build = commands.add_parser("build")
    build.set_defaults(does=_build)
    build.add_argument("-f", type=Path, dest="file", required=True)
    build.add_argument("-t", dest="image", required=True)
    build.add_argument("context", type=Path)
    run = commands.add_parser("run")
    run.set_defaults(does=_run)
    run.add_argument("--rm", action="store_true", required=True)
    run.add_argument("--network", choices=["none"], required=True)
    run.add_argument("-v", dest="mount", required=True)
    run.add_argument("image")
    run.add_argument("arguments", nargs=argparse.REMAINDER)
    wanted = parser.parse_args(arguments)
    _have_read(os.environ["REAL_DOCKER"], arguments)
    return wanted.does(wanted)


def _have_read(real: str, arguments: list[str]) -> None:
    """See that docker itself finds nothing wrong; its namesakes (podman) are not asked."""
    if not real or "Docker version" not in _said(real, "--version"):
        return
    said = _said(real, *arguments)
    assert "connect" in said, said


def _said(*command: str) -> str:
    nowhere = os.environ | {"DOCKER_HOST": "tcp://127.0.0.1:9"}
    done = subprocess.run(command, env=nowhere, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def _build(wanted: argparse.Namespace) -> int:
    lines = wanted.file.read_text().replace("\\\n", " ").splitlines()
    instructions = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    for name, rest in instructions:
        if name == "COPY" and not rest.startswith("--from="):
            for source in rest.split()[:-1]:
                assert (wanted.context / source).exists(), f"COPY {source}"
    _image(wanted.image).write_text(json.dumps(dict(instructions)))
    return 0


def _run(wanted: argparse.Namespace) -> int:
    image = json.loads(_image(wanted.image).read_text())
    folder, where, mode = wanted.mount.split(":")
    assert (where, mode) == (image["WORKDIR"], "ro")
    started = [*json.loads(image["ENTRYPOINT"]), *(wanted.arguments or json.loads(image["CMD"]))]
    return subprocess.run(started, cwd=folder, check=False).returncode


def _image(tag: str) -> Path:
    return Path(os.environ["HOME"], re.sub(r"\W", "_", tag) + ".image.json")


sys.exit(main(sys.argv[1:]))
