"""The time of a step against hand-worked rooflines, and what must hold for any step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_reader.performance import kernels
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.performance.kernels import touched_experts
from scheduler_reader.performance.step import StepModel
from scheduler_reader.value import Known, Unknown

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B_FP8 = "nvidia/Llama-3.3-70B-Instruct-FP8"
MINIMAX = "MiniMaxAI/MiniMax-M2.5 --enable-expert-parallel --max-model-len 4096"


@pytest.fixture(scope="module")
def step_of(served):
    def build(arguments: str, **target) -> StepModel:
        model = build_step_model(served(arguments, **target)[0])
        assert isinstance(model, Known), model
        return model.value

    return build


@pytest.fixture(scope="module")
def small(step_of):
    return step_of(LLAMA_8B)


def test_floor_of_70b_fp8_is_70_6_gb_over_the_bandwidth(step_of):
    # 68.45 GB of FP8 linear layers and 2.10 GB of bfloat16 output projection over 3.35 TB/s.
    model = step_of(LLAMA_70B_FP8 + " --max-model-len 4096 --kv-cache-dtype auto")
    assert model.bandwidth_floor_s(0) == pytest.approx(70.55e9 / 3.35e12, rel=0.005)


def test_tensor_parallelism_divides_the_floor(step_of):
    one = step_of(LLAMA_70B_FP8)
    two = step_of(LLAMA_70B_FP8 + " -tp 2")
    assert two.bandwidth_floor_s(0) == pytest.approx(one.bandwidth_floor_s(0) / 2)


def test_one_stream_of_8b_bf16(small):
    # 15.0 GB of weights over 3.35 TB/s are 4.5 ms; published vLLM runs see 6.5 to 7.5 ms.
    assert small.bandwidth_floor_s(0) == pytest.approx(15.01e9 / 3.35e12, rel=0.005)
    assert 6.0e-3 < small.step_seconds(1, 500) < 7.6e-3


def test_prefill_of_32k_tokens_of_70b_fp8_takes_seconds_not_800_ms(step_of):
    # 3.69 s is the arithmetic floor of one GPU; measured efficiencies make it about 5.8 s.
    model = step_of(LLAMA_70B_FP8)
    chunks = [(8192, depth) for depth in range(0, 32768, 8192)]
    assert 5.0 < sum(model.step_seconds(0, 0, [chunk]) for chunk in chunks) < 7.0


def test_a_chunk_costs_more_at_depth(small):
    assert small.step_seconds(0, 0, [(512, 32_000)]) > 1.2 * small.step_seconds(0, 0, [(512, 0)])


def test_the_knee_of_a_bf16_product_lies_near_300_tokens(small):
    one, knee = small.step_seconds(0, 0, [(1, 0)]), small.step_seconds(0, 0, [(128, 0)])
    assert knee < 1.25 * one
    assert small.step_seconds(0, 0, [(1024, 0)]) > 2.5 * one


def test_parts_name_what_binds(small, step_of):
    decode = small.step_parts(1, 500)
    assert decode.memory > 0.9 * sum(decode)
    prefill = small.step_parts(0, 0, [(8192, 0)])
    assert prefill.compute > 0.9 * sum(prefill)
    split = step_of(LLAMA_8B + " -tp 8").step_parts(1, 500)
    assert split.communication > 0.1 * sum(split)
    assert small.step_parts(8, 4000).communication == 0


def test_eager_mode_costs_collectives_and_launches(step_of):
    eager = step_of(LLAMA_70B_FP8 + " -tp 4 --enforce-eager")
    graph = step_of(LLAMA_70B_FP8 + " -tp 4")
    added = eager.step_parts(1, 500).communication - graph.step_parts(1, 500).communication
    assert 2.5e-3 < added < 3.5e-3  # 161 all-reduces, 21.56 against 4.56 us and no slower slope
    assert eager.step_parts(1, 500).host > graph.step_parts(1, 500).host


def test_a_prompt_beyond_the_largest_graph_takes_its_launches(step_of):
    # 80 layers x (13 x 25 + 7 x 2 x 22.1) us, and 450 us and one sequence: the GPU of a rank ends earlier.
    step = step_of(f"{LLAMA_70B_FP8} -tp 8 --max-model-len 8192")
    assert step.capture_sizes[-1] == 512
    assert step.step_seconds(0, 0, [(513, 0)]) == pytest.approx(80 * 634.4e-6 + 452e-6)
    assert step.step_seconds(0, 0, [(512, 0)]) < 0.9 * 80 * 635e-6
    assert step.step_parts(0, 0, [(4096, 0)]).host == pytest.approx(452e-6)


def test_prefill_gains_nothing_from_memory_alone_and_decode_does(step_of):
    h100, h200 = (step_of(f"{LLAMA_70B_FP8} -tp 2", gpu=gpu) for gpu in ("h100-sxm", "h200"))
    prefill = [step.step_seconds(0, 0, [(8192, 0)]) for step in (h100, h200)]
    decode = [step.step_seconds(1, 500) for step in (h100, h200)]
    assert prefill[1] > 0.97 * prefill[0]
    assert decode[1] < 0.85 * decode[0]


def test_four_bit_experts_are_unpacked_no_faster_by_more_memory_bandwidth(step_of):
    h100, h200 = (step_of("openai/gpt-oss-120b -tp 2", gpu=gpu) for gpu in ("h100-sxm", "h200"))
    one, other = (kernels.mixture(step.experts, 64) for step in (h100, h200))
    assert one.seconds == pytest.approx(other.seconds, rel=1e-3)


def test_every_rank_routes_every_token(step_of):
    two, eight = (step_of(f"openai/gpt-oss-120b -tp {ranks}") for ranks in (2, 8))
    for step in (two, eight):
        free = step.experts._replace(routing_token_s=0.0)
        more = kernels.mixture(step.experts, 8192).seconds - kernels.mixture(free, 8192).seconds
        assert more == pytest.approx(36 * 8192 * 0.125e-6)


def test_a_prompt_is_tokenized_before_the_engine_has_it(step_of):
    step = step_of(LLAMA_8B)
    short, long = (step.outside_seconds(prompt) for prompt in (1024, 8192))
    assert short == pytest.approx(10e-3, rel=0.02)
    assert long - short == pytest.approx((8192 - 1024) * 1.5e-6)


def test_fp8_kv_halves_what_a_cached_token_costs(step_of):
    wide, narrow = step_of(LLAMA_8B), step_of(LLAMA_8B + " --kv-cache-dtype fp8")
    read = [m.step_seconds(1, 1_000_000) - m.step_seconds(1, 0) for m in (wide, narrow)]
    assert read[1] == pytest.approx(read[0] / 2 * 0.896 / 0.849, rel=1e-3)


def test_a_sliding_window_bounds_the_context_that_is_read(step_of):
    model = step_of("openai/gpt-oss-20b")
    windows = [cost.window for cost in model.attention]
    assert sorted(windows, key=bool) == [None, 128]


def test_experts_are_read_as_tokens_touch_them(step_of):
    model = step_of("Qwen/Qwen3-30B-A3B")
    one, many = model.step_seconds(1, 500), model.step_seconds(64, 64 * 500)
    assert many > 2.5 * one  # 64 tokens of 8 in 128 experts touch nearly all of them
    assert any("expert" in note for note in model.not_modeled)


def test_another_gpu_is_scaled_and_less_certain(small, step_of):
    a100 = step_of(LLAMA_8B, gpu="a100-sxm-80gb")
    assert a100.step_seconds(1, 500) > 1.3 * small.step_seconds(1, 500)
    assert a100.spread > small.spread
    assert any("h100-sxm" in note for note in a100.not_modeled)


def test_mixtures_are_as_certain_as_the_runs_they_were_compared_with(step_of):
    model, other = "openai/gpt-oss-120b -tp 2", "Qwen/Qwen3-30B-A3B"
    spreads = [
        step_of(model, gpu="h100-sxm").spread,
        step_of(model, gpu="h200").spread,
        step_of(model, gpu="a100-sxm-80gb").spread,
        step_of(other, gpu="h100-sxm").spread,  # experts in bfloat16: no public run
    ]
    assert spreads == [0.2, 0.2, 0.35, 0.35]


def test_an_unknown_model_has_no_step_time(served):
    engine, _ = served("acme/never-heard-of-1b")
    model = build_step_model(engine)
    assert isinstance(model, Unknown)
    assert "model" in model.reason


def test_an_empty_step_takes_no_time(small):
    assert small.step_seconds(0, 0) == 0


def test_scaling_multiplies_every_part(small):
    slow = small.scaled(1.5).step_seconds(16, 16_000, [(512, 0)])
    assert slow == pytest.approx(1.5 * small.step_seconds(16, 16_000, [(512, 0)]))


@given(
    seqs=st.integers(0, 512),
    context=st.integers(1, 4096),
    chunk=st.integers(1, 8192),
    more=st.integers(1, 512),
)
def test_more_work_never_takes_less_time(small, seqs, context, chunk, more):
    base = small.step_seconds(seqs, seqs * context, [(chunk, 0)]) * (1 - 1e-12)  # but for rounding
    assert small.step_seconds(seqs + more, (seqs + more) * context, [(chunk, 0)]) >= base
    assert small.step_seconds(seqs, seqs * (context + more), [(chunk, 0)]) >= base
    assert small.step_seconds(seqs, seqs * context, [(chunk + more, 0)]) >= base
    assert small.step_seconds(seqs, seqs * context, [(chunk, more)]) >= base


def test_a_batch_touches_fewer_experts_than_with_equal_chances():
    alone = touched_experts(experts=128, chosen=4, tokens=1, shape=2.0)
    assert alone == pytest.approx(4)  # one token reads what it picks, however popular
    equal = touched_experts(experts=128, chosen=4, tokens=32, shape=1e6)
    assert equal == pytest.approx(128 * (1 - (1 - 4 / 128) ** 32), rel=1e-3)  # 81.6
    assert touched_experts(experts=128, chosen=4, tokens=32, shape=2.0) == pytest.approx(
        128 * (1 - (1 + 32 * ((31 / 32) ** -0.5 - 1)) ** -2)
    )
    assert touched_experts(experts=8, chosen=8, tokens=1, shape=2.0) == 8


def test_small_kernels_cost_their_launch_or_their_traffic(step_of):
    """A token of 70B at TP2: 2 x 4 x 8,192 values of norms, 2 x (4,096 + 512) of the rotary
    embedding, 4 x 512 into the cache, 3 x 14,336 of gate x up, in two bytes: 239,616 bytes.
    """
    step = step_of(f"{LLAMA_70B_FP8} -tp 2 --max-model-len 8192")
    assert step.activation_token_s * 3.35e12 * 0.875 == pytest.approx(239_616)
    free = replace(step, activation_token_s=0.0)
    assert step.step_seconds(16, 16 * 500) == free.step_seconds(16, 16 * 500)
    more = step.step_seconds(0, 0, [(8192, 0)]) - free.step_seconds(0, 0, [(8192, 0)])
    assert more == pytest.approx(80 * (8192 * step.activation_token_s - step.host.layer_s))


def test_the_kernels_of_a_layer_are_launched_one_by_one(step_of):
    def launches(arguments: str, ranks: int, **target) -> float:
        return (
            step_of(f"{arguments} -tp {ranks}", gpu_count=ranks, **target).host.launch_layer_s * 1e6
        )

    # Norm, QKV, rotary, KV write, attention and output; norm, gate and up, activation and down.
    assert launches(LLAMA_8B, 1) == pytest.approx(10 * 25)
    # In FP8 one more for the activations of the output product; two all-reduces wait for 7 ranks.
    assert launches(f"{LLAMA_70B_FP8} --max-model-len 4096", 8) == pytest.approx(
        13 * 25 + 14 * 22.1
    )
    # Attention in bfloat16 and 11 for four-bit experts.
    assert launches("openai/gpt-oss-120b", 8) == pytest.approx(19 * 25 + 14 * 22.1)
    # Block FP8: 2 more in attention and in the experts; 4 for norms over all heads, and a third all-reduce.
    assert launches(MINIMAX, 8) == pytest.approx(28 * 25 + 21 * 22.1)
    assert launches(MINIMAX, 8, version="0.13.0") == pytest.approx(29 * 25 + 28 * 22.1)
    # 3 dense layers of 61 (10 + 4 kernels by block), 58 with 13 of experts and 3 of a shared one.
    deepseek = "deepseek-ai/DeepSeek-V3 --max-model-len 4096"
    average = 8 + (3 * 6 + 58 * 16) / 61 + 2
    assert launches(deepseek, 8, gpu="h200") == pytest.approx(average * 25 + 14 * 22.1)


def test_norms_over_all_heads_send_two_sums_a_token(step_of):
    # vLLM, MiniMaxM2Attention: one all-reduce of both, two of one before 0.14.0.
    collectives = step_of(f"{MINIMAX} -tp 8", gpu_count=8).collectives
    alone = collectives._replace(norm_calls=0)
    more = kernels.all_reduce(collectives, 1024) - kernels.all_reduce(alone, 1024)
    assert more == pytest.approx(62 * (4.8e-6 + 8 * 1024 / 42.8e9), rel=1e-6)
    older = step_of(f"{MINIMAX} -tp 8", gpu_count=8, version="0.13.0").collectives
    assert older.norm_calls == 2 * collectives.norm_calls == 2 * 62
    assert step_of(f"{MINIMAX} -tp 1", gpu="b300").collectives is None
