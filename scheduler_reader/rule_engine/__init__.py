"""Rules as data: load them, evaluate them on the facts of one engine, hand back findings."""

from __future__ import annotations

from scheduler_reader.rule_engine.evaluate import evaluate
from scheduler_reader.rule_engine.facts import Facts
from scheduler_reader.rule_engine.load import all_rules, rules_for
from scheduler_reader.rule_engine.selection import Selection
from scheduler_reader.rule_engine.sources import Sources

__all__ = ["Facts", "Selection", "Sources", "all_rules", "evaluate", "rules_for"]
