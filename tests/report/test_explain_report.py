"""What `explain` shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO

from rich.console import Console

from scheduler_reader.explain.defaults import DefaultRow, DefaultSpan
from scheduler_reader.explain.flags import FlagExplanation, FlagRange
from scheduler_reader.explain.lookup import Explanation
from scheduler_reader.explain.rules import RuleExplanation
from scheduler_reader.explain.terms import Term
from scheduler_reader.knowledge.flags import Replacement
from scheduler_reader.report import explain as machine
from scheduler_reader.report.terminal import explain as people
from scheduler_reader.rule_engine.rule import Rule
from scheduler_reader.rule_engine.vocabulary import Fact

RULE = Rule(
    path="rules/x.yaml",
    code="BAT901",
    name="too-wide",
    default="continuous_batching",
    severity="warning",
    confidence="high",
    effect="risk",
    versions=">=0.8.0",
    when="max_num_seqs > 8",
    for_each=None,
    blames=None,
    message="{max_num_seqs} requests.",
    why="They wait.",
    fix_text="Lower it.",
    fix_set={"max_num_seqs": 8},
    source="vllm/config.py",
    since="0.1.0",
    examples={"bad": [{"command": "vllm serve a/b --max-num-seqs 9", "version": "0.18.0"}]},
)
FLAG = FlagExplanation(
    name="--max-num-seqs",
    argument="max_num_seqs",
    controls="Most requests that may be running at once.",
    aliases=("-n",),
    ranges=(
        FlagRange("0.6.0", "0.8.5", "int", 256, None, None),
        FlagRange("0.9.0", "0.9.0", "int", None, (1, 2), "removal announced for 0.10.0"),
    ),
    defaults=(DefaultRow(("server, H100",), (DefaultSpan("0.6.0", "0.8.5", 256, "small tier"),)),),
    replacement=Replacement("--other", "twice as wide"),
    rules=(RULE,),
    terms=("running queue",),
)
TERM = Term(
    name="TTFT",
    meaning="From arrival to the first token.",
    in_vllm="vllm:time_to_first_token_seconds.",
    mistaken="Chunking does not shorten it.",
    also=("time to first token",),
    flags=("--max-num-seqs",),
    source="vllm/v1/metrics/loggers.py",
)


def shown(*explanations: Explanation) -> str:
    target = StringIO()
    people.render(explanations, Console(file=target, width=80))
    return target.getvalue()


def test_a_rule() -> None:
    fact = Fact("max_num_seqs", "number", "the engine argument max_num_seqs")
    assert shown(RuleExplanation(RULE, (fact,))) == (
        "BAT901 too-wide\n"
        "  severity  warning, high confidence\n"
        "  effect    risk\n"
        "  vLLM      >=0.8.0\n"
        "  about     continuous batching (admission)\n"
        "  when      max_num_seqs > 8\n"
        "  says      {max_num_seqs} requests.\n"
        "  why       They wait.\n"
        "  fix       --max-num-seqs 8, Lower it.\n"
        "  source    vllm/config.py\n"
        "  since     sched-reader 0.1.0\n"
        "\n"
        "Facts it uses\n"
        "  max_num_seqs  the engine argument max_num_seqs (number)\n"
        "\n"
        "Examples\n"
        "  bad  vllm serve a/b --max-num-seqs 9 (0.18.0)\n"
    )


def test_a_flag_and_a_term() -> None:
    assert shown(FLAG, TERM) == (
        "--max-num-seqs  also -n\n"
        "  Most requests that may be running at once.\n"
        "  gone after 0.9.0; use --other (twice as wide)\n"
        "\n"
        "What it takes\n"
        "  0.6.0–0.8.5  whole number  default 256\n"
        "  0.9.0        whole number  one of 1, 2; default none; deprecated, removal\n"
        "                             announced for 0.10.0\n"
        "\n"
        "What it becomes when nobody states it\n"
        "  server, H100\n"
        "    0.6.0–0.8.5  256  small tier\n"
        "\n"
        "Rules about it\n"
        "  BAT901  too-wide (risk)\n"
        "\n"
        "See also: running queue\n"
        "\n"
        "TTFT  also time to first token\n"
        "  From arrival to the first token.\n"
        "  vLLM      vllm:time_to_first_token_seconds.\n"
        "  mistaken  Chunking does not shorten it.\n"
        "  flags     --max-num-seqs\n"
        "  source    vllm/v1/metrics/loggers.py\n"
    )


def test_for_machines() -> None:
    explanations: Sequence[Explanation] = (RuleExplanation(RULE, ()), FLAG, TERM)
    document = json.loads(machine.render(explanations))
    kinds = [one["kind"] for one in document["explanations"]]
    assert kinds == ["rule", "flag", "term"]
    assert document["explanations"][1]["resolved_defaults"] == [
        {
            "deployments": ["server, H100"],
            "values": [{"from": "0.6.0", "to": "0.8.5", "value": 256, "rule": "small tier"}],
        }
    ]
