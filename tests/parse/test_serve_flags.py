"""The typed view of the settings, and the limits of their values."""

from __future__ import annotations

import pytest
from argument_inputs import issues, read
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from scheduler_reader.parse.arguments import is_plain_size
from scheduler_reader.parse.serve_flags import LIMITS, ServeFlags, serve_flags


def test_typed_view_has_what_was_set_and_nothing_else() -> None:
    reading = read("m -tp 4 --max-num-seqs 64 --max-num-batched-tokens x --port 8001", "0.18.0")
    flags, found = serve_flags(reading)
    assert found == ()
    assert (flags.tensor_parallel_size, flags.max_num_seqs) == (4, 64)
    assert flags.max_num_batched_tokens is None
    assert flags.model_extra == {"port": 8001}


@pytest.mark.parametrize(
    ("release", "command", "is_refused"),
    [
        ("0.33.0", "--max-num-seqs 0", True),
        ("0.14.1", "--max-num-seqs 0", True),
        ("0.10.2", "--max-num-seqs 0", False),
        ("0.18.0", "--gpu-memory-utilization 0", True),
        ("0.8.5", "--gpu-memory-utilization 0", False),
        ("0.8.5", "--gpu-memory-utilization 1.2", True),
        ("0.18.0", "--gpu-memory-utilization 2", True),
        ("0.10.2", "-tp 0", True),
        ("0.33.0", "--max-model-len 0", True),
    ],
)
def test_limits_by_release(release: str, command: str, is_refused: bool) -> None:
    ((kind, _, fatal),) = issues(read(f"m {command}", release))
    assert (kind, fatal) == ("out_of_range", is_refused)


def test_automatic_model_length_is_no_mistake() -> None:
    reading = read("m --max-model-len auto", "0.18.0")
    assert issues(reading) == []
    assert serve_flags(reading)[0].max_model_len == -1


def test_a_value_outside_its_limits_stays_visible() -> None:
    flags, _ = serve_flags(read("m --max-num-seqs 0 --seed 1", "0.10.2"))
    assert flags.max_num_seqs == 0


@given(st.sampled_from(sorted(ServeFlags.model_fields)), st.data())
def test_what_is_plainly_a_size_needs_no_check(name: str, data: st.DataObject) -> None:
    is_share = "float" in str(ServeFlags.model_fields[name].annotation)
    size = data.draw((st.floats() if is_share else st.integers()).filter(is_plain_size))
    try:
        ServeFlags.model_validate({name: size})
    except ValidationError as error:
        assert error.errors()[0]["type"] not in LIMITS


def test_every_other_number_is_checked() -> None:
    assert not any(is_plain_size(number) for number in (0, -1, 0.0, -0.5, 1.0, 1.5))
