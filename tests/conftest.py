"""Where recorded truth lies, for the tests that need it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with recorded corpus, truth and oracle; skips where it is absent."""
    folder = Path(os.environ.get("SCHED_READER_SHARED") or ROOT.parent / "shared")
    if not (folder / "accept" / "accept.py").is_file():
        pytest.skip(f"recorded truth is not at {folder} (SCHED_READER_SHARED)")
    return folder
