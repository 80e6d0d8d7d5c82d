"""The quoted figures against arithmetic that is done here, and the GPU count from which they hold."""

from __future__ import annotations

import pytest

from scheduler_reader.claims.check import check_claim
from scheduler_reader.claims.claim import Measured, Verdict, all_claims, find_claim
from scheduler_reader.claims.measures import MEASURES
from scheduler_reader.value import Unknown

# Which of 1, 2, 4 and 8 H100s are enough, from published runs and the arithmetic of the data sheet.
# At TP8 and a budget of 256 the arithmetic says "only with low concurrency": the model asks for 128.
ANSWERS = {
    "tokens-per-second": ("no", "yes", "yes", "yes"),
    "tokens-per-second-short": ("borderline", "yes", "yes", "yes"),
    "median-itl": ("no", "no", "yes", "yes"),
    "tail-itl": ("no", "no", "no", "no"),
    "prefill-32k": ("no", "no", "no", "no"),
    "kv-8192": ("no", "yes", "yes", "yes"),
    "naive-loop": ("no", "no", "no", "no"),
}
MODEL_BYTES_A_STEP = 68.45e9 + 2.10e9  # FP8 linears and a BF16 output projection
H100_BYTES_PER_S, H200_BYTES_PER_S = 3.35e12, 4.8e12
KV_BYTES_BF16 = 2 * 80 * 8 * 128 * 2


def verdict(name: str) -> Verdict:
    claim = find_claim(name)
    assert claim is not None
    return check_claim(claim)


def figures(found: Verdict) -> dict[str, Measured]:
    measured = {answer.case.label: answer.measured for answer in found.answers}
    assert not [label for label, one in measured.items() if isinstance(one, Unknown)]
    return measured  # type: ignore[return-value]


@pytest.mark.parametrize(("name", "expected"), ANSWERS.items())
def test_the_gpu_count_from_which_a_figure_holds(name: str, expected: tuple[str, ...]) -> None:
    answers = {one.case.label: one.answer for one in verdict(name).answers}
    assert tuple(answers[f"{n} GPU{'s' * (n > 1)}"] for n in (1, 2, 4, 8)) == expected


def test_no_token_comes_faster_than_the_weights_are_read() -> None:
    floor_s = MODEL_BYTES_A_STEP / H100_BYTES_PER_S
    found = figures(verdict("naive-loop"))
    assert found["1 GPU"].value == pytest.approx(1 / floor_s, rel=0.01)  # 47 tokens/s
    assert found["8 GPUs"].value == pytest.approx(8 / floor_s, rel=0.01)
    assert 600 * floor_s == pytest.approx(12.6, abs=0.1)  # hence "at least 13 sequences"
    eagle = figures(verdict("eagle-6200"))["1 GPU"].value
    assert eagle == pytest.approx(16 / (MODEL_BYTES_A_STEP / H200_BYTES_PER_S), rel=0.01)


def test_the_kv_cache_of_a_token() -> None:
    found = figures(verdict("kv-8192"))
    assert found["1 GPU"].value == 8192 * KV_BYTES_BF16 / 2**30 == 2.5
    assert found["1 GPU with FP8 KV"].value == 1.25
    assert found["8 GPUs"].value == 2.5 / 8


@pytest.mark.parametrize(
    (
        "label",
        "tokens",
    ),  # 79.2 GiB x share, less 67.7 GiB of weights and about 2.5 GiB of working set
    [
        ("BF16 KV at 0.92", 8_800),
        ("FP8 KV at 0.92", 17_700),
        ("BF16 KV at 0.95", 16_400),
        ("FP8 KV at 0.95", 32_800),
    ],
)
def test_what_the_weights_leave(label: str, tokens: int) -> None:
    found = figures(verdict("resident-128"))[label]
    assert found.value == pytest.approx(tokens, rel=0.1)
    assert found.low is not None and found.high is not None
    assert found.low < tokens < found.high


def test_at_the_default_utilization_a_gib_or_two_is_left() -> None:
    """Of 71.3 GiB: 1.1 GiB with 2.5 GiB of working set, 3,600 BF16 tokens; the range holds it."""
    found = figures(verdict("resident-128"))["BF16 KV at 0.90"]
    assert found.low is not None and found.high is not None
    assert found.low < 3_600 < found.high


def test_a_prompt_of_32k() -> None:
    """2 x 68.45e9 x 32,768 FLOP of FP8 and 1.41e15 of BF16 attention: 3.69 s at the peaks."""
    floor_s = 2 * 68.45e9 * 32768 / 1979e12 + 2 * 32768**2 * 64 * 128 * 80 / 989.5e12
    found = figures(verdict("prefill-32k"))
    assert floor_s == pytest.approx(3.69, abs=0.01)
    assert found["1 GPU"].value == pytest.approx(5_800, rel=0.15)
    assert found["1 GPU"].value > floor_s * 1e3
    assert found["5,500 tokens on 1 GPU"].value == pytest.approx(800, rel=0.1)
    assert found["Llama 3.1 8B on 1 GPU"].value == pytest.approx(1_100, rel=0.15)


def test_medians_of_published_runs() -> None:
    found = figures(verdict("median-itl"))
    assert found["2 GPUs"].value == pytest.approx(19.7, rel=0.1)
    assert found["4 GPUs"].value == pytest.approx(13.2, rel=0.1)
    assert found["1 GPU"].value == pytest.approx(30, rel=0.1)


def test_chunks_change_the_tail_and_hardly_the_throughput() -> None:
    assert all(abs(one.value) < 5 for one in figures(verdict("unchunked-loss")).values())


def test_a_constant_that_is_none() -> None:
    gains = [one.value for one in figures(verdict("continuous-gain")).values()]
    assert min(gains) < 2 and max(gains) > 3
    assert verdict("paged-waste").sentence == (
        "Holds with requests of 190 tokens, requests of 500 tokens and requests of 1,500 tokens; "
        "does not hold with requests of 100 tokens."
    )


def test_every_claim_has_a_measure_and_says_where_it_comes_from() -> None:
    for claim in all_claims():
        assert claim.measure in MEASURES, claim.name
        assert claim.says and claim.but and claim.source and claim.cases
        assert claim.least is not None or claim.most is not None


def test_a_figure_that_cannot_be_had_says_why() -> None:
    claim = find_claim("prefill_32k")
    assert claim is not None
    case = claim.cases[0]._replace(engine="nvidia/Llama-3.3-70B-Instruct-FP8", added="")
    (answer,) = check_claim(claim._replace(cases=(case,))).answers
    assert isinstance(answer.measured, Unknown)
    assert answer.answer == "no"
    assert "does not start" in answer.measured.reason
