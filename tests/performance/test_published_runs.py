"""The closed form against every published vLLM run of a dense model on H100 SXM."""

from __future__ import annotations

import re
from statistics import median

import yaml

from scheduler_reader.performance import operating_estimate
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo, Workload

MODELS = {"llama-3.3-70b": "nvidia/Llama-3.3-70B-Instruct-FP8", "qwen3-32b": "Qwen/Qwen3-32B"}


def runs(shared):
    text = (shared / "truth" / "perf_cases.yaml").read_text()
    for run in yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["cases"]:
        is_dense = run["model"] in MODELS and run["confidence"] in ("high", "medium")
        if is_dense and run["gpu"].startswith("H100-SXM") and run["version"].startswith("vllm"):
            yield run


def test_median_errors_of_published_runs(shared, served):
    tpot_errors, rate_errors = [], []
    for run in runs(shared):
        load = Workload(
            concurrency=run["concurrency"],
            num_requests=10 * run["concurrency"],
            input_tokens=Lengths(uniform=(round(0.8 * run["isl"]), run["isl"])),
            output_tokens=Lengths(uniform=(round(0.8 * run["osl"]), run["osl"])),
        )
        given = run["flags"]
        names = ("max_num_seqs", "max_num_batched_tokens", "kv_cache_dtype")
        flags = " ".join(f"--{n.replace('_', '-')} {given[n]}" for n in names if n in given)
        length = run["isl"] + run["osl"] + 256
        release = re.search(r"\d+\.\d+\.\d+", run["version"])
        assert release is not None
        engine, plan = served(
            f"{MODELS[run['model']]} -tp {run['tp']} --max-model-len {length} {flags}",
            load,
            version=release.group(),
        )
        found = operating_estimate(engine, plan, load, Slo())
        assert isinstance(found, Known), (run["id"], found)
        gaps, seen = 0.9 * run["osl"] - 1, run["observed"]
        took = found.value.ttft_ms.mean + gaps * found.value.tpot_ms
        tpot_errors.append(abs(found.value.tpot_ms / seen["tpot_ms"] - 1))
        rate_errors.append(abs((seen["ttft_ms"] + gaps * seen["tpot_ms"]) / took - 1))
    assert len(tpot_errors) >= 40
    assert median(tpot_errors) < 0.06
    assert median(rate_errors) < 0.10
