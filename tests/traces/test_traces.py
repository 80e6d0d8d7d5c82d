"""Traces in the published layouts and in our own columns, and what is said about bad ones."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.traces import TraceRow, measure, read_trace
from scheduler_reader.traces.prefixes import HashChains
from scheduler_reader.workload import load_workload

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"


def rows_of(tmp_path: Path, name: str, text: str) -> list[TraceRow]:
    file = tmp_path / name
    file.write_text(text)
    return list(read_trace(str(file)))


def test_azure_dates_count_seconds_from_the_first_row(tmp_path):
    rows = rows_of(
        tmp_path,
        "azure.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,374,44\n"
        "2023-11-16 18:15:48.1805900,396,109\n",
    )
    assert rows == [TraceRow(0.0, 374, 44), TraceRow(1.5, 396, 109)]


def test_azure_2024_dates_have_a_time_zone(tmp_path):
    rows = rows_of(
        tmp_path,
        "azure.csv",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-05-10 00:00:00.009930+00:00,2162,5\n"
        "2024-05-10 00:01:00.009930+00:00,2399,6\n",
    )
    assert [row.time_s for row in rows] == [0.0, 60.0]


def test_burstgpt_failures_are_left_out(tmp_path):
    rows = rows_of(
        tmp_path,
        "burst.csv",
        "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
        "5,ChatGPT,472,18,490,Conversation log\n"
        "45,ChatGPT,1087,0,1087,Conversation log\n"
        "118,GPT-4,417,276,693,API log\n",
    )
    assert rows == [TraceRow(0.0, 472, 18), TraceRow(113.0, 417, 276)]


def test_mooncake_blocks_become_prefix_groups(tmp_path):
    rows = rows_of(
        tmp_path,
        "mooncake.jsonl",
        '{"timestamp": 0, "input_length": 1500, "output_length": 9, "hash_ids": [1, 2, 3]}\n'
        '{"timestamp": 250, "input_length": 2500, "output_length": 9, "hash_ids": [1, 2, 4, 5, 6]}\n'
        '{"timestamp": 500, "input_length": 2600, "output_length": 9, "hash_ids": [1, 2, 4, 5, 6, 7]}\n'
        '{"timestamp": 500, "input_length": 1100, "output_length": 9, "hash_ids": [1, 2, 8]}\n',
    )
    assert [(row.time_s, row.prefix_group, row.prefix_tokens) for row in rows] == [
        (0.0, 0, 1500),
        (0.25, 1, 2500),  # two of five blocks are known: a path of its own
        (0.5, 1, 2600),  # goes on where the second ended
        (0.5, 1, 1024),  # two of three blocks
    ]


def test_own_columns_may_leave_out_times(tmp_path):
    text = "input_tokens,output_tokens,prefix_group,prefix_tokens,priority\n10,2,3,8,-1\n7,1,,,\n"
    assert rows_of(tmp_path, "own.csv", text) == [
        TraceRow(None, 10, 2, 3, 8, -1),
        TraceRow(None, 7, 1),
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"time_s": 1, "input_tokens": -5, "output_tokens": 3}', "input_tokens is -5"),
        ('{"time_s": 1, "input_tokens": 5, "output_tokens": 0}', "output_tokens is 0"),
        ('{"time_s": 1, "input_tokens": NaN, "output_tokens": 3}', "input_tokens is nan"),
        ('{"time_s": NaN, "input_tokens": 5, "output_tokens": 3}', "time_s is nan, not a time"),
        ('{"time_s": 1, "input_tokens": 5.5, "output_tokens": 3}', "input_tokens is 5.5"),
        ('{"time_s": 1, "input_tokens": true, "output_tokens": 3}', "input_tokens is True"),
        ('{"time_s": -1, "input_tokens": 5, "output_tokens": 3}', "sort the trace by time"),
        ('{"input_tokens": 5, "output_tokens": 3}', "some rows have a time and some have none"),
        ('{"time_s": 1, "output_tokens": 3}', "no input_tokens"),
        ("[1]", "a row is an object"),
        ("{", "no JSON"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path, row, message):
    good = '{"time_s": 0, "input_tokens": 5, "output_tokens": 3}\n\n'
    with pytest.raises(InputError, match=rf"trace\.jsonl:3: .*{message}"):
        rows_of(tmp_path, "trace.jsonl", good + row + "\n")


@pytest.mark.parametrize("text", ["", "input_tokens,output_tokens\n"])
def test_an_empty_trace_is_an_error(tmp_path, text):
    with pytest.raises(InputError, match="no request in this trace"):
        rows_of(tmp_path, "trace.csv", text)


def test_unknown_columns_are_answered_with_the_known_ones(tmp_path):
    with pytest.raises(InputError, match=r"trace\.csv:2: .*contexttokens, generatedtokens"):
        rows_of(tmp_path, "trace.csv", "a,b\n1,2\n")


def test_a_row_with_too_few_columns_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"trace\.csv:3: 1 columns where the header has 2"):
        rows_of(tmp_path, "trace.csv", "input_tokens,output_tokens\n1,2\n3\n")


def test_rows_are_read_one_at_a_time(tmp_path):
    """A mistake far down does not keep the rows before it from being used."""
    file = tmp_path / "trace.csv"
    file.write_text("input_tokens,output_tokens\n1,2\n3,4\n-1,1\n")
    assert [row.prompt_tokens for row in islice(read_trace(str(file)), 2)] == [1, 3]


def test_shape_of_a_trace():
    shape = measure([TraceRow(0, 100, 10, 1, 80), TraceRow(2, 300, 30, 1, 90)])
    assert (shape.requests, shape.rate) == (2, 0.5)
    assert (shape.prompt.mean, shape.prompt.std, shape.output.mean) == (200, 100, 20)
    assert shape.hit_rate == 80 / 400


@pytest.mark.parametrize("file", sorted(EXAMPLES.iterdir()), ids=lambda file: file.name)
def test_every_example_is_a_workload(file):
    load = load_workload(str(file))
    assert load.protocol == "open-loop" and load.arrival == "trace" and load.name == file.name
    assert load.num_requests == sum(1 for _ in read_trace(str(file)))


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=6), min_size=2, max_size=12))
def test_requests_of_a_group_do_share_their_prefix(paths):
    """Whatever the tree of blocks: no prefix group claims a token that its requests differ in."""
    known: dict[tuple[int, ...], int] = {}
    chains = HashChains()
    placed = []
    for path in paths:
        ids = [known.setdefault(tuple(path[: n + 1]), len(known)) for n in range(len(path))]
        group, tokens = chains.place(ids, 512 * len(ids))
        placed.append((group, tokens, ids))
    for group, tokens, ids in placed:
        assert 0 <= tokens <= 512 * len(ids)
        for other, more, others in placed:
            common = 0
            while common < min(len(ids), len(others)) and ids[common] == others[common]:
                common += 1
            assert other != group or 512 * common >= min(tokens, more)
