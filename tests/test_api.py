"""The Python interface: the same readings as the command line's, as typed objects."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler_reader import api
from scheduler_reader.value import Known

EXAMPLE = Path(__file__).parent.parent / "examples" / "llama-3.1-8b-long-prompts.yaml"
LOAD = {
    "protocol": "closed-loop",
    "concurrency": 16,
    "num_requests": 80,
    "input_tokens": 12000,
    "output_tokens": 200,
}


def test_a_file_is_read_whole():
    (reading,) = api.diagnose(EXAMPLE, vllm_version="0.18.0", gpu="h100", workload=LOAD)
    assert reading.capacity.starts is True
    assert isinstance(reading.bottleneck, Known)
    assert reading.bottleneck.value.kind == "chunk_too_small"
    (engine,) = json.loads(api.to_json([reading]))["engines"]
    assert engine["bottleneck"]["kind"] == "chunk_too_small"


def test_a_command_line_and_text_are_inputs_too():
    words = ["vllm", "serve", "Qwen/Qwen3-8B", "--max-num-seqs", "4"]
    (of_words,) = api.diagnose(words, vllm_version="0.18.0", gpu="h100")
    (of_text,) = api.diagnose("serve.sh", text=" ".join(words), vllm_version="0.18.0", gpu="h100")
    assert of_words.engine.get("max_num_seqs") == of_text.engine.get("max_num_seqs") == 4
    assert any("nobody states" in assumption for assumption in of_text.assumptions)


def test_check_has_the_findings_alone():
    (checked,) = api.check(
        ["vllm", "serve", "Qwen/Qwen3-8B", "--max-num-sequences", "4"],
        vllm_version="0.18.0",
        select=["FLG"],
    )
    assert [finding.effect for finding in checked.findings]
    assert all(finding.code.startswith("FLG") for finding in checked.findings)


@pytest.mark.parametrize(
    ("config", "options", "error", "words"),
    [
        ("no-such.yaml", {}, api.InputError, "no-such.yaml"),
        (EXAMPLE, {"gpu": "h1000"}, api.UsageError, "h1000"),
        (EXAMPLE, {"vllm_version": "new"}, api.UsageError, "new"),
        (EXAMPLE, {"workload": "no-such-preset"}, api.UsageError, "no-such-preset"),
        (EXAMPLE, {"select": ["ZZZ"]}, api.UsageError, "ZZZ"),
        (EXAMPLE, {"model_config": "nowhere"}, api.UsageError, "nowhere"),
    ],
)
def test_a_users_mistake_is_an_error_of_ours(config, options, error, words):
    with pytest.raises(error, match=words):
        api.diagnose(config, **options)


def test_a_file_without_an_engine_says_so():
    with pytest.raises(api.InputError, match=r"x\.yaml"):
        api.diagnose("x.yaml", text="a: b\n")


def test_what_was_observed_stands_beside_the_prediction():
    bench = Path(__file__).parent / "observe" / "inputs" / "bench-closed-loop.json"
    (reading,) = api.diagnose(EXAMPLE, vllm_version="0.18.0", gpu="h100", bench=[str(bench)])
    assert reading.workload.concurrency == 64
    assert {one.metric for one in reading.comparison} >= {"ttft_mean_ms", "output_tokens_per_s"}


def test_the_functions_are_there_at_the_top():
    import scheduler_reader

    assert scheduler_reader.diagnose is api.diagnose
    assert scheduler_reader.check is api.check
    with pytest.raises(AttributeError, match="no_such"):
        _ = scheduler_reader.no_such
