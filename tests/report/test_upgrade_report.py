"""What `upgrade` shows."""

from __future__ import annotations

import json
from io import StringIO

import built_assessments as build
from rich.console import Console

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.report import upgrade as machine
from scheduler_reader.report.terminal import upgrade as people
from scheduler_reader.upgrade.changes import (
    BehaviourChange,
    Change,
    FlagChange,
    NewFlag,
    SettingChange,
    Upgrade,
)
from scheduler_reader.upgrade.rewrite import Rewrite
from scheduler_reader.value import Known, Origin

BEFORE = build.healthy(findings=())
AFTER = BEFORE._replace(engine=BEFORE.engine._replace(release=Release("0.20.0")))
UPGRADE = Upgrade(
    before=BEFORE,
    after=AFTER,
    flags=(
        FlagChange("removed", "--swap-space", "vLLM 0.20.0 no longer has it", build.at(4), None),
    ),
    settings=(
        SettingChange(
            "gpu_memory_utilization",
            Known(0.9, Origin("vllm default", "default of vLLM 0.18.0: CacheConfig")),
            Known(0.92, Origin("vllm default", "default of vLLM 0.20.0: CacheConfig")),
            is_set=False,
            controls="Share of the GPU's memory.",
            effect={"num_blocks": Change(24624, 25345), "kv_cache_gib": Change(54.1, 55.7)},
        ),
    ),
    metrics={"num_blocks": Change(24393, 25345), "ttft_ms.mean": Change(212.0, 180.0)},
    new_findings=(build.finding(),),
    gone_findings=(),
    behaviours=(
        BehaviourChange("a", "graphs count", False, True, "0.20.0"),
        BehaviourChange("b", "who waits", "common", "own_queue", "0.19.0"),
    ),
    new_flags=(NewFlag("--watermark", "0.24.0", "keeps blocks free"),),
)
REWRITES = (
    Rewrite("--swap-space", build.at(4), None, "V1 never swaps", True),
    Rewrite("--task", build.at(5), None, "'embed' has no single successor", False),
)


def test_for_people() -> None:
    target = StringIO()
    people.render([UPGRADE], REWRITES, Console(file=target, width=80))
    assert target.getvalue() == (
        "vLLM 0.18.0 → 0.20.0  meta-llama/Llama-3.1-8B-Instruct\n"
        "  serve.yaml:1:1, 1 × NVIDIA H100 SXM 80 GB\n"
        "  STARTS\n"
        "\n"
        "Flags that are read otherwise\n"
        "  serve.yaml:4:1  removed  vLLM 0.20.0 no longer has it\n"
        "\n"
        "Settings that move although the file stays the same\n"
        "  gpu_memory_utilization  0.9 → 0.92\n"
        "    rule    default of vLLM 0.20.0: CacheConfig\n"
        "    effect  KV blocks 24,624 → 25,345, KV cache GiB 54.1 → 55.7\n"
        "\n"
        "In this deployment's numbers, all changes together\n"
        "  KV blocks  24,393  →  25,345  +3.9%\n"
        "  TTFT mean  212 ms  →  180 ms  -15%\n"
        "\n"
        "New findings\n"
        "  serve.yaml:3:1  note  MEM104 oversized-context  max_model_len is 16,384 and\n"
        "    the longest request of the workload is 1,280 tokens.\n"
        "\n"
        "What vLLM does otherwise\n"
        "  since 0.20.0  graphs count\n"
        "  since 0.19.0  who waits (common → own queue)\n"
        "\n"
        "New options worth a look\n"
        "  --watermark  since 0.24.0  keeps blocks free\n"
        "\n"
        "Rewritten in the file\n"
        "  serve.yaml:4:1  --swap-space  taken out: V1 never swaps\n"
        "  serve.yaml:5:1  --task  left alone: 'embed' has no single successor\n"
    )


def test_for_machines() -> None:
    document = json.loads(machine.render([UPGRADE], REWRITES))
    engine = document["engines"][0]
    assert (engine["from"], engine["to"], engine["refused"]) == ("0.18.0", "0.20.0", True)
    assert engine["flags"][0]["location"] == {"path": "serve.yaml", "line": 4, "column": 1}
    assert engine["settings"]["gpu_memory_utilization"] == {
        "before": 0.9,
        "after": 0.92,
        "before_because": "default of vLLM 0.18.0: CacheConfig",
        "after_because": "default of vLLM 0.20.0: CacheConfig",
        "is_set": False,
        "controls": "Share of the GPU's memory.",
        "effect": {
            "num_blocks": {"before": 24624, "after": 25345},
            "kv_cache_gib": {"before": 54.1, "after": 55.7},
        },
    }
    assert [rewrite["done"] for rewrite in document["rewrites"]] == [True, False]
