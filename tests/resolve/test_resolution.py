"""The stage as a whole: what is assumed, what stays unknown, where values come from."""

from __future__ import annotations

import pytest

from scheduler_reader.errors import UsageError
from scheduler_reader.parse.source import ParsedEngine, Word
from scheduler_reader.resolve import ResolveOptions, resolve
from scheduler_reader.value import Known, Origin, Unknown

LINE = Origin("file", path="serve.sh", line=3, column=12)


def engine(*words: str, **fields: object) -> ParsedEngine:
    return ParsedEngine("shell", LINE, words=tuple(Word(word, LINE) for word in words), **fields)


def test_what_nobody_states_is_assumed_and_said():
    found = resolve(engine("Qwen/Qwen3-8B", "-tp", "2", "-dp", "4"))
    assert found.hardware.gpu.name == "h100-sxm"
    assert found.hardware.count == 8
    text = "\n".join(found.assumptions)
    assert "--vllm-version" in text
    assert "--gpu" in text
    assert "8 GPUs" in text


def test_the_image_states_the_release():
    found = resolve(engine("Qwen/Qwen3-8B", image_version=Known("v0.18.0", LINE)))
    assert (found.release.name, found.release_origin) == ("0.18.0", LINE)


def test_the_option_wins_over_the_image():
    parsed = engine("Qwen/Qwen3-8B", image_version=Known("0.18.0", LINE))
    assert resolve(parsed, ResolveOptions(vllm_version="0.11.0")).release.name == "0.11.0"


def test_the_llm_class_has_its_own_defaults():
    parsed = engine("Qwen/Qwen3-8B", entrypoint="llm")
    found = resolve(parsed, ResolveOptions(vllm_version="0.18.0", gpu="h100"))
    assert (found.context, found.get("max_num_batched_tokens")) == ("offline", 16384)


def test_written_values_keep_their_place():
    found = resolve(engine("Qwen/Qwen3-8B", "--max-num-seqs", "64", "--port", "9000"))
    assert found.value("max_num_seqs").origin.place == "serve.sh:3:12"
    assert found.is_set("port")


def test_an_unknown_model_leaves_the_scheduler_answered():
    options = ResolveOptions(vllm_version="0.18.0", gpu="h100")
    found = resolve(engine("nobody/has-this-model"), options)
    assert isinstance(found.model, Unknown)
    assert found.get("max_num_batched_tokens") == 8192
    assert isinstance(found.value("max_model_len"), Unknown)
    assert any("taken for a decoder" in assumption for assumption in found.assumptions)


def test_an_unknown_parallel_size_is_said():
    parsed = ParsedEngine(
        "shell",
        LINE,
        words=(
            Word("Qwen/Qwen3-8B", LINE),
            Word("-tp", LINE),
            Word("$TP", LINE, "$TP is not set in the file"),
        ),
    )
    found = resolve(parsed, ResolveOptions(gpu="h100"))
    assert isinstance(found.value("tensor_parallel_size"), Unknown)
    assert any("$TP is not set in the file" in line for line in found.assumptions)


def test_settings_are_those_of_the_release():
    old = resolve(engine("Qwen/Qwen3-8B"), ResolveOptions(vllm_version="0.9.2"))
    new = resolve(engine("Qwen/Qwen3-8B"), ResolveOptions(vllm_version="0.33.0"))
    assert "swap_space" in old.settings
    assert "swap_space" not in new.settings
    assert "watermark" not in old.settings
    assert new.get("watermark") == 0.0
    assert old.get("gpu_memory_utilization") == 0.9
    assert new.get("gpu_memory_utilization") == 0.92


@pytest.mark.parametrize("count", [0, -1])
def test_no_gpus_is_wrong_usage(count):
    with pytest.raises(UsageError, match="give 1 or more"):
        resolve(engine("Qwen/Qwen3-8B"), ResolveOptions(gpu_count=count))


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("--speculative-config", '{"method": "ngram", "num_speculative_tokens": "four"}'),
         "num_speculative_tokens"),
        (("-cc", '{"cudagraph_capture_sizes": ["a"]}'), "cudagraph_capture_sizes"),
        (("-cc", '{"cudagraph_capture_sizes": "all"}'), "cudagraph_capture_sizes"),
        (("--optimization-level", "9"), "cudagraph_mode"),
        (("--hf-overrides", '{"rope_parameters": {"rope_type": "linear", "factor": "x"}}'),
         "max_model_len"),
    ],
)  # fmt: skip
def test_nonsense_inside_options_is_unknown_and_never_an_error(arguments, name):
    found = resolve(engine("Qwen/Qwen3-8B", *arguments), ResolveOptions(vllm_version="0.24.0"))
    assert isinstance(found.value(name), Unknown)


def test_a_refused_size_is_unknown_and_an_accepted_one_is_resolved_as_written():
    arguments = ("Qwen/Qwen3-8B", "-tp", "0", "--max-num-seqs", "0")
    refused = resolve(engine(*arguments))
    assert "must be greater than" in refused.value("max_num_seqs").reason
    assert refused.hardware.count == 1
    accepted = resolve(engine(*arguments), ResolveOptions(vllm_version="0.8.5"))
    assert accepted.get("max_num_seqs") == 0
