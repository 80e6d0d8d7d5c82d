"""What releases make of the entries of a `--config` file."""

from __future__ import annotations

from argument_inputs import issues, model, read, values


def test_false_is_dropped() -> None:
    config = {"enforce-eager": False}
    for release in ("0.8.5", "0.10.2", "0.18.0", "0.33.0"):
        reading = read("m --config c.yaml", release, config=config)
        assert issues(reading) == [("dropped", "enforce-eager", False)]
        assert "enforce_eager" not in reading.settings


def test_false_counts_for_the_newest_api_server_when_spelt_with_dashes() -> None:
    command = "--model m --config c.yaml"
    reading = read(command, "0.33.0", "api_server", {"enforce-eager": False})
    assert values(reading)["enforce_eager"] is False
    reading = read(command, "0.33.0", "api_server", {"enforce_eager": False})
    assert issues(reading) == [("dropped", "enforce_eager", False)]


def test_false_counts_for_options_that_take_a_value_when_spelt_with_underscores() -> None:
    reading = read("m --config c.yaml", "0.8.4", config={"enable_chunked_prefill": False})
    assert values(reading)["enable_chunked_prefill"] is False
    reading = read("m --config c.yaml", "0.8.4", config={"enable-chunked-prefill": False})
    assert "enable_chunked_prefill" not in reading.settings


def test_command_line_wins_over_the_file() -> None:
    config = {"model": "other", "max-num-seqs": 8, "seed": 1}
    reading = read("m --config c.yaml --max-num-seqs 16", "0.18.0", config=config)
    assert model(reading) == "m"
    assert values(reading) == {"config": "c.yaml", "max_num_seqs": 16, "seed": 1}
    assert issues(reading) == []


def test_lists_and_maps_become_words_and_json_in_newer_releases_only() -> None:
    config = {"model": "m", "served-model-name": ["a", "b"], "speculative-config": {"method": "x"}}
    assert values(read("", "0.18.0", config=config)) == {
        "served_model_name": ["a", "b"],
        "speculative_config": {"method": "x"},
    }
    assert issues(read("", "0.10.2", config=config)) == [
        ("wrong_type", "--speculative-config", True)
    ]
    old = read("", "0.8.5", config=config)
    assert values(old)["served_model_name"] == ["['a', 'b']"]
    assert issues(old)[0] == ("dropped", "served-model-name", False)


def test_null_is_the_text_none() -> None:
    config = {"model": "m", "quantization": None, "max-num-seqs": None}
    reading = read("", "0.8.5", config={"model": "m", "quantization": None})
    assert values(reading) == {"quantization": None}
    assert ("wrong_type", "--max-num-seqs", True) in issues(read("", "0.18.0", config=config))


def test_quoted_false_and_unknown_keys_are_refused() -> None:
    reading = read("", "0.18.0", config={"model": "m", "enforce-eager": "false", "speed": 2})
    assert issues(reading) == [
        ("unexpected_value", "--enforce-eager", True),
        ("unknown", "--speed", True),
    ]


def test_a_file_given_with_an_equals_sign_is_never_read() -> None:
    reading = read("m --config=c.yaml", "0.18.0", config={"max-num-seqs": 8})
    assert "max_num_seqs" not in reading.settings
    assert issues(reading) == [("dropped", "--config", False)]
