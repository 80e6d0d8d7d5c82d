"""docs/skill-vllm-scheduler-reader.md: the agent skill as `sched-reader skill` writes it."""

from __future__ import annotations

from scheduler_reader.knowledge.versions import latest
from scheduler_reader.report.skill.document import SINGLE_FILE, single_file


def skill_page() -> dict[str, str]:
    """Path below docs/ → text."""
    return {SINGLE_FILE: single_file(latest())}
