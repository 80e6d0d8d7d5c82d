"""What was observed decides the verdict, each class by its own signs."""

from __future__ import annotations

import pytest

import scheduler_reader
from scheduler_reader.diagnosis import find_bottleneck
from scheduler_reader.diagnosis.measured import outranked
from scheduler_reader.diagnosis.seen import Seen
from scheduler_reader.observe.bench import Benchmark
from scheduler_reader.observe.observation import Observation
from scheduler_reader.performance import estimate_performance
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.value import Known, Origin, Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

NO_OBJECTIVE = Slo()
HERE = Origin("file", path="metrics.txt")
FOUR = {"ttft_mean_ms": 200.0, "itl_mean_ms": 12.0, "output_tokens_per_s": 2000.0}
MODEL = "meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 64 --max-model-len 16384"


def seen(is_benchmark: bool = False, **measures: float) -> Observation:
    known = {name: Known(value, HERE) for name, value in {**FOUR, **measures}.items()}
    run = Benchmark("bench.json", "vllm bench serve", None, known) if is_benchmark else None
    return Observation(known, ("metrics.txt",), benchmark=run)


@pytest.fixture(scope="module")
def verdict(served):
    def run(observation: Observation, arguments: str = MODEL, slo: Slo = NO_OBJECTIVE):
        engine, plan = served(arguments)
        estimate = estimate_performance(engine, plan, DEFAULT_WORKLOAD, Slo())
        predicted = find_bottleneck(engine, plan, DEFAULT_WORKLOAD, Slo())
        found = outranked(engine, plan, predicted, estimate, observation, slo=slo)
        assert isinstance(found, Known)
        return found.value

    return run


SIGNS = {
    "blocks full and requests wait": (
        {"running": 40.0, "waiting": 25.0, "kv_cache_usage": 0.99},
        "kv_starvation",
        "99% of the KV blocks are used and 25 requests wait",
    ),
    "preempted all the time": (
        {"running": 40.0, "waiting": 0.0, "kv_cache_usage": 0.8, "preemptions_per_request": 0.4},
        "kv_starvation",
        "0.40 preemptions a request",
    ),
    "seats full beside free blocks": (
        {"running": 64.0, "waiting": 80.0, "kv_cache_usage": 0.2},
        "admission_stall",
        "64 requests run of 64 that max_num_seqs allows, 80 wait, and 20% of the KV blocks are used",
    ),
    "prefill fills every step": (
        {"running": 30.0, "waiting": 50.0, "kv_cache_usage": 0.3, "step_tokens_mean": 7900.0},
        "compute_bound",
        "a step computes 7,900 tokens of at most 8,192",
    ),
    "hardly anybody is in the engine": (
        {"running": 0.2, "waiting": 0.0, "kv_cache_usage": 0.0, "output_tokens_per_s": 11.0},
        "not_scheduler",
        "the load does not reach the engine",
    ),
    "the client keeps more open than run": (
        {"running": 6.0, "waiting": 0.0, "kv_cache_usage": 0.05, "offered_concurrency": 64.0},
        "not_scheduler",
        "the client keeps 64 requests open, 6 run, none wait",
    ),
    "preempted in a full cache that nobody is seen to wait for": (
        {"running": 40.0, "kv_cache_usage": 0.93, "preemptions": 12.0},
        "kv_starvation",
        "93% of the KV blocks are used, and requests were preempted 12 times",
    ),
    "blocks used up, queue not observed": (
        {"running": 2.0, "kv_cache_usage": 1.0},
        "kv_starvation",
        "100% of the KV blocks are used: the next request finds none",
    ),
    "free blocks, and fewer than a prompt": (
        {
            "running": 2.0,
            "waiting": 1.0,
            "kv_cache_usage": 0.8,
            "kv_cache_tokens": 100_000.0,
            "input_tokens_mean": 30_000.0,
        },
        "kv_starvation",
        "the 20,000 tokens of free KV blocks are fewer than a prompt of 30,000 takes",
    ),
    "more clients than seats, queue not observed": (
        {"offered_concurrency": 256.0, "input_tokens_mean": 500.0, "output_tokens_mean": 200.0},
        "admission_stall",
        "the client keeps 256 requests open and max_num_seqs lets 64 run",
    ),
    "running slower than any step, beside a queue": (
        {
            "running": 6.0,
            "waiting": 2.0,
            "kv_cache_usage": 0.05,
            "prompt_tokens_per_s": 0.0,
            "output_tokens_per_s": 0.5,
        },
        "not_scheduler",
        "0 prompt and 0.5 output tokens/s take this engine 1% of its time at most",
    ),
    "waiting beside free seats, blocks and steps": (
        {"running": 5.0, "waiting": 30.0, "kv_cache_usage": 0.1, "prompt_tokens_per_s": 900.0},
        "admission_stall",
        "(5 run of 64, 10% of the blocks are used), so a limit other than max_num_seqs",
    ),
    "deferred by vLLM's own word, though the blocks are full": (
        {"running": 30.0, "waiting": 40.0, "waiting_deferred": 39.5, "kv_cache_usage": 0.95},
        "admission_stall",
        "vLLM defers 40 of the 40 requests that wait beside 30 that run",
    ),
    "deferred, and counted against the seats": (
        {"running": 4.0, "waiting": 70.0, "waiting_deferred": 60.0, "kv_cache_usage": 0.2},
        "admission_stall",
        "with those that run they take the 64 seats of max_num_seqs",
    ),
    "none of those that wait deferred": (
        {"running": 40.0, "waiting": 25.0, "waiting_deferred": 0.0, "kv_cache_usage": 0.99},
        "kv_starvation",
        "99% of the KV blocks are used and 25 requests wait",
    ),
    "waiting for as many prompt tokens as the GPU computes": (
        {"running": 5.0, "waiting": 30.0, "kv_cache_usage": 0.1, "prompt_tokens_per_s": 40_000.0},
        "compute_bound",
        "40,000 prompt tokens/s are what this GPU computes",
    ),
    "a client that lets fewer through": (
        {"running_mean": 30.0, "offered_concurrency": 48.0},
        "not_scheduler",
        "the client keeps 48 requests open, 30 run, 2,000 output tokens/s: the load does not",
    ),
    "hardly any tokens, queues not observed": (
        {"output_tokens_per_s": 9.0, "prompt_tokens_per_s": 400.0, "offered_concurrency": 8.0},
        "not_scheduler",
        "400 prompt and 9 output tokens/s take this engine",
    ),
    "hardly any tokens of requests that run": (
        {"output_tokens_per_s": 9.0, "prompt_tokens_per_s": 0.0, "running": 4.0, "waiting": 0.0},
        "not_scheduler",
        "no setting of the scheduler explains the rest (CPU, network between GPUs, kernels)",
    ),
    "gaps of a whole budget": (
        {"running": 8.0, "waiting": 0.0, "itl_p50_ms": 9.0, "itl_p99_ms": 260.0},
        "chunk_too_large",
        "ITL p99 is 260 ms beside a median of 9 ms",
    ),
}


@pytest.mark.parametrize("name", SIGNS)
def test_a_sign_names_its_class(verdict, name):
    measures, kind, words = SIGNS[name]
    found = verdict(seen(**measures))
    assert found.kind == kind, found.evidence
    assert found.confidence == "high"
    assert words in found.evidence[0]


def test_more_sent_than_served_is_saturated(verdict):
    run = seen(
        True, offered_requests_per_s=50.0, requests_per_s=11.0, ttft_mean_ms=60_000.0, tpot_ms=30.0
    )
    found = verdict(run)
    assert found.kind == "saturated"
    assert "50 requests/s were sent and 11 served" in found.evidence[0]


def test_a_predicted_queue_that_nobody_sees_does_not_bind(verdict):
    few_seats = MODEL.replace("64", "4")
    observation = seen(running=3.0, waiting=0.0, kv_cache_usage=0.1)
    found = verdict(observation, few_seats)
    assert found.default == "none"
    assert found.evidence[0].startswith("nobody waits, so neither KV blocks nor max_num_seqs bind")


def test_what_rests_on_prediction_is_said(verdict):
    observation = Observation({"running": Known(30.0, HERE)}, ("metrics.txt",))
    found = verdict(observation)
    assert found.evidence[-1] == (
        "no TTFT, ITL, throughput observed: the verdict rests on prediction there"
    )


NO_SIGNS = {
    "a full cache that nobody waits for": {"running": 9.0, "waiting": 0.0, "kv_cache_usage": 0.97},
    "a nearly full cache, queue not observed": {"kv_cache_usage": 0.92},
    "room for the next prompt": {
        "running": 2.0,
        "waiting": 1.0,
        "kv_cache_usage": 0.8,
        "kv_cache_tokens": 100_000.0,
        "input_tokens_mean": 15_000.0,
    },
    "more clients than seats, whose requests the blocks do not hold": {
        "offered_concurrency": 256.0,
        "input_tokens_mean": 12_000.0,
        "output_tokens_mean": 200.0,
    },
    "one request between two steps": {"running": 5.0, "waiting": 1.0, "kv_cache_usage": 0.1},
    "waiting while prompts take most of the time": {
        "running": 5.0,
        "waiting": 30.0,
        "kv_cache_usage": 0.1,
        "prompt_tokens_per_s": 30_000.0,
    },
    "a run too short to fill the client": {
        "running_mean": 30.0,
        "offered_concurrency": 48.0,
        "requests": 96.0,
    },
    "as many tokens as the GPU reads": {"output_tokens_per_s": 150.0, "prompt_tokens_per_s": 0.0},
    "gaps above the median that no step explains": {"itl_p50_ms": 9.0, "itl_p99_ms": 9_000.0},
    "gaps that nobody notices": {"itl_p50_ms": 9.0, "itl_p99_ms": 90.0},
}


@pytest.mark.parametrize("name", NO_SIGNS)
def test_without_a_sign_the_prediction_stands(verdict, name):
    found = verdict(seen(**NO_SIGNS[name]))
    assert found.evidence[0].startswith("predicted: "), found.evidence


def test_lengths_that_nobody_states_are_those_of_the_default_load(unknown_model):
    crowd = {"offered_concurrency": 2000.0, "output_tokens_per_s": 90.0}
    found = unknown_model(**crowd, kv_cache_tokens=9_000_000.0).value
    assert (found.kind, found.confidence) == ("admission_stall", "low")
    assert "if they are as in the default load" in found.evidence[0]
    assert isinstance(unknown_model(**crowd, kv_cache_tokens=90_000.0), Unknown)


def test_a_queue_beside_free_seats_in_a_pool_of_few_requests(unknown_model):
    queue = {"running": 2.0, "waiting": 1.0}
    found = unknown_model(**queue, max_concurrency=1.53).value
    assert (found.kind, found.confidence) == ("kv_starvation", "low")
    assert found.evidence[0].startswith("1 request waits beside free seats (2 run of ")
    assert isinstance(unknown_model(**queue, max_concurrency=7.0), Unknown)


GAPS = {"itl_p50_ms": 12.0, "itl_p99_ms": 90.0}


@pytest.mark.parametrize(
    ("itl_ms", "kind"), [(None, False), (70.0, True), (95.0, False), (10.0, False)]
)
def test_with_an_objective_a_gap_counts_where_it_misses_that(verdict, itl_ms, kind):
    found = verdict(seen(**GAPS), slo=Slo(itl_ms=itl_ms))
    assert (found.kind == "chunk_too_large") is kind


SENT = {"requests_per_s": 20.0, "input_tokens_mean": 1500.0, "output_tokens_mean": 100.0}
CROWDED = {"running": 60.0, "waiting": 400.0, "kv_cache_usage": 0.97, "ttft_mean_ms": 20_000.0}


def test_prompts_that_outrun_the_card_are_no_matter_of_blocks(verdict):
    assert verdict(seen(**SENT, **CROWDED)).kind == "kv_starvation"
    slightly = verdict(seen(**SENT, **CROWDED, offered_requests_per_s=23.0))
    assert slightly.kind == "kv_starvation"
    far = verdict(seen(**SENT, **CROWDED, offered_requests_per_s=200.0))
    assert far.kind == "saturated"
    assert "the prompts alone take " in far.evidence[0]


LONG = {"input_tokens_mean": 6000.0, "output_tokens_mean": 1000.0, "offered_concurrency": 60.0}


def test_a_client_alone_tells_by_littles_law_what_is_full(verdict):
    """4 requests/s of 1,000 tokens every 15 ms are 60 at a time, of 6,500 tokens each."""
    run = {**LONG, "requests_per_s": 3.6, "tpot_ms": 20.0, "ttft_mean_ms": 20_000.0}
    blocks = verdict(seen(**run), f"{MODEL} --gpu-memory-utilization 0.85".replace("64", "256", 1))
    assert (blocks.kind, blocks.confidence) == ("kv_starvation", "medium")
    assert blocks.evidence[0].startswith("by Little's law ")
    short = {**run, "input_tokens_mean": 600.0}
    seats = verdict(seen(**short))
    assert seats.kind == "admission_stall"
    assert "take the 64 seats of max_num_seqs" in seats.evidence[0]
    assert verdict(seen(**{**run, "ttft_mean_ms": 900.0})).kind != "kv_starvation"


QUEUE = {"running": 3.0, "waiting": 30.0, "kv_cache_usage": 0.05}


def test_a_queue_beside_room_may_be_prompts_where_nobody_counts_them(verdict):
    """A budget of 128 computes far less than the card could; one of 8,192 as much as it can."""
    small = f"{MODEL} --max-num-batched-tokens 128"
    unseen = verdict(seen(**QUEUE), small)
    assert (unseen.kind, unseen.confidence) == ("chunk_too_small", "low")
    counted = verdict(seen(**QUEUE, prompt_tokens_per_s=15_000.0), small)
    assert counted.kind == "chunk_too_small"
    assert "with twice the token budget it computes " in counted.evidence[0]
    large = verdict(seen(**QUEUE))
    assert (large.kind, large.confidence) == ("admission_stall", "low")
    assert verdict(seen(**QUEUE, prompt_tokens_per_s=40_000.0)).kind == "compute_bound"
    assert verdict(seen(**QUEUE, prompt_tokens_per_s=100.0)).confidence != "low"


def test_one_client_that_always_asks_is_no_idle_engine(verdict):
    one = seen(running=0.98, waiting=0.0, kv_cache_usage=0.01, output_tokens_per_s=140.0)
    assert verdict(one).kind != "not_scheduler"
    rare = seen(running=0.5, waiting=0.0, kv_cache_usage=0.01, output_tokens_per_s=70.0)
    assert verdict(rare).kind == "not_scheduler"


def test_the_seats_of_all_engines_count(verdict):
    measures = {"running": 64.0, "waiting": 9.0, "kv_cache_usage": 0.2}
    assert verdict(seen(**measures, engines=1.0)).kind == "admission_stall"
    assert verdict(seen(**measures, engines=2.0)).kind != "admission_stall"


@pytest.fixture(scope="module")
def unknown_model(served):
    def run(options: str = "", **measures: float):
        engine, plan = served(f"not-named/model --max-num-batched-tokens 4096 {options}")
        unknown = Unknown("the model is not known")
        observation = Observation(
            {name: Known(value, HERE) for name, value in measures.items()}, ("stated",)
        )
        return outranked(engine, plan, unknown, unknown, observation, slo=NO_OBJECTIVE)

    return run


def test_seats_are_short_whatever_the_model(unknown_model):
    few = "--max-num-seqs 8"
    by_client = unknown_model(few, offered_concurrency=32.0).value
    assert (by_client.kind, by_client.confidence) == ("admission_stall", "low")
    assert "how much the KV blocks hold is not known" in by_client.evidence[0]
    queue = unknown_model(few, waiting=34.0, kv_cache_tokens=284_000.0).value
    assert (queue.kind, queue.confidence) == ("admission_stall", "low")
    assert isinstance(unknown_model(few, waiting=34.0, kv_cache_tokens=5_000.0), Unknown)
    assert isinstance(unknown_model(few, waiting=0.0, kv_cache_tokens=284_000.0), Unknown)
    assert isinstance(unknown_model(few, offered_concurrency=8.0), Unknown)


def test_preemptions_tell_of_blocks_where_only_their_count_is_known(unknown_model):
    found = unknown_model(preemptions=101.0).value
    assert (found.kind, found.confidence) == ("kv_starvation", "low")
    assert isinstance(unknown_model(preemptions=101.0, preemptions_per_request=0.01), Unknown)
    assert isinstance(unknown_model(preemptions=101.0, kv_cache_usage=0.5), Unknown)


def test_no_decode_reads_more_than_the_memory_of_the_card(unknown_model):
    """An H100's 80 GB at 3.35 TB/s are 24 ms; 29 ms of nine tenths at 74 % of the bandwidth."""
    assert isinstance(unknown_model(tpot_ms=25.0), Unknown)
    slow = unknown_model(running=3.0, output_tokens_per_s=4.0).value
    assert (slow.kind, slow.confidence) == ("not_scheduler", "low")
    assert slow.evidence[0].startswith("a request gets a token every 750 ms, and to read all ")
    assert unknown_model("--enforce-eager", tpot_ms=89.0).value.kind == "host_bound"
    assert isinstance(unknown_model("-pp 4", tpot_ms=89.0), Unknown)
    assert isinstance(unknown_model("--cpu-offload-gb 16", tpot_ms=89.0), Unknown)
    assert isinstance(unknown_model(tpot_ms=89.0, prompt_tokens_per_s=4_000.0), Unknown)


def test_an_unknown_model_is_read_by_what_was_measured(unknown_model):
    beside = {"itl_p50_ms": 20.0, "itl_p99_ms": 1500.0}
    by_rate = unknown_model(**beside, prompt_tokens_per_s=4000.0).value
    assert by_rate.kind == "chunk_too_large"
    assert "takes about 1,024 ms at the 4,000 prompt tokens/s observed" in by_rate.evidence[0]
    assert by_rate.confidence == "medium"
    idle = unknown_model(**beside, prompt_tokens_per_s=100.0).value
    assert (idle.kind, idle.confidence) == ("chunk_too_large", "low")
    assert "how long such a step takes is not known here" in idle.evidence[0]
    assert isinstance(unknown_model(itl_p99_ms=1500.0), Unknown)
    assert isinstance(
        unknown_model(waiting=9.0, running=2.0, kv_cache_usage=0.1, prompt_tokens_per_s=300.0),
        Unknown,
    )


def test_a_pipeline_takes_its_stages_one_after_the_other(served):
    engines = [served(f"{MODEL} -pp {stages}") for stages in (1, 2)]
    one, two = (
        Seen(engine, plan, None, seen(), NO_OBJECTIVE, build_step_model(engine))
        for engine, plan in engines
    )
    assert two.step_ms_of_prompts(8192) == pytest.approx(one.step_ms_of_prompts(8192), rel=0.05)


SEATS = ["vllm", "serve", "meta-llama/Llama-3.1-8B-Instruct", "--max-num-seqs", "64"]


@pytest.mark.parametrize(
    ("observed", "kind", "code"),
    [
        (
            {"running": 40, "waiting": 30, "kv_cache_usage": 0.99},
            "kv_starvation",
            "OBS102",
        ),
        (
            {"offered_concurrency": 128, "running": 20, "waiting": 0, "kv_cache_usage": 0.1},
            "not_scheduler",
            "OBS106",
        ),
        (
            {"running": 5, "waiting": 60, "kv_cache_usage": 0.1, "prompt_tokens_per_s": 50},
            "admission_stall",
            "OBS114",
        ),
        ({"itl_p99_ms": 400, "itl_p50_ms": 9}, "chunk_too_large", "OBS113"),
    ],
)
def test_what_is_advised_is_what_was_observed(observed, kind, code):
    (reading,) = scheduler_reader.diagnose(
        SEATS, vllm_version="0.18.0", gpu="h100", observed=observed
    )
    assert isinstance(reading.bottleneck, Known)
    assert reading.bottleneck.value.kind == kind
    assert code in {finding.code for finding in reading.findings}
    raised = [step for step in reading.tuning if "max_num_seqs" in step.set]
    assert kind not in {"kv_starvation", "not_scheduler"} or not raised
    assert kind != "not_scheduler" or not reading.tuning


def test_the_same_load_without_observation_is_advised_more_seats():
    (reading,) = scheduler_reader.diagnose(
        SEATS,
        vllm_version="0.18.0",
        gpu="h100",
        workload={"concurrency": 128, "input_tokens": 900, "output_tokens": 230},
    )
    assert any("max_num_seqs" in step.set for step in reading.tuning)
