"""The JSON report: its exact shape, and that it is valid JSON whatever the stages hand over."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import built_assessments as build

from scheduler_reader import __version__
from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity.plan import CapacityPlan
from scheduler_reader.knowledge.gpus import GIB
from scheduler_reader.report.formats import json as report
from scheduler_reader.report.report import Report
from scheduler_reader.report.unreadable import Unreadable
from scheduler_reader.resolve.engine import Setting
from scheduler_reader.value import Known, Origin, Unknown
from scheduler_reader.workload import Lengths, Workload


def read(*assessments: Assessment) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    document: dict[str, Any] = json.loads(
        report.render(Report.of(assessments)), parse_constant=refuse
    )
    return document


def read_one(**changes: Any) -> dict[str, Any]:
    engine: dict[str, Any] = read(build.healthy(**changes))["engines"][0]
    return engine


def test_the_document_has_version_tool_engines_and_errors() -> None:
    unreadable = [Unreadable("broken.yaml", "broken.yaml:3:1: not YAML: found a tab")]
    assert json.loads(report.render(Report.of([], unreadable))) == {
        "schema_version": "1",
        "tool": {"name": "sched-reader", "version": __version__},
        "engines": [],
        "errors": [{"path": "broken.yaml", "message": "broken.yaml:3:1: not YAML: found a tab"}],
    }


def test_an_engine_has_the_documented_parts_in_order() -> None:
    assert list(read_one()) == [
        "source",
        "vllm_version",
        "hardware",
        "model",
        "settings",
        "capacity",
        "performance",
        "observed",
        "comparison",
        "bottleneck",
        "findings",
        "suppressed",
        "tuning",
        "not_evaluated",
        "assumptions",
        "read_next",
        "measure_next",
    ]


def test_who_the_engine_is() -> None:
    engine = read_one()
    assert engine["source"] == {
        "path": "serve.yaml",
        "form": "config-yaml",
        "line": 1,
        "name": None,
    }
    assert engine["vllm_version"] == {"value": "0.18.0", "origin": "--vllm-version"}
    assert engine["hardware"]["gpu"] == "h100-sxm"
    assert engine["hardware"]["count"] == 1
    assert round(engine["hardware"]["memory_gib"], 3) == 79.2
    assert engine["model"] == {
        "id": "meta-llama/Llama-3.1-8B-Instruct",
        "origin": "serve.yaml:2:1",
        "parameters": 8.03e9,
        "weight_bytes": 16_060_522_496,
    }
    assert engine["assumptions"] == [
        "one H100 SXM, because no GPU is stated",
        "the default workload, because none is stated",
    ]
    assert (engine["observed"], engine["comparison"]) == (None, [])


def test_a_setting_has_value_origin_and_default() -> None:
    given = build.given(16384, 3, 131072, "Longest prompt plus output of one request.")
    speculation = Known({"method": "eagle3", "num_speculative_tokens": Unknown("$K")}, build.at(9))
    engine = build.engine(
        {
            "speculative_config": Setting(speculation, True, None, ""),
            "max_num_seqs": Setting(Unknown("$SEQS is not set"), True, 256, ""),
            "max_model_len": given,
        }
    )
    settings = read_one(engine=engine)["settings"]
    assert list(settings) == ["max_model_len", "max_num_seqs", "speculative_config"]
    assert settings["max_model_len"] == {
        "value": 16384,
        "origin": "serve.yaml:3:1",
        "is_set": True,
        "default": 131072,
        "controls": "Longest prompt plus output of one request.",
    }
    assert settings["max_num_seqs"]["value"] == {"unknown": "$SEQS is not set"}
    assert settings["max_num_seqs"]["origin"] is None
    assert settings["speculative_config"]["value"] == {
        "method": "eagle3",
        "num_speculative_tokens": {"unknown": "$K"},
    }


def test_capacity_is_in_gib_and_has_both_ends() -> None:
    capacity = read_one()["capacity"]
    assert capacity["starts"] is True
    assert round(capacity["weights_gib"], 6) == 14.96
    assert round(capacity["kv_cache_gib"], 6) == 54.02
    assert capacity["num_blocks"] == 27658
    assert capacity["kv_cache_tokens"] == 442528
    assert capacity["low"] == {
        "kv_cache_gib": 53.1 * GIB / GIB,
        "num_blocks": 27187,
        "kv_cache_tokens": 434992,
    }
    assert list(capacity) == [
        "starts",
        "reason",
        "total_gib",
        "budget_gib",
        "weights_gib",
        "activation_gib",
        "cuda_graph_gib",
        "non_torch_gib",
        "other_processes_gib",
        "kv_cache_gib",
        "kv_bytes_per_token",
        "block_size",
        "num_blocks",
        "kv_cache_tokens",
        "max_concurrency",
        "largest_max_model_len",
        "workload_concurrency",
        "low",
        "high",
        "remedies",
    ]


def test_performance_says_for_which_workload() -> None:
    workload = Workload(
        protocol="open-loop",
        rate=2,
        input_tokens=Lengths(constant=6000),
        output_tokens=Lengths(uniform=(100, 300)),
    )
    performance = read_one(workload=workload)["performance"]
    assert performance["workload"] == {
        "protocol": "open-loop",
        "rate": 2.0,
        "num_requests": 640,
        "start": "burst",
        "prefix_cache_hit_rate": 0.0,
        "input_tokens": 6000,
        "output_tokens": {"uniform": [100, 300]},
    }
    assert performance["ttft_ms"] == {"mean": 212.0, "p50": 97.0, "p99": 1240.0}
    assert performance["tpot_ms"] == 11.3
    assert performance["floor"] == {"itl_ms": 5.6, "bound": "memory"}
    assert performance["low"]["output_tokens_per_s"] < performance["output_tokens_per_s"]
    assert "low" not in performance["low"]
    assert performance["not_modeled"] == ["tokenizer time"]


def test_the_bottleneck_has_the_gain_of_every_lifted_limit() -> None:
    bottleneck = read_one()["bottleneck"]
    assert bottleneck["default"] == "none"
    assert bottleneck["kind"] == "decode_floor"
    assert bottleneck["lifted"][2] == {
        "limit": "token budget",
        "metric": "output_tokens_per_s",
        "before": 5120.0,
        "after": 5171.2,
        "gain": 0.01,
    }


def test_a_finding_has_its_place_and_its_fix() -> None:
    findings = read_one(findings=(build.finding(), build.finding(origin=None, fix={})))["findings"]
    assert findings[0]["location"] == {"path": "serve.yaml", "line": 3, "column": 1}
    assert findings[0]["fix"] == {"set": {"max_model_len": 2048}, "text": ""}
    assert findings[0]["predicted"] is None
    assert findings[1]["location"] is None


def test_a_tuning_step_has_its_prediction() -> None:
    assert read_one(tuning=(build.tuning_step(),))["tuning"] == [
        {
            "order": 1,
            "set": {"max_num_batched_tokens": 2048},
            "because": "Chunks of 8,192 tokens delay running decodes.",
            "predicted": {
                "before": {"itl_p99_ms": 92.0, "output_tokens_per_s": 4100.0},
                "after": {"itl_p99_ms": 31.0, "output_tokens_per_s": 4050.0},
            },
            "watch": "vllm:inter_token_latency_seconds p99",
        }
    ]


def test_what_is_unknown_has_its_reason() -> None:
    engine = read_one(
        engine=build.engine(model_id=Unknown("$MODEL is not set")),
        capacity=CapacityPlan(None, "the model is not known"),
        performance=Unknown("the model is not known"),
        bottleneck=Unknown("the model is not known"),
    )
    assert engine["model"] == {"unknown": "$MODEL is not set"}
    assert engine["capacity"]["starts"] is None
    assert engine["capacity"]["reason"] == "the model is not known"
    assert engine["capacity"]["weights_gib"] is None
    assert engine["performance"] == {"unknown": "the model is not known"}
    assert engine["bottleneck"] == {"unknown": "the model is not known"}


def test_numbers_that_are_not_finite_are_null() -> None:
    engine = read_one(performance=build.performance(tpot_ms=float("inf"), waiting=float("nan")))
    assert engine["performance"]["tpot_ms"] is None
    assert engine["performance"]["waiting"] is None


def test_secrets_are_masked() -> None:
    engine = build.engine(
        build.settings(api_key=build.given("topsecret", 7, None)),
        env={"HF_TOKEN": Known("hunter22", Origin("environment"))},
    )
    finding = build.finding(message="hunter22 topsecret", fix={"api_key": "other"})
    text = report.render(Report.of([build.healthy(engine=engine, findings=(finding,))]))
    assert "hunter22" not in text
    assert "topsecret" not in text
    assert '"other"' not in text
    assert json.loads(text)["engines"][0]["settings"]["api_key"]["value"] == "***"


def test_the_same_assessment_gives_the_same_text() -> None:
    once, again = (report.render(Report.of([build.healthy()])) for _ in range(2))
    assert once == again


def test_it_does_not_load_rich() -> None:
    code = "import sys, scheduler_reader.report.formats.json; sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
