"""Findings: what they say, where they point, in which order, and what is not evaluated."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from scheduler_reader.capacity import plan_capacity
from scheduler_reader.knowledge.versions import find_release
from scheduler_reader.parse import parse_file
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.rule_engine import Facts, evaluate, rules_for
from scheduler_reader.rule_engine.evaluate import SEVERITY_ORDER, functions_of
from scheduler_reader.rule_engine.facts import GivenFacts
from scheduler_reader.rule_engine.finding import Finding, NotEvaluated
from scheduler_reader.rule_engine.vocabulary import FUNCTIONS, computed_facts
from scheduler_reader.value import Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

CONFIG = """\
model: meta-llama/Llama-3.1-8B-Instruct
max-num-batched-tokens: 128
max-num-seqs: 256
frobnicate: 3
enforce-eager: true
"""


def facts_of(path: Path, text: str) -> Facts:
    path.write_text(text)
    engine = resolve(
        parse_file(str(path)).engines[0], ResolveOptions(vllm_version="0.18.0", gpu="h100")
    )
    nothing = Unknown("nothing is predicted here")
    plan = plan_capacity(engine, DEFAULT_WORKLOAD)
    return Facts.of(engine, plan, nothing, nothing, DEFAULT_WORKLOAD, Slo())


def evaluated(
    tmp_path: Path, text: str = CONFIG
) -> tuple[tuple[Finding, ...], tuple[NotEvaluated, ...]]:
    return evaluate(rules_for(find_release("0.18.0")), facts_of(tmp_path / "vllm.yaml", text))


def test_a_finding_points_to_the_setting_it_blames(tmp_path: Path) -> None:
    findings, _ = evaluated(tmp_path)
    places = {finding.code: finding.origin and finding.origin.line for finding in findings}
    assert places["CMB002"] == 2  # max-num-batched-tokens, which the rule blames
    assert places["FLG001"] == 4  # the place of the word itself
    assert places["PRF101"] == 5  # the first argument that `when` names


def test_the_gravest_come_first(tmp_path: Path) -> None:
    findings, _ = evaluated(tmp_path)
    order = [SEVERITY_ORDER[finding.severity] for finding in findings]
    assert len(set(order)) > 1
    assert order == sorted(order)


def test_an_unknown_fact_is_reported_and_not_taken_for_false(tmp_path: Path) -> None:
    unknown = CONFIG.replace("meta-llama/Llama-3.1-8B-Instruct", "my/own-model")
    findings, missing = evaluated(tmp_path, unknown + "max-model-len: 200000\n")
    assert "CMB005" not in {finding.code for finding in findings}
    reasons = {lack.code: lack.missing for lack in missing}
    assert "my/own-model" in reasons["CMB005"]


def test_given_facts_that_are_not_given_are_unknown() -> None:
    rules = [rule for rule in rules_for(find_release("0.18.0")) if rule.rule.code == "CMB002"]
    _, missing = evaluate(rules, GivenFacts({"max_num_seqs": 8}))
    assert missing == (NotEvaluated("CMB002", "max_num_batched_tokens is not given"),)


def test_every_function_of_the_language_has_a_type_and_a_meaning() -> None:
    assert functions_of(GivenFacts({})).keys() == FUNCTIONS.keys()


def test_every_fact_has_a_meaning() -> None:
    assert all(fact.meaning.endswith(".") for fact in computed_facts().values())


def test_rules_cost_little(tmp_path: Path) -> None:
    """A fleet of a thousand configurations is to be checked at 10 ms each, all stages together."""
    rules = rules_for(find_release("0.18.0"))
    facts = facts_of(tmp_path / "vllm.yaml", CONFIG)
    seconds = []
    for _ in range(10):  # the quickest: others share the machine
        start = time.process_time()
        evaluate(rules, facts)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.01


def test_loading_the_rules_parses_no_yaml() -> None:
    code = (
        "import sys; from scheduler_reader.rule_engine import rules_for;"
        "from scheduler_reader.knowledge.versions import latest; rules_for(latest());"
        "sys.exit('yaml' in sys.modules)"
    )
    rules_for(find_release("0.18.0"))  # writes the cache of the checkout where it is stale
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_file_without_a_model_is_not_read_as_vllms_default_model(tmp_path: Path) -> None:
    findings, missing = evaluated(tmp_path, "max-model-len: 200000\n")
    assert "CMB005" not in {finding.code for finding in findings}
    assert NotEvaluated("CMB005", "no model is named") in missing
