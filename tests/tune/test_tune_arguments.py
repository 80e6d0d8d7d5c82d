"""An engine with changed arguments reads as if its file said so."""

from __future__ import annotations

import shlex

from scheduler_reader.knowledge.flags import flag_table
from scheduler_reader.parse import parse_command, parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.changed_arguments import option_words, with_arguments

V018 = flag_table("0.18.0")


def settings(parsed, changes, table=V018):
    reading = read_arguments(with_arguments(parsed, changes, table), table)
    assert [issue for issue in reading.issues if issue.fatal or issue.kind == "repeated"] == []
    return {name: value.value for name, value in reading.settings.items()}


def command(text):
    return parse_command(["vllm", "serve", *shlex.split(text)]).engines[0]


def test_a_given_argument_is_given_once_with_its_new_value():
    parsed = command("m/x --max-num-seqs 8 -tp=2 --enforce-eager --port 1")
    changes = {"max_num_seqs": 64, "tensor_parallel_size": 1, "enforce_eager": False}
    assert settings(parsed, changes) == {
        "max_num_seqs": 64,
        "tensor_parallel_size": 1,
        "enforce_eager": False,
        "port": 1,
    }


def test_other_arguments_and_the_model_stay():
    parsed = with_arguments(command("m/x --port 1"), {"max_num_seqs": 64}, V018)
    assert [word.text for word in parsed.words] == ["m/x", "--port", "1", "--max-num-seqs", "64"]


def test_the_key_of_a_config_file_gives_way():
    text = "model: m/x\nenable-prefix-caching: true\nmax_num_seqs: 8\n"
    parsed = parse_text(text, "serve.yaml").engines[0]
    found = settings(parsed, {"max_num_seqs": 16, "enable_prefix_caching": False})
    assert (found["max_num_seqs"], found["enable_prefix_caching"]) == (16, False)


def test_a_key_of_a_json_argument_leaves_the_others():
    parsed = command(
        """m/x --speculative-config '{"method": "ngram", "num_speculative_tokens": 5}'"""
    )
    found = settings(parsed, {"speculative_config.num_speculative_tokens": 2})
    assert found["speculative_config"] == {"method": "ngram", "num_speculative_tokens": 2}


def test_words_are_those_of_the_release():
    assert option_words("enable_prefix_caching", False, V018) == ("--no-enable-prefix-caching",)
    assert option_words("enforce_eager", False, flag_table("0.8.5")) == ()
    assert option_words("enable_chunked_prefill", True, flag_table("0.8.4")) == (
        "--enable-chunked-prefill=true",
    )
    assert option_words("gpu_memory_utilization", 0.95, V018) == (
        "--gpu-memory-utilization",
        "0.95",
    )
