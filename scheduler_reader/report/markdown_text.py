"""Text of strangers in GitHub's and GitLab's Markdown: shown as it is, and without effect.

No link, mention, reference, HTML or table cell comes out of it.  A zero-width space behind `@`,
`#` and `:` is what keeps both sites from making mentions, references and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from scheduler_reader.report.listing import Listed
from scheduler_reader.report.rule_help import page_url

_BREAK = "&#8203;"
_MARKS = re.compile(r"([\\`*_\[\]|~$])")
_TRIGGERS = re.compile(r"[@#](?=\w)|(?<=\w):(?=//)|\bwww(?=\.)", re.IGNORECASE)
_AT_START = re.compile(r"^([-+](?=\s|$)|[-=]+$|#+(?=\s|$)|\d+(?=[.)](?:\s|$)))")


def escaped(text: str) -> str:
    """Text on one line that Markdown shows as it stands."""
    text = " ".join(text.split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _MARKS.sub(r"\\\1", text)
    text = _TRIGGERS.sub(lambda match: match[0] + _BREAK, text)
    return _AT_START.sub(lambda match: _BREAK + match[0], text)


def code(text: str) -> str:
    """Text as a code span, also in a table; one with a backtick is shown as text."""
    text = " ".join(text.split())
    if not text or "`" in text or "|" in text:
        return escaped(text)
    return f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def findings_table(entries: Sequence[Listed], docs_url: str) -> str:
    """One row a finding: how bad, where, which rule, what it says, what to do."""
    return table(
        ("", "where", "rule", "what", "fix"),
        (
            (
                one.finding.severity,
                code(str(one.place)),
                rule_link(one, docs_url),
                escaped(one.message),
                escaped(one.remedy),
            )
            for one in entries
        ),
    )


def rule_link(one: Listed, docs_url: str) -> str:
    """The rule's code and name, linked to its page where that is published."""
    url = page_url(one.finding.code, docs_url)
    title = f"{one.finding.code} {escaped(one.finding.name)}"
    return f"[{title}]({url})" if url else title
