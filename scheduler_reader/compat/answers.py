"""The questions that `compat` answers: the whole matrix, one feature, or a set of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from scheduler_reader.compat.features import Feature, all_features, data
from scheduler_reader.compat.pairs import (
    Cell,
    PairVerdict,
    Status,
    documentation_page,
    hardware_cell,
    pair_verdict,
)
from scheduler_reader.knowledge.gpus import Gpu
from scheduler_reader.knowledge.versions import Release

WORST_FIRST: tuple[Status, ...] = ("no", "partial", "unknown", "yes")
GENERATIONS = {"7.0": "volta", "7.5": "turing", "8.0": "ampere", "8.6": "ampere", "8.9": "ada", "9.0": "hopper"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """Pairs in one release, the worst first, and what the features do on hardware.

    `open_pairs` are asked for and nothing is known of them; `absent` are features that the
    release does not have.  `status` is the verdict on a set asked for as a whole.
    """

    release: Release
    features: tuple[Feature, ...]
    pairs: tuple[PairVerdict, ...]
    open_pairs: tuple[tuple[str, str], ...]
    absent: tuple[Feature, ...]
    hardware: tuple[tuple[str, str, Cell], ...]  # feature, hardware, what the pages say
    page: str | None
    status: Status | None = None
    undocumented_gpu: str | None = None  # asked for, and the pages have no column for it


def whole_matrix(release: Release) -> Answer:
    """Every pair of the features that the release has."""
    known = [feature for feature in all_features().values() if feature.exists_in(release)]
    pairs = [pair_verdict(one, other, release) for one, other in combinations(known, 2)]
    found = tuple(pair for pair in pairs if pair is not None and _is_told(pair))
    return Answer(
        release=release,
        features=tuple(known),
        pairs=_sorted(found),
        open_pairs=(),
        absent=(),
        hardware=_hardware(known, release, all_hardware()),
        page=documentation_page(release),
    )


def about(features: Sequence[Feature], release: Release) -> Answer:
    """Every pair that one of these features is part of."""
    others = [feature for feature in all_features().values() if feature.exists_in(release)]
    present = [feature for feature in features if feature.exists_in(release)]
    asked = {
        frozenset((one.name, other.name)): pair_verdict(one, other, release)
        for one in present
        for other in others
        if one != other
    }
    found = tuple(pair for pair in asked.values() if pair is not None and _is_told(pair))
    return Answer(
        release=release,
        features=tuple(present),
        pairs=_sorted(found),
        open_pairs=(),
        absent=tuple(feature for feature in features if feature not in present),
        hardware=_hardware(present, release, all_hardware()),
        page=documentation_page(release),
    )


def together(features: Sequence[Feature], release: Release, gpu: Gpu | None = None) -> Answer:
    """Whether all these features go together in a release, and on a GPU where one is named."""
    absent = tuple(feature for feature in features if not feature.exists_in(release))
    present = [feature for feature in features if feature not in absent]
    pairs = [
        (one, other, pair_verdict(one, other, release)) for one, other in combinations(present, 2)
    ]
    found = tuple(pair for _, _, pair in pairs if pair is not None and _is_told(pair))
    hardware = _hardware(present, release, (generation(gpu),)) if gpu else ()
    statuses = [pair.status for pair in found] + [cell.status for _, _, cell in hardware]
    told = {frozenset((pair.first, pair.second)) for pair in found}
    unknown = tuple(
        (one.name, other.name)
        for one, other, _ in pairs
        if frozenset((one.name, other.name)) not in told
    )
    if unknown:
        statuses.append("unknown")
    if absent:
        statuses.append("no")
    return Answer(
        release=release,
        features=tuple(features),
        pairs=_sorted(found),
        open_pairs=unknown,
        absent=absent,
        hardware=hardware,
        page=documentation_page(release),
        status=min(statuses, key=WORST_FIRST.index, default="yes"),
        undocumented_gpu=gpu.title if gpu and generation(gpu) not in all_hardware() else None,
    )


def all_hardware() -> tuple[str, ...]:
    """The kinds of hardware that the pages have columns for."""
    return tuple(dict.fromkeys(key.partition(" @ ")[2] for key in data()["hardware"]))


def generation(gpu: Gpu) -> str:
    """The column of the pages that a GPU falls under; its own name where there is none."""
    return "amd" if gpu.vendor == "amd" else GENERATIONS.get(gpu.compute_capability, gpu.name)


def _is_told(pair: PairVerdict) -> bool:
    return pair.documented is not None or pair.code is not None


def _sorted(pairs: Sequence[PairVerdict]) -> tuple[PairVerdict, ...]:
    return tuple(sorted(pairs, key=lambda p: (WORST_FIRST.index(p.status), p.first, p.second)))


def _hardware(
    features: Sequence[Feature], release: Release, kinds: Sequence[str]
) -> tuple[tuple[str, str, Cell], ...]:
    cells = [
        (feature.name, kind, hardware_cell(feature, kind, release))
        for feature in features
        for kind in kinds
    ]
    return tuple((name, kind, cell) for name, kind, cell in cells if cell is not None)
