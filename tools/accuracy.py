"""Write docs/accuracy.md and docs/accuracy.svg: predictions against published serving runs.

    python tools/accuracy.py

Takes about half a minute.
"""

from __future__ import annotations

from pathlib import Path

import yaml
from pages.accuracy import accuracy_page, scatter
from pages.draft_effects import draft_section, published_effects
from pages.predictions import predicted_cases
from pages.unstated_loads import OTHERWISE

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "tests" / "performance" / "published_runs.yaml"
DRAFTS = ROOT / "tests" / "performance" / "published_drafts.yaml"
DOCS = ROOT / "docs"
UNSTATED = "nvidia-gap"  # the source that states neither arguments nor lengths


def main() -> None:
    document = yaml.safe_load(RUNS.read_text(encoding="utf-8"))
    cases = predicted_cases(document)
    unstated = [one for one in document["series"] if one["source"] == UNSTATED]
    otherwise = {
        name: predicted_cases({"series": [{**one, **changed} for one in unstated]})
        for name, changed in OTHERWISE.items()
    }
    effects = published_effects(yaml.safe_load(DRAFTS.read_text(encoding="utf-8")))
    page = accuracy_page(cases, document["misses"], otherwise, draft_section(effects))
    (DOCS / "accuracy.md").write_text(page, encoding="utf-8")
    (DOCS / "accuracy.svg").write_text(scatter(cases), encoding="utf-8")


if __name__ == "__main__":
    main()
