"""Write the generated pages of docs/: rules, options of `vllm serve`, quoted figures, public
complaints, the agent skill; and, in pages written by hand, what their commands print.

    python tools/docs.py

A test fails where a page is not what this writes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pages.claims import claims_page
from pages.commands import with_outputs
from pages.complaints import complaints_page
from pages.flags import flag_pages
from pages.lesson import with_corrections
from pages.rules import rule_pages
from pages.skill import skill_page

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDERS = ("flags", "rules")  # hold generated pages only
SINGLE = ("claims.md", "complaints.md", "skill-vllm-scheduler-reader.md")


def generated() -> dict[str, str]:
    """Every generated page: path below docs/ → text."""
    return rule_pages() | flag_pages() | claims_page() | complaints_page() | skill_page()


def written() -> dict[str, str]:
    """The pages that stand in docs/ where generated ones belong."""
    paths = [path for folder in FOLDERS for path in (DOCS / folder).glob("*.md")]
    paths += [DOCS / f"{folder}.md" for folder in FOLDERS]
    paths += [DOCS / name for name in SINGLE]
    return {
        path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.is_file()
    }


def main() -> None:
    pages = generated()
    for path in set(written()) - set(pages):
        (DOCS / path).unlink()
    for path, text in pages.items():
        (DOCS / path).parent.mkdir(exist_ok=True)
        (DOCS / path).write_text(text, encoding="utf-8")
    for page in [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]:
        text = with_corrections(page.read_text(encoding="utf-8"))
        try:
            page.write_text(with_outputs(text), encoding="utf-8")
        except RuntimeError as error:
            sys.exit(f"{page}: {error}")


if __name__ == "__main__":
    main()
