"""What a format says about a rule beside its findings: a short text, help, and where its page is."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from scheduler_reader.rule_engine.finding import Confidence, Finding, Severity
from scheduler_reader.rule_engine.rule import Rule

_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"(?:it\.)?(\w+)(?::\w+)?")


class RuleHelp(NamedTuple):
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


def words(name: str) -> str:
    """A rule's name as a phrase: `Utilization leaves no margin`."""
    return name.replace("-", " ").capitalize()


def _help(
    about: str, parts: dict[str, str], severity: Severity, confidence: Confidence, default: str
) -> RuleHelp:
    kept = {title: text.strip() for title, text in parts.items() if text.strip()}
    text = "\n".join([about, *(f"{title}: {part}" for title, part in kept.items())])
    code = {"vLLM", "Source", "More"}
    markdown = "\n\n".join(
        [about]
        + [f"**{title}**: {f'`{part}`' if title in code else part}" for title, part in kept.items()]
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
