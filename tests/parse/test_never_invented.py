"""Whatever is read, every text in it stands in the input: nothing is invented, nothing crashes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.flags import any_release_table, flag_table
from scheduler_reader.knowledge.versions import find_release
from scheduler_reader.parse import parse_command, parse_text
from scheduler_reader.parse.arguments import read_arguments
from scheduler_reader.parse.expand import expand, joined
from scheduler_reader.parse.parsed_json import read_as_written
from scheduler_reader.parse.source import ParsedFile
from scheduler_reader.value import Known

OPTIONS = sorted(any_release_table().names)
VALUES = st.sampled_from(
    (
        "8",
        "0.9",
        "auto",
        "-1",
        "4k",
        "1e400",
        "²",
        "9" * 30,
        "true",
        "None",
        "{}",
        '{"a": 1}',
        "[1]",
    )
) | st.text(alphabet="abc=,.:{}[]'\"\\ -_09", max_size=12)
ARGUMENTS = st.lists(
    st.sampled_from(OPTIONS)
    | st.builds("{}={}".format, st.sampled_from(OPTIONS), VALUES)
    | st.builds("{}.{}".format, st.sampled_from(OPTIONS), st.text(alphabet="ab.+", max_size=4))
    | VALUES,
    max_size=8,
)
LINES = st.lists(
    st.sampled_from(
        (
            *("model: m", "max-num-seqs: 8", "  - a", "spec:", "  containers:", "kind: Pod", "---"),
            *("    - image: vllm/vllm-openai:v0.9.0", "      args: [--model=m, --seed=1]", "a: &a"),
            *(
                "  command: vllm serve m",
                "services:",
                "  x:",
                "    image: vllm/vllm-openai",
                "b: *a",
            ),
            *("    command: --model ${M:-m} --seed 3", "<<: *a", "? [x]", "env: {A: b}", "- |"),
            *("  vllm serve m \\", "vllm serve $A", "A=1", "if true; then", "fi", "'", "$(("),
        )
    )
    | st.text(alphabet="ab:- {}[]'\"|>&*#$\\%!?,\t=", max_size=16),
    max_size=12,
)


def texts(value: Any) -> Iterator[str]:
    """Every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (*texts(key), *texts(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)


@pytest.mark.parametrize("version", ["0.6.0", "0.10.2", "0.33.0"])
@given(arguments=ARGUMENTS)
@settings(max_examples=80, deadline=None)
def test_the_argument_parser_invents_nothing(version: str, arguments: list[str]) -> None:
    (engine,) = parse_command(["vllm", "serve", "m", *arguments]).engines
    written = " ".join(["m", *arguments])
    has_dots = any(word.startswith("-") and "." in word for word in arguments)
    for table in (flag_table(find_release(version)), any_release_table()):
        for value in read_arguments(engine, table).settings.values():
            if isinstance(value, Known) and not has_dots:  # dotted options become JSON of our own
                assert all(text in written for text in texts(value.value))


@pytest.mark.parametrize("name", ["x.yaml", "compose.yaml", "x.sh", "Dockerfile", "x.tf", "x"])
@given(lines=LINES)
@settings(max_examples=60, deadline=None)
def test_files_invent_nothing(name: str, lines: list[str]) -> None:
    source = "\n".join(["vllm serve m --port 1" if name == "x.sh" else "", *lines])
    try:
        file = parse_text(source, name)
    except InputError:
        return
    without_breaks = "".join(source.split())
    for text in _read(file):
        for word in text.split():
            if word == "None":  # what vLLM's reader of a --config file makes of null
                continue
            assert all(part in without_breaks for part in word.split("\\")), (word, source)


def _read(file: ParsedFile) -> Iterator[str]:
    for engine in file.engines:
        for value in (*read_as_written(engine).settings.values(), *engine.env.values()):
            if isinstance(value, Known):
                yield from texts(value.value)


@given(
    text=st.text(alphabet="ab$X{}():-+?=' \"\\", max_size=40),
    dialect=st.sampled_from(["shell", "compose", "kubernetes"]),
)
@settings(max_examples=200, deadline=None)
def test_interpolation_without_values_invents_nothing(text: str, dialect: Any) -> None:
    whole, unknown = joined(expand(text, lambda name: None, dialect))
    if unknown is None:
        assert set(whole) <= set(text)
    assert len(whole) <= len(text)
