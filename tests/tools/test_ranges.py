"""Version ranges stay whole when a release is added, wherever it falls in the order."""

from __future__ import annotations

from typing import Any

from extractor.architectures import as_ranges, with_architectures
from extractor.ranges import changes, extended, of_release, with_release
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from scheduler_reader.data import json_file

RELEASES = ("1.0", "1.1", "1.1.post1", "1.2", "1.10", "2.0")
OPTIONS = st.dictionaries(
    st.sampled_from(["--a", "--b"]),
    st.fixed_dictionaries({"type": st.just("int"), "default": st.integers(0, 1)}),
)


def assert_whole(ranges: dict[str, Any], versions: list[str]) -> None:
    """Versions are in order, and the ranges of a name follow each other without overlap."""
    assert versions == sorted(set(versions), key=Version)
    order = {name: index for index, name in enumerate(versions)}
    for name, entries in ranges.items():
        assert entries, name
        end = -1
        for entry in entries:
            assert end < order[entry["from"]] <= order[entry["to"]], name
            end = order[entry["to"]]


def test_the_stored_ranges_are_whole() -> None:
    flags = json_file("flags.json")
    assert_whole(flags["flags"], flags["versions"])
    for fields in json_file("config_fields.json")["classes"].values():
        assert_whole(fields, flags["versions"])


@given(st.permutations(RELEASES), st.lists(OPTIONS, min_size=6, max_size=6))
def test_each_release_keeps_its_options_in_any_order_of_adding(
    order: list[str], options: list[dict[str, dict[str, Any]]]
) -> None:
    versions: list[str] = []
    ranges: dict[str, Any] = {}
    for release, read in zip(order, options, strict=True):
        ranges = extended(ranges, versions, release, read)
        versions = with_release(versions, release)
        assert_whole(ranges, versions)
    for release, read in zip(order, options, strict=True):
        assert of_release(ranges, versions, release) == read


def test_a_release_that_changes_nothing_extends_the_last_range() -> None:
    first = extended({}, [], "1.0", {"--a": {"type": "int"}})
    second = extended(first, ["1.0"], "1.1", {"--a": {"type": "int"}})
    assert second == {"--a": [{"from": "1.0", "to": "1.1", "type": "int"}]}


def test_a_later_patch_of_an_older_line_splits_the_range_it_differs_from() -> None:
    ranges = extended({}, [], "1.0", {"--a": {"type": "int"}})
    ranges = extended(ranges, ["1.0"], "1.2", {"--a": {"type": "int"}})
    ranges = extended(ranges, ["1.0", "1.2"], "1.1", {"--a": {"type": "str"}})
    assert ranges["--a"] == [
        {"from": "1.0", "to": "1.0", "type": "int"},
        {"from": "1.1", "to": "1.1", "type": "str"},
        {"from": "1.2", "to": "1.2", "type": "int"},
    ]


def test_the_newest_release_taken_out_and_added_again_gives_the_architectures_back() -> None:
    document, versions = json_file("architectures.json"), json_file("flags.json")["versions"]
    *older, newest = versions
    without = {
        name: entry | {"versions": earlier}
        for name, entry in document["architectures"].items()
        if (
            earlier := [
                [first, older[-1] if last == newest else last]
                for first, last in entry["versions"]
                if first != newest
            ]
        )
    }
    read = of_release(as_ranges(document["architectures"]), versions, newest)
    assert read.keys() - without.keys(), "nothing is new in it"
    shortened = document | {"architectures": without}
    assert with_architectures(shortened, older, newest, read) == document


def test_what_changed_is_one_line_an_attribute() -> None:
    before = {"--a": {"type": "int"}, "--b": {"type": "str", "default": "x"}}
    after = {"--b": {"type": "str", "default": "y"}, "--c": {"type": "flag"}}
    assert list(changes(before, after)) == [
        "- --a",
        '~ --b default: "x" -> "y"',
        '+ --c {"type": "flag"}',
    ]
