"""What a release makes of features together."""

from __future__ import annotations

from itertools import pairwise

import pytest

from scheduler_reader.compat.answers import about, together, whole_matrix
from scheduler_reader.compat.features import all_features, data, find_feature
from scheduler_reader.compat.pairs import PairVerdict, pair_verdict
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.gpus import find_gpu
from scheduler_reader.knowledge.versions import Release, releases
from scheduler_reader.rule_engine import all_rules


def pair(one: str, other: str, release: str) -> PairVerdict:
    found = pair_verdict(find_feature(one), find_feature(other), Release(release))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("one", "other", "release", "status", "since", "until"),
    [
        ("chunked-prefill", "spec-decode", "0.18.0", "yes", "0.8.3", None),
        ("chunked-prefill", "spec-decode", "0.6.3", "no", "0.6.0", "0.6.3.post1"),
        ("prefix-caching", "spec-decode", "0.18.0", "yes", "0.6.3", None),
        ("draft-model", "spec-decode", "0.12.0", "no", "0.10.0", "0.14.1"),
        ("draft-model", "spec-decode", "0.15.0", "yes", "0.15.0", None),
        ("pp", "async-scheduling", "0.14.0", "no", "0.10.0", "0.14.1"),
        ("hybrid", "prefix-caching", "0.28.0", "yes", "0.28.0", None),
    ],
)
def test_a_pair_has_a_status_and_its_time(
    one: str, other: str, release: str, status: str, since: str, until: str | None
) -> None:
    found = pair(one, other, release)
    assert (found.status, found.since, found.until) == (status, since, until)


def test_code_decides_and_both_are_told() -> None:
    found = pair("lora", "spec-decode", "0.18.0")
    assert found.documented and found.documented.status == "no"
    assert found.code and found.code.status == "partial"
    assert found.is_contradicted
    assert found.rules == ("SPD108",)


def test_the_worst_pair_decides_about_a_set() -> None:
    names = ["chunked-prefill", "spec-decode", "lora"]
    assert together([find_feature(n) for n in names], Release("0.18.0")).status == "partial"
    names = ["chunked-prefill", "spec-decode", "prefix-caching"]
    assert together([find_feature(n) for n in names], Release("0.18.0")).status == "yes"


def test_a_feature_that_is_gone_goes_with_nothing() -> None:
    answer = together([find_feature("multi-step"), find_feature("lora")], Release("0.18.0"))
    assert answer.status == "no"
    assert [feature.name for feature in answer.absent] == ["multi-step"]


def test_hardware_counts_where_a_gpu_is_named() -> None:
    wanted = [find_feature("chunked-prefill"), find_feature("lora")]
    assert together(wanted, Release("0.18.0"), find_gpu("v100")).status == "no"
    assert together(wanted, Release("0.18.0"), find_gpu("h100")).status == "yes"
    blackwell = together(wanted, Release("0.18.0"), find_gpu("b200"))
    assert (blackwell.status, blackwell.hardware) == ("yes", ())
    assert blackwell.undocumented_gpu == find_gpu("b200").title


def test_a_pair_that_nobody_speaks_of_is_unknown() -> None:
    answer = together([find_feature("sleep-mode"), find_feature("lora")], Release("0.18.0"))
    assert answer.status == "unknown"
    assert answer.open_pairs == (("sleep-mode", "lora"),)


def test_features_without_their_option_are_left_out_of_a_matrix() -> None:
    names = {name for p in whole_matrix(Release("0.33.0")).pairs for name in (p.first, p.second)}
    assert not names & {"multi-step", "best-of", "prompt-adapter", "async-output"}
    assert "multi-step" in {
        name for p in whole_matrix(Release("0.9.0")).pairs for name in (p.first, p.second)
    }


def test_every_pair_of_one_feature_has_it() -> None:
    answer = about([find_feature("lora")], Release("0.18.0"))
    assert answer.pairs
    assert all("lora" in (p.first, p.second) for p in answer.pairs)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("Spec_Decode", "speculative-decoding"),
        ("--enable-lora", "lora"),
        ("APC", "prefix-caching"),
        ("enable_chunked_prefill", "chunked-prefill"),
    ],
)
def test_names_of_features(word: str, name: str) -> None:
    assert find_feature(word).name == name


def test_an_unknown_feature_names_its_neighbours() -> None:
    with pytest.raises(UsageError, match="did you mean lora"):
        find_feature("lorra")


def test_ranges_of_a_pair_do_not_overlap_and_name_releases() -> None:
    order = {name: i for i, name in enumerate(releases())}
    for table in ("documented", "hardware", "code"):
        for key, ranges in data()[table].items():
            spans = sorted((order[str(r["from"])], order[str(r["to"])]) for r in ranges)
            assert all(first <= last for first, last in spans), key
            assert all(a[1] < b[0] for a, b in pairwise(spans)), key


def test_names_in_the_tables_exist() -> None:
    features, codes = set(all_features()), {rule.code for rule in all_rules()}
    for table in ("documented", "code", "notes"):
        for key in data()[table]:
            one, other = key.split(" + ")
            assert one < other
            assert {one, other} <= features
    assert {key.split(" @ ")[0] for key in data()["hardware"]} <= features
    named = {code for rs in data()["code"].values() for r in rs for code in r.get("rules", ())}
    assert named <= codes


def test_recorded_tables_are_those_of_the_project(shared: object) -> None:
    import json
    from pathlib import Path

    recorded = json.loads((Path(str(shared)) / "facts" / "compat_matrix.json").read_text())
    for key, ranges in recorded["docs"]["feature_x_feature"].items():
        own = data()["documented"][" + ".join(sorted(key.split("|")))]
        assert [(r["from"], r["to"], r["status"]) for r in ranges] == [
            (str(r["from"]), str(r["to"]), r["status"]) for r in own
        ]
