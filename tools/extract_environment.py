"""Write compat_matrix/environment.json: which releases of vLLM read which VLLM_ variables.

    python tools/extract_environment.py 0.18.0=FOLDER 0.19.1=FOLDER …

FOLDER is an unpacked wheel.  Nothing is imported: a variable counts as read where its name stands
in quotes, or behind `envs.`, in any Python file of the package.  A release that is already in the
file is replaced, the others stay.  Between two releases that were read nothing is known.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.version import Version

FILE = Path(__file__).resolve().parent.parent / "compat_matrix" / "environment.json"
SOURCE = "vllm/envs.py and every other Python file of the wheels of the releases listed"
NAME = re.compile(r"""(?:["']|\benvs\.)(VLLM_[A-Z0-9_]+)\b""")


def variables_of(folder: Path) -> set[str]:
    """The VLLM_ variables that a package names."""
    found: set[str] = set()
    for file in (folder / "vllm").rglob("*.py"):
        found.update(NAME.findall(file.read_text(encoding="utf-8", errors="replace")))
    return found


def runs(present: Iterable[bool], releases: list[str]) -> list[list[str]]:
    """First and last of the consecutive releases that have a variable."""
    found: list[list[str]] = []
    before = False
    for release, has in zip(releases, present, strict=True):
        if has and before:
            found[-1][1] = release
        elif has:
            found.append([release, release])
        before = has
    return found


def extended(document: dict[str, object], read: dict[str, set[str]]) -> dict[str, object]:
    """The document with further releases."""
    known = _by_release(document) | read
    releases = sorted(known, key=Version)
    names = sorted(set().union(*known.values()))
    return {
        "source": SOURCE,
        "releases": releases,
        "variables": {
            name: runs([name in known[release] for release in releases], releases) for name in names
        },
    }


def _by_release(document: dict[str, object]) -> dict[str, set[str]]:
    releases = document.get("releases", [])
    variables = document.get("variables", {})
    assert isinstance(releases, list)
    assert isinstance(variables, dict)
    return {
        release: {
            name
            for name, spans in variables.items()
            if any(Version(a) <= Version(release) <= Version(b) for a, b in spans)
        }
        for release in releases
    }


def main() -> None:
    read = {}
    for argument in sys.argv[1:]:
        release, _, folder = argument.partition("=")
        read[release] = variables_of(Path(folder))
        print(f"{release}: {len(read[release])} variables")
    old = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    FILE.write_text(json.dumps(extended(old, read), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
