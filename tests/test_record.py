"""A record behaves as the `typing.NamedTuple` that type checkers take it for."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple, get_type_hints

import pytest

from scheduler_reader.data import PACKAGE
from scheduler_reader.record import Record
from scheduler_reader.validation import validated


class Card(Record):
    """A card with a default."""

    name: str
    memory_gib: float
    links: tuple[int, ...] = ()
    cls: int | None = None

    @property
    def title(self) -> str:
        return f"{self.name} {self.memory_gib:g} GiB"


class Twin(NamedTuple):
    name: str
    memory_gib: float
    links: tuple[int, ...] = ()
    cls: int | None = None


class Nothing(Record):
    """A record without fields."""


CALLS: dict[str, Callable[[Any], Any]] = {
    "in order": lambda kind: kind("l4", 24.0),
    "by name": lambda kind: kind(links=(1,), memory_gib=24.0, name="l4", cls=3),
    "asdict": lambda kind: kind("l4", 24.0)._asdict(),
    "replace": lambda kind: kind("l4", 24.0)._replace(memory_gib=48.0, links=(2, 3)),
    "make": lambda kind: kind._make(["l4", 24.0, (), None]),
    "unpacked": lambda kind: [*kind("l4", 24.0)],
    "fields": lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__),
    "types": get_type_hints,
    "hash": lambda kind: hash(kind("l4", 24.0)),
    "text": lambda kind: repr(kind("l4", 24.0)).removeprefix(kind.__name__),
    "copies": lambda kind: (copy.copy(kind("l4", 24.0)), copy.deepcopy(kind("l4", 24.0))),
    "pickled": lambda kind: pickle.loads(pickle.dumps(kind("l4", 24.0))),
    "slots": lambda kind: hasattr(kind("l4", 24.0), "__dict__"),
    "checked": lambda kind: validated(kind, {"name": "l4", "memory_gib": "24"}),
}
MISTAKES: dict[str, Callable[[Any], Any]] = {
    "too few": lambda kind: kind("l4"),
    "too many": lambda kind: kind("l4", 24.0, (), None, 1),
    "no such field": lambda kind: kind("l4", 24.0, vendor="nvidia"),
    "make of too few": lambda kind: kind._make(["l4"]),
    "assignment": lambda kind: setattr(kind("l4", 24.0), "name", "t4"),
    "new attribute": lambda kind: setattr(kind("l4", 24.0), "vendor", "nvidia"),
    "wrong type": lambda kind: validated(kind, {"name": "l4", "memory_gib": "much"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_record_answers_as_a_named_tuple(name: str) -> None:
    assert CALLS[name](Card) == CALLS[name](Twin)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_record_refuses_what_a_named_tuple_refuses(name: str) -> None:
    with pytest.raises(Exception) as of_twin:  # its kind is what is compared
        MISTAKES[name](Twin)
    with pytest.raises(of_twin.type):
        MISTAKES[name](Card)


def test_the_error_of_a_wrong_call_names_the_record() -> None:
    with pytest.raises(TypeError, match=r"Card\.__new__\(\).*'memory_gib'"):
        Card("l4")  # type: ignore[call-arg]


def test_no_field_can_be_added_to_a_copy() -> None:
    with pytest.raises(ValueError, match="Card has no field vendor"):
        Card("l4", 24.0)._replace(vendor="nvidia")  # type: ignore[call-arg]


def test_methods_and_subclasses_are_ordinary() -> None:
    class Switched(Card):
        switch: str = "nvswitch"  # an attribute: fields are those of the record itself

    assert Card("l4", 24.0).title == "l4 24 GiB"
    assert Switched("h100", 80.0).title == "h100 80 GiB"
    assert (Switched._fields, Switched.switch) == (Card._fields, "nvswitch")
    assert Nothing() == () and repr(Nothing()) == "Nothing()"


def test_a_field_without_a_default_stands_before_those_with_one() -> None:
    with pytest.raises(TypeError, match="Late: a field without a default follows"):

        class Late(Record):
            links: tuple[int, ...] = ()
            name: str  # type: ignore[misc]


def test_records_of_the_package_stand_on_record() -> None:
    """`typing.NamedTuple` has the same meaning and costs more at each start."""
    files = [file for file in PACKAGE.rglob("*.py") if file.name != "record.py"]
    assert len(files) > 300
    assert not [file for file in files if "NamedTuple" in file.read_text(encoding="utf-8")]
