"""What `compat` shows."""

from __future__ import annotations

import json
from io import StringIO

from rich.console import Console

from scheduler_reader.compat.answers import Answer
from scheduler_reader.compat.features import Feature
from scheduler_reader.compat.pairs import Cell, PairVerdict
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.report import compat as machine
from scheduler_reader.report.terminal import compat as people

LORA = Feature("lora", "LoRA adapters", (), "--enable-lora", "0.6.0", "0.33.0")
SPEC = Feature("speculative-decoding", "Speculative decoding", ("sd",), None, None, None)
STEPS = Feature("multi-step", "Multi-step", (), "--num-scheduler-steps", "0.6.0", "0.10.0")
PAIR = PairVerdict(
    first="lora",
    second="speculative-decoding",
    status="partial",
    since="0.11.1",
    until=None,
    documented=Cell("no", "0.6.3", "0.33.0"),
    code=Cell("partial", "0.11.1", "0.33.0", "needs a large budget", ("SPD108",)),
    note="Mind the budget.",
)
ANSWER = Answer(
    release=Release("0.18.0"),
    features=(LORA, SPEC, STEPS),
    pairs=(PAIR,),
    open_pairs=(("lora", "sleep-mode"),),
    absent=(STEPS,),
    hardware=(("lora", "hopper", Cell("yes", "0.6.3", "0.33.0")),),
    page="docs/features/README.md",
    status="no",
)


def test_a_set_for_people() -> None:
    target = StringIO()
    people.render(ANSWER, Console(file=target, width=80))
    assert target.getvalue() == (
        "vLLM 0.18.0  lora, speculative-decoding, multi-step\n"
        "  DO NOT GO TOGETHER\n"
        "  multi-step  not in this release; --num-scheduler-steps is there from 0.6.0 to\n"
        "  0.10.0\n"
        "\n"
        "Pairs\n"
        "  lora + speculative-decoding  limited, since 0.11.1\n"
        "    needs a large budget  [SPD108]\n"
        "    the documentation says no (0.6.3–0.33.0), the code partial (0.11.1–0.33.0);\n"
        "    the code is what runs\n"
        "    Mind the budget.\n"
        "\n"
        "Nothing is known of\n"
        "  lora + sleep-mode\n"
        "\n"
        "On hardware, as documented\n"
        "       hopper\n"
        "  lora      y\n"
        "\n"
        "documentation  vLLM 0.18.0, docs/features/README.md\n"
    )


def test_for_machines() -> None:
    document = json.loads(machine.render(ANSWER))
    assert document["status"] == "no"
    assert document["pairs"] == [
        {
            "features": ["lora", "speculative-decoding"],
            "status": "partial",
            "since": "0.11.1",
            "until": None,
            "reason": "needs a large budget",
            "rules": ["SPD108"],
            "documented": {"status": "no", "from": "0.6.3", "to": "0.33.0", "reason": None},
            "code": {
                "status": "partial",
                "from": "0.11.1",
                "to": "0.33.0",
                "reason": "needs a large budget",
            },
            "contradicted": True,
            "note": "Mind the budget.",
        }
    ]
    assert document["absent"] == ["multi-step"]
