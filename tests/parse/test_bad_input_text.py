"""Inputs that are no configuration: one clear line, in time, and never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_command, parse_file, parse_text
from scheduler_reader.parse.input_file import MAX_BYTES


def test_missing_file_folder_binary_and_oversize(tmp_path: Path) -> None:
    binary = tmp_path / "a.yaml"
    binary.write_bytes(b"\x7fELF\0\xff\xfe")
    large = tmp_path / "b.yaml"
    large.write_bytes(b"a" * (MAX_BYTES + 1))
    for path, what in [
        (tmp_path / "absent.yaml", "no such file"),
        (tmp_path, "is a folder"),
        (binary, "is not UTF-8 text"),
        (large, "larger than"),
    ]:
        with pytest.raises(InputError, match=what) as raised:
            parse_file(str(path))
        assert str(raised.value).startswith(f"{path}: ")
        assert raised.value.exit_code == 3


@pytest.mark.parametrize("text", ["", " \n\t", "hello", "- 1\n- 2\n", '{"a": 1}', "[]", "\ufeff"])
def test_text_that_is_no_configuration(text: str) -> None:
    with pytest.raises(InputError):
        parse_text(text)


def test_command_that_is_not_vllm() -> None:
    for words in (["ls", "-l"], ["vllm", "bench", "serve"], [], ["echo", "vllm", "serve"]):
        with pytest.raises(InputError, match="starts no vLLM server"):
            parse_command(words)


def test_invalid_yaml_names_line_and_column() -> None:
    parsed = parse_text("max-num-seqs: 8\n model: x\n", "serve.yaml")
    ((problem),) = parsed.problems
    assert problem.origin.place == "serve.yaml:2:7"
    assert "is not valid YAML" in problem.message
    assert parsed.engines == ()


def test_aliases_that_multiply_do_not_hang() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    parsed = parse_text("\n".join(lines), "bomb.yaml")
    assert "aliases written out" in parsed.problems[0].message


@pytest.mark.parametrize("text", ["&a [*a]", "model: &a {x: *a}", "[" * 100_000, "{" * 50_000])
def test_endless_nesting_is_a_problem(text: str) -> None:
    parsed = parse_text(text, "deep.yaml")
    assert parsed.engines == ()
    assert len(parsed.problems) == 1


def test_deeply_nested_json_value_is_a_wrong_value_only() -> None:
    nested = "[" * 100_000
    parsed = parse_command(["vllm", "serve", "m", "--hf-overrides", f"{{{nested}}}"])
    assert len(parsed.engines) == 1


def test_environment_before_the_command() -> None:
    parsed = parse_command(["VLLM_USE_V1=1", "python", "-m", "vllm.entrypoints.openai.api_server"])
    (engine,) = parsed.engines
    assert engine.entrypoint == "api_server"
    assert str(engine.env["VLLM_USE_V1"]).startswith("Known(value='1'")
