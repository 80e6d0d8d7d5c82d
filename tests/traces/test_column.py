"""One column of lengths, and what is said of a file that has no such column."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.traces.column import read_column


def test_a_column_of_either_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("time,in\n0,5\n1,7\n")
    (tmp_path / "a.jsonl").write_text('{"in": 5}\n\n{"in": "7", "out": 1}\n')
    for name in ("a.csv", "a.jsonl"):
        assert list(read_column(str(tmp_path / name), "in")) == [5, 7]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"time,in\n0,5\n1,x\n", r"a\.csv:3: in is 'x', not a number of tokens"),
        ("a.csv", b"time,out\n0,5\n", r"a\.csv:2: no column in; there are time, out"),
        ("a.csv", b"time,in\n0\n", r"a\.csv:2: in is None"),
        ("a.csv", b"time,in\n", r"a\.csv: no rows"),
        ("a.csv", b"in\n\xff\n", r"a\.csv: not UTF-8 text"),
        ("a.jsonl", b'{"in": 0}\n', r"a\.jsonl:1: in is 0"),
        ("a.jsonl", b'{"in": 1}\n[2]\n', r"a\.jsonl:2: not a JSON object"),
        ("a.jsonl", b"in: 1\n", r"a\.jsonl:1: not a JSON object"),
        ("a.jsonl", b"", r"a\.jsonl: no rows"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        list(read_column(str(tmp_path / name), "in"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.csv: cannot be read: No such file"):
        list(read_column(str(tmp_path / "no.csv"), "in"))
