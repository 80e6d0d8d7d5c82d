"""How vLLM's own parser reads arguments, release by release."""

from __future__ import annotations

from typing import Any

import pytest
from argument_inputs import issues, model, read, values

from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.source import ParsedEngine, Word
from scheduler_reader.value import Origin

OLD, MID, NEW, NEWEST = "0.8.5", "0.10.2", "0.18.0", "0.33.0"
ALL = (OLD, MID, NEW, NEWEST)

TAKEN: list[tuple[str, tuple[str, ...], dict[str, Any]]] = [
    ("m --max_num_seqs 8", ALL, {"max_num_seqs": 8}),
    ("m --max-num-seq=8", ALL, {"max_num_seqs": 8}),
    ("m --gpu-memory-util .5", ALL, {"gpu_memory_utilization": 0.5}),
    ("m -tp=8 -pp 2", ALL, {"tensor_parallel_size": 8, "pipeline_parallel_size": 2}),
    ("m -q fp8", ALL, {"quantization": "fp8"}),
    ("m -qfp8", ALL, {"quantization": "fp8"}),
    ("m --max-model-len 4K", ALL, {"max_model_len": 4096}),
    ("m --max-model-len 25.6k", ALL, {"max_model_len": 25600}),
    ("m --max-num-batched-tokens 4k", (MID, NEW, NEWEST), {"max_num_batched_tokens": 4000}),
    ("m --max-model-len auto", (NEW, NEWEST), {"max_model_len": -1}),
    ("m --max-model-len -1", (NEW, NEWEST), {"max_model_len": -1}),
    ("m -O3", (OLD, MID), {"compilation_config": {"level": 3}}),
    ("m -O 3", (OLD, MID), {"compilation_config": {"level": 3}}),
    ("m -O3", (NEW, NEWEST), {"optimization_level": 3}),
    ("m -O=1", (NEW, NEWEST), {"optimization_level": 1}),
    ("m --no-enable-prefix-caching", ALL, {"enable_prefix_caching": False}),
    ("m --disable-prefix-caching", (NEWEST,), {"enable_prefix_caching": False}),
    ("m --enable-cascade-attn", (NEWEST,), {"disable_cascade_attn": False}),
    ("m --disable-log-requests", (OLD, MID), {"disable_log_requests": True}),
    ("m --disable-log-requests", (NEWEST,), {"enable_log_requests": False}),
    ("m --served-model-name a b --seed 1", ALL, {"served_model_name": ["a", "b"], "seed": 1}),
    ("m --served-model-name a --served-model-name b", ALL, {"served_model_name": ["b"]}),
    ("m --middleware a --middleware b", ALL, {"middleware": ["a", "b"]}),
    ("m --hf-token", ALL, {"hf_token": True}),
    ("m --quantization None", ALL, {"quantization": None}),
    ('m --limit-mm-per-prompt {"image":2}', ALL, {}),
    (
        "m --limit-mm-per-prompt image=4,video=0",
        ("0.8.4", "0.9.0", "0.9.2"),
        {"limit_mm_per_prompt": {"image": 4, "video": 0}},
    ),
    ("m --enable-chunked-prefill False", ("0.8.4",), {"enable_chunked_prefill": False}),
    ("m --enable-chunked-prefill", ("0.8.4", OLD), {"enable_chunked_prefill": True}),
    (
        "m --speculative-config.method mtp --speculative-config.num_speculative_tokens=2",
        (MID, NEW, NEWEST),
        {"speculative_config": {"method": "mtp", "num_speculative_tokens": 2}},
    ),
    (
        "m -cc.pass_config.x=True -cc.splitting_ops+ a,b -cc.splitting_ops+=c",
        (NEW, NEWEST),
        {"compilation_config": {"pass_config": {"x": True}, "splitting_ops": ["a", "b", "c"]}},
    ),
    ("m -cc.size 4k", (NEW,), {"compilation_config": {"size": "4k"}}),
    ("m -cc.size 4k", (NEWEST,), {"compilation_config": {"size": 4000}}),
]

REFUSED: list[tuple[str, tuple[str, ...], str, str]] = [
    ("m --max-num-seqs 4k", ALL, "wrong_type", "--max-num-seqs"),
    ("m --max-model-len 1.5K", ALL, "wrong_type", "--max-model-len"),
    ("m --max-model-len auto", (OLD, MID), "wrong_type", "--max-model-len"),
    ("m --max-num-batched-tokens 4k", (OLD,), "wrong_type", "--max-num-batched-tokens"),
    ("m --speculative-config {method:x}", (MID, NEW, NEWEST), "wrong_type", "--speculative-config"),
    ("m --compilation-config [1]", (NEW,), "wrong_type", "--compilation-config"),
    ("m --limit-mm-per-prompt image=4", (*ALL, "0.10.0"), "wrong_type", "--limit-mm-per-prompt"),
    ("m --dtype int4", ALL, "bad_choice", "--dtype"),
    ("m --block-size 17", (OLD, MID), "bad_choice", "--block-size"),
    ("m --max-num-seqs", ALL, "missing_value", "--max-num-seqs"),
    ("m --max-num-seqs --seed 1", ALL, "missing_value", "--max-num-seqs"),
    ("m --enforce-eager=false", ALL, "unexpected_value", "--enforce-eager"),
    ("m --device cuda", (MID,), "removed", "--device"),
    ("m --device cuda", (NEWEST,), "ambiguous", "--device"),
    ("m --swap-space 4", (NEW, NEWEST), "removed", "--swap-space"),
    ("m --disable-log-requests", (NEW,), "removed", "--disable-log-requests"),
    ("m --no-enforce-eager", (OLD,), "not_yet", "--no-enforce-eager"),
    ("m --optimization-level 2", (MID,), "not_yet", "--optimization-level"),
    ("m --speculative-config.method mtp", (OLD,), "not_yet", "--speculative-config.method"),
    ("m --max-num-sequences 8", ALL, "unknown", "--max-num-sequences"),
    ("m other", ALL, "stray", "other"),
    ("--model m", (OLD, MID), "stray", "--model"),
    ("--served-model-name x -tp 2 m", (NEW, NEWEST), "stray", "--served-model-name"),
    ("m '--quantization fp8'", ALL, "stray", "--quantization fp8"),
]


def each(rows: list[Any]) -> list[Any]:
    return [
        pytest.param(
            release, *(cell for i, cell in enumerate(row) if i != 1), id=f"{release} {row[0]}"
        )
        for row in rows
        for release in row[1]
    ]


@pytest.mark.parametrize(("release", "command", "want"), each(TAKEN))
def test_release_takes(release: str, command: str, want: dict[str, Any]) -> None:
    reading = read(command, release)
    got = values(reading)
    assert model(reading) == "m"
    assert {name: got[name] for name in want} == want
    if want:
        assert not [issue for issue in reading.issues if issue.fatal]


@pytest.mark.parametrize(("release", "command", "kind", "flag"), each(REFUSED))
def test_release_refuses(release: str, command: str, kind: str, flag: str) -> None:
    assert (kind, flag, True) in issues(read(command, release))


def test_options_of_other_releases_say_which() -> None:
    (removed,) = read("m --task embed", NEW).issues
    assert (removed.until, removed.suggestion) == ("0.12.0", "--runner and --convert")
    (gone,) = read("m --swap-space 4", NEW).issues
    assert (gone.until, gone.suggestion) == ("0.17.1", None)
    assert "--kv-offloading-size" in gone.message
    (to_come,) = read("m --optimization-level 2", MID).issues
    assert to_come.since == "0.12.0"
    (misspelt,) = read("m --max-num-sequences 8", NEW).issues
    assert misspelt.suggestion == "--max-num-seqs"


def test_model_as_an_option_of_serve_works_with_a_warning_since_0_11() -> None:
    reading = read("-tp 2 --model m --served-model-name x", NEW)
    assert model(reading) == "m"
    assert issues(reading) == [("deprecated", "--model", False)]


def test_api_server_stores_a_stray_word_and_never_reads_it() -> None:
    command = "--model m '--quantization fp8'"
    for release in (MID, NEW, NEWEST):
        reading = read(command, release, "api_server")
        assert issues(reading) == [("dropped", "--quantization fp8", False)]
        assert "quantization" not in reading.settings
    assert issues(read(command, OLD, "api_server")) == [("stray", "--quantization fp8", True)]


def test_api_server_stores_one_stray_word_alone() -> None:
    reading = read("serve Qwen/Qwen3-8B --port 80", "0.11.0", "api_server")
    assert issues(reading) == [("dropped", "serve", False), ("stray", "Qwen/Qwen3-8B", True)]


def test_dotted_options_replace_json_given_to_the_same_option() -> None:
    command = """m --speculative-config '{"method": "ngram"}' --speculative-config.model d"""
    reading = read(command, NEW)
    assert values(reading) == {"speculative_config": {"model": "d"}}
    assert issues(reading) == [("repeated", "--speculative-config.model", False)]


def test_an_option_that_branches_may_add_is_not_given_twice() -> None:
    place = Origin("file", path="serve.sh", line=3)
    maybe = tuple(
        Word(f"--tensor-parallel-size={size}", place, "$PARALLEL may add it in a branch")
        for size in ("1", "8")
    )
    engine = ParsedEngine("shell", place, words=(Word("m", place), *maybe))
    reading = read_arguments(engine, flag_table(NEW))
    assert "tensor_parallel_size" in reading.settings
    assert values(reading) == {}
    assert issues(reading) == []


def test_a_value_that_does_not_convert_is_unknown_not_guessed() -> None:
    reading = read("m --max-num-seqs many", NEW)
    assert "max_num_seqs" in reading.settings
    assert values(reading) == {}


AS_WRITTEN: list[tuple[str, dict[str, Any]]] = [
    ("m --enforce-eager=false", {"enforce_eager": False}),
    ("m --no-enforce-eager=false", {"enforce_eager": True}),
    ("m --limit-mm-per-prompt image=4", {"limit_mm_per_prompt": {"image": 4}}),
    ("m --device cuda --swap-space 16", {"device": "cuda", "swap_space": 16.0}),
    ("m --disable-log-requests", {"disable_log_requests": True}),
    ("m --dtype int4", {"dtype": "int4"}),
    ("m --shift-size 8 --no-shift", {"shift_size": 8, "shift": False}),
    ("m --max-num-seqs 4k", {"max_num_seqs": "4k"}),
]


@pytest.mark.parametrize(("command", "want"), AS_WRITTEN)
def test_reading_as_written(command: str, want: dict[str, Any]) -> None:
    reading = read(command, None)
    assert model(reading) == "m"
    assert values(reading) == want
    assert reading.issues == ()
