"""What a text that names a vLLM version means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from scheduler_reader.data import documents
from scheduler_reader.errors import DataError, UsageError
from scheduler_reader.knowledge.versions import Release, find_release, latest, releases


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.18", "0.18.0"),
        ("v0.18.0", "0.18.0"),
        ("vllm==0.18.0", "0.18.0"),
        ("0.8.5.post1", "0.8.5.post1"),
        ("0.10.1.1", "0.10.1.1"),
    ],
)
def test_a_release_is_itself(text: str, name: str) -> None:
    assert find_release(text) == Release(name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.10.1+gptoss", "0.10.1"),
        ("0.11.0.nv25.11", "0.11.0"),
        ("v0.33.0-cu128", "0.33.0"),
        ("0.18.0rc2", "0.18.0"),
        ("0.12.0.dev123+gabc1234", "0.12.0"),
        ("0.33.1rc1", "0.33.0"),
        ("0.8.5.post7", "0.8.5.post1"),
        ("0.40.0", releases()[-1]),
        ("latest", releases()[-1]),
        ("nightly-2f3c1a", releases()[-1]),
        ("0.3.2", releases()[0]),
    ],
)
def test_another_build_is_read_as_a_release_and_says_so(text: str, name: str) -> None:
    release = find_release(text)
    assert release.name == name
    assert release.assumption is not None
    assert release.assumption.startswith(f"vLLM {text} is read as {name}, ")


@pytest.mark.parametrize("text", ["abc", "", "2026-05", "2026.5", "25.11-py3", "0", "0.18.0 or so"])
def test_text_that_is_no_version(text: str) -> None:
    with pytest.raises(UsageError, match=r"is no vLLM version; known are 0\.6\.0 to "):
        find_release(text)


@settings(deadline=None)
@given(st.sampled_from(releases()), st.sampled_from(["", "v", "vllm ", "V"]))
def test_every_release_is_found_in_order(name: str, prefix: str) -> None:
    release = find_release(prefix + name)
    assert release == Release(name)
    assert release.within(releases()[0], name)
    assert releases()[release.position] == name
    assert release.version <= latest().version


@settings(deadline=None)
@given(
    st.from_regex(
        r"v?[0-9]{1,3}(\.[0-9]{1,3}){0,3}[.+-]?(a|b|rc|post|dev|x|nv)?[0-9]{0,3}", fullmatch=True
    )
)
def test_any_text_is_a_release_or_wrong_usage(text: str) -> None:
    try:
        assert find_release(text).name in releases()
    except UsageError as error:
        assert repr(text) in str(error)


def _stated(content: object) -> set[str]:
    """Every `versions` of a document, at any depth."""
    if isinstance(content, list):
        return {text for item in content for text in _stated(item)}
    if not isinstance(content, dict):
        return set()
    found = {text for item in content.values() for text in _stated(item)}
    return found | ({content["versions"]} if isinstance(content.get("versions"), str) else set())


@pytest.mark.parametrize("folder", ["rules", "compat_matrix"])
def test_bounds_of_our_data_hold_for_the_releases_that_packaging_says(folder: str) -> None:
    stated = _stated(list(documents(folder).values()))
    assert len(stated) > 5
    for bounds in stated:
        held = {name for name in releases() if Release(name).meets(bounds)}
        assert held == set(SpecifierSet(bounds).filter(releases(), prereleases=True)), bounds


@pytest.mark.parametrize("bounds", ["~=0.9", "0.9.0", ">0.9.0", "!=0.9.0", ">=0.8.0,"])
def test_other_bounds_are_a_mistake_in_our_data(bounds: str) -> None:
    with pytest.raises(DataError, match="a bound begins with >=, <=, <, =="):
        latest().meets(bounds)
