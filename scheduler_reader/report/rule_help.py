"""What a format says about a rule beside its findings: a short text, help, and where its page is."""

from __future__ import annotations

import re
from functools import cache

from scheduler_reader.record import Record
from scheduler_reader.rule_engine.finding import Confidence, Finding, Severity
from scheduler_reader.rule_engine.rule import Rule

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"(?:it\.)?(\w+)(?::\w+)?")
_VLLM = "https://github.com/vllm-project/vllm"
_LINKED = re.compile(
    r"\b(vllm/[\w/]+\.py)\b|(?:(?<=\bissue )|(?<=\bissues )|(?<= and ))(\d{4,})|\b([\w-]+/[\w-]+)#(\d+)\b"
)
_RELEASE = re.compile(r"\b\d+\.\d+\.\d+(?:\.(?:post)?\d+)?\b")


class RuleHelp(Record):
    """`about` stands for any configuration; `text` and `markdown` are the help at length."""

    about: str
    text: str
    markdown: str
    severity: Severity
    confidence: Confidence
    default: str


def help_of(finding: Finding) -> RuleHelp:
    """Help on the rule of a finding; of a user's own rule, what the finding itself knows."""
    rule = _rules().get(finding.code)
    if rule is None or rule.name != finding.name:
        parts = {"Why": finding.why, "Source": finding.source}
        return _help(finding.message, parts, finding.severity, finding.confidence, "none")
    parts = {
        "Why": _general(rule.why),
        "What to do": _general(rule.fix_text),
        "vLLM": rule.versions,
        "Source": rule.source,
        "More": f"sched-reader explain {rule.code}",
    }
    about = _general(rule.message) or f"{words(rule.name)}."
    return _help(about, parts, rule.severity, rule.confidence, rule.default)


def page_url(code: str, docs_url: str) -> str:
    """Where the page of one of our own rules is published; empty where nobody says so."""
    is_ours = code in _rules()
    return f"{docs_url.rstrip('/')}/rules/{code}.html" if docs_url and is_ours else ""


def linked_source(source: str) -> str:
    """Where vLLM does what a rule says, as Markdown: files link to their release, issues to
    vLLM's or to those of the repository before the `#`.

    A file without a release beside it is not linked: where it lies moves between releases.
    """
    return "; ".join(_linked_part(part.strip()) for part in source.split(";"))


def _linked_part(part: str) -> str:
    releases = _RELEASE.findall(part)
    pieces, start = [], 0
    for match in _LINKED.finditer(part):
        path, issue, repository, number = match.groups()
        if path and not releases:
            continue
        if path:
            url = f"{_VLLM}/blob/v{releases[-1]}/{path}"
        else:  # a pull request has the same address: the site leads on
            url = f"https://github.com/{repository or 'vllm-project/vllm'}/issues/{number or issue}"
        pieces += [_code(part[start : match.start()]), f"[`{match[0]}`]({url})"]
        start = match.end()
    return "".join([*pieces, _code(part[start:])])


def _code(text: str) -> str:
    """Text as a code span, its outer blanks outside; text with a backtick as it is."""
    inner = text.strip()
    return text if not inner or "`" in inner else text.replace(inner, f"`{inner}`")


def words(name: str) -> str:
    """A rule's name as a phrase: `Utilization leaves no margin`."""
    return name.replace("-", " ").capitalize()


def _help(
    about: str, parts: dict[str, str], severity: Severity, confidence: Confidence, default: str
) -> RuleHelp:
    kept = {title: text.strip() for title, text in parts.items() if text.strip()}
    text = "\n".join([about, *(f"{title}: {part}" for title, part in kept.items())])
    shown = {"vLLM": _code, "Source": linked_source, "More": _code}
    markdown = "\n\n".join(
        [about] + [f"**{title}**: {shown.get(title, str)(part)}" for title, part in kept.items()]
    )
    return RuleHelp(about, text, markdown, severity, confidence, default)


def _general(template: str) -> str:
    """The sentence of a rule with the facts in it in brackets: `[weights_gib] of each GPU`.

    Empty where the sentence is made up case by case: there is nothing general to say.
    """
    names = [_NAME.fullmatch(each) for each in _EXPRESSION.findall(template)]
    if None in names or _EXPRESSION.fullmatch(template):
        return ""
    return _EXPRESSION.sub(lambda match: "[" + _NAME.sub(r"\1", match[1]) + "]", template)


@cache
def _rules() -> dict[str, Rule]:
    from scheduler_reader.rule_engine import all_rules

    return {rule.code: rule for rule in all_rules()}
