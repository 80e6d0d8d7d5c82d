"""Build hook: compiles the YAML of `rules/` and `compat_matrix/` into one JSON file each.

The wheel ships both: the YAML for people (`explain`, `--rules` examples), the JSON for speed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileDataHook(BuildHookInterface[Any]):
    """Adds `_data/<folder>.compiled.json` to a wheel; an editable install reads the YAML itself."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        try:
            from scheduler_reader.data import FOLDERS, compile_folder
        finally:
            sys.path.remove(str(root))
        scratch = Path(tempfile.mkdtemp(prefix="sched-reader-build-"))
        for name in FOLDERS:
            target = scratch / f"{name}.compiled.json"
            target.write_text(json.dumps(compile_folder(root / name), sort_keys=True))
            build_data["force_include"][str(target)] = f"scheduler_reader/_data/{target.name}"
