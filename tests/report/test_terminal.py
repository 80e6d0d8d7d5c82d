"""The terminal report, compared whole, as a user sees it."""

from __future__ import annotations

from io import StringIO

import built_assessments as build
import pytest
from rich.console import Console

from scheduler_reader.assessment import Assessment
from scheduler_reader.capacity.plan import CapacityPlan, Remedy
from scheduler_reader.diagnosis.verdict import Lift
from scheduler_reader.performance.estimate import Latency
from scheduler_reader.report import terminal
from scheduler_reader.resolve.engine import Setting
from scheduler_reader.rule_engine.finding import NotEvaluated
from scheduler_reader.value import Known, Origin, Unknown
from scheduler_reader.workload import DEFAULT_WORKLOAD, Lengths, Slo, Workload

HEALTHY = """\
meta-llama/Llama-3.1-8B-Instruct  serve.yaml:1:1
vLLM 0.18.0 (--vllm-version), V1 engine, 1 × NVIDIA H100 SXM 80 GB (assumed)
STARTS; 1 note
Bottleneck: none of the three defaults: decode runs at the memory-bandwidth
  floor (high confidence)

Memory of one GPU: 79.2 GiB, budget (|) 71.3 GiB = 0.9 × total
  WWWWWWWWWWWWWWAANKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKKK|.......
  W weights     15.0   G CUDA graphs 0.5   K KV cache 54.0
  A activations  1.2   N non-torch   0.6   . unused    7.9
  KV cache  442,528 tokens (434,992–447,280), 27,658 blocks of 16
  Requests  27.0 of max_model_len 16,384 (at most 131,072), 384 of this workload

Prediction: 64 concurrent, 820–1,024 tokens in, 205–256 out, 640 requests
                      mean      p50      p99  low – high
  TTFT              212 ms  97.0 ms   1.24 s  201 ms – 223 ms
  ITL              11.2 ms  10.1 ms  38.0 ms  10.6 ms – 11.8 ms
  TPOT             11.3 ms                    10.7 ms – 11.9 ms
  output tokens/s    5,120                    4,876 – 5,389
  requests/s          22.2                    21.1 – 23.4
  62 running · 0.4 waiting · 0 preemptions/request · ITL floor 5.6 ms (memory)

Settings (* set by you)
  *  max_model_len           16,384  line 3, default 131,072
     max_num_seqs             1,024  default: the server on an H100
     max_num_batched_tokens   8,192  default: the server on an H100
     enable_chunked_prefill      on  default
     gpu_memory_utilization     0.9  default

Findings
  serve.yaml:3:1  note  MEM104 oversized-context  (advice)
      max_model_len is 16,384 and the longest request of the workload is 1,280
      tokens.
      fix  --max-model-len 2048

Evidence: 71% of a step is reading weights and KV blocks; lifted alone: token
  budget +1.0%, KV blocks +0.0%, max_num_seqs +0.0%

Assumed: one H100 SXM, because no GPU is stated; the default workload, because
  none is stated
Not modelled: tokenizer time
Not evaluated: observed metrics (--metrics) (OBS101)
Measure next: vllm:kv_cache_usage_perc at peak
Read next: sched-reader explain decode_floor
"""

DOES_NOT_START = """\
nvidia/Llama-3.3-70B-Instruct-FP8  serve.yaml:1:1 (llama-70b)
vLLM 0.18.0 (--vllm-version), V1 engine, 1 × NVIDIA H100 SXM 80 GB (assumed)
DOES NOT START: weights of 67.7 GiB and a start-up peak of 4.9 GiB exceed the
  budget of 71.3 GiB; 1 error, 1 note
Bottleneck: PagedAttention (KV blocks): the GPU's memory does not hold what
  these settings ask of it (high confidence)

Memory of one GPU: 79.2 GiB, budget (|) 71.3 GiB = 0.9 × total
  WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWAAA|N......
  W weights     67.7   G CUDA graphs 1.1   K KV cache 0.0
  A activations  2.9   N non-torch   0.9   . unused   6.6
  1.3 GiB short of the first KV block.

Prediction: none, the engine does not start

Settings (* set by you)
  *  max_model_len           16,384  line 3, default 131,072
     max_num_seqs             1,024  default: the server on an H100
     max_num_batched_tokens   8,192  default: the server on an H100
     enable_chunked_prefill      on  default
     gpu_memory_utilization     0.9  default
  *  tensor_parallel_size         1  line 5

Findings
  serve.yaml:1:1  error  MEM101 no-room-for-kv-cache  (vLLM exits)
      1.3 GiB are missing before the first KV block.
      why  vLLM exits when nothing is left of the budget for KV blocks.
      fix  --tensor-parallel-size 2
           or a card with more memory
  serve.yaml:3:1  note  MEM104 oversized-context  (advice)
      max_model_len is 16,384 and the longest request of the workload is 1,280
      tokens.
      fix  --max-model-len 2048

Change, in this order
  1. --max-num-batched-tokens 2048
     Chunks of 8,192 tokens delay running decodes.
     predicted  ITL p99 92.0 ms → 31.0 ms, output tokens/s 4,100 → 4,050
     watch  vllm:inter_token_latency_seconds p99

Evidence: weights take 95% of the budget

Assumed: one H100 SXM, because no GPU is stated; the default workload, because
  none is stated
Not evaluated: observed metrics (--metrics) (OBS101)
Measure next: vllm:kv_cache_usage_perc at peak
Read next: sched-reader explain decode_floor
"""


def test_a_healthy_engine_fits_one_screen() -> None:
    report = terminal.text([build.healthy()])
    assert report == HEALTHY
    assert report.count("\n") <= 45


def test_an_engine_that_does_not_start_says_so_first() -> None:
    assert terminal.text([build.does_not_start()]) == DOES_NOT_START


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("assessment", [build.healthy(), build.does_not_start()])
def test_no_line_is_wider_than_the_console(width: int, assessment: Assessment) -> None:
    lines = terminal.text([assessment], width=width).split("\n")
    assert max(map(len, lines)) <= min(width, 100)
    assert not [line for line in lines if line != line.rstrip()]


def test_the_worst_finding_stands_first() -> None:
    report = terminal.text([build.does_not_start()])
    assert report.index("MEM101 no-room") < report.index("MEM104")


def test_gains_are_listed_with_before_and_after_when_a_limit_binds() -> None:
    lifted = (
        Lift("KV blocks", "itl_p99_ms", 92.0, 92.0, 0.0),
        Lift("token budget", "itl_p99_ms", 92.0, 31.0, 0.66),
    )
    verdict = build.bottleneck(
        default="chunked_prefill", kind="chunk_too_large", confidence="medium", lifted=lifted
    )
    report = terminal.text([build.healthy(bottleneck=verdict)])
    assert (
        "Bottleneck: chunked prefill (token budget): prefill chunks are so large that\n"
        "  they delay running decodes (medium confidence)\n"
    ) in report
    assert (
        "  Each limit lifted alone:\n"
        "    token budget   -66%  ITL p99 92.0 ms → 31.0 ms\n"
        "    KV blocks     +0.0%  ITL p99 92.0 ms → 92.0 ms\n"
    ) in report


def test_a_saturated_open_loop_has_its_capacity_and_no_tail() -> None:
    workload = Workload(
        protocol="open-loop",
        rate=12,
        input_tokens=Lengths(constant=2048),
        output_tokens=Lengths(lognormal={"mean": 300, "std": 150}),
        prefix_cache_hit_rate=0.5,
    )
    prediction = build.performance(
        saturated=True, ttft_ms=Latency(31_000.0), itl_ms=Latency(24.0), capacity_requests_per_s=8.4
    )
    report = terminal.text([build.healthy(workload=workload, performance=prediction)])
    assert (
        "Prediction: 12 requests/s, 2,048 tokens in, 300 ± 150 out, 640 requests,\n"
        "  prefix-cache hit rate 50%\n"
    ) in report
    assert "  TTFT              31.0 s  saturated  saturated  " in report
    assert (
        "  Saturated: 12.0 requests/s are offered, 8.40 can be served; the queue grows\n"
        "    by 3.60 a second.\n"
    ) in report


def test_goodput_is_shown_for_an_objective() -> None:
    assert "goodput req/s" not in terminal.text([build.healthy()])
    assert "goodput req/s" in terminal.text([build.healthy(slo=Slo(ttft_ms=500))])


def test_what_is_not_known_is_said_with_its_reason() -> None:
    reason = "no facts about acme/private-7b: give --model-config"
    engine = build.engine(
        {"max_num_seqs": Setting(Unknown("$SEQS is not set in the file"), True, 256, "Seats.")},
        model_id=Unknown("$MODEL is not set in the file"),
    )
    report = terminal.text(
        [
            build.healthy(
                engine=engine,
                capacity=CapacityPlan(None, reason),
                performance=Unknown(f"the model is not known: {reason}"),
                bottleneck=Unknown(reason),
                not_evaluated=(NotEvaluated("MEM101", reason), NotEvaluated("MEM102", reason)),
            )
        ],
        width=100,
    )
    assert report.startswith("model unknown  serve.yaml:1:1\n")
    assert f"CANNOT SAY WHETHER IT STARTS: {reason}; 1 note\n" in report
    assert "Bottleneck: not known: see above\n" in report
    assert "Memory of one GPU: not known: see above\n" in report
    assert "Prediction: none, the model is not known: see above\n" in report
    assert "  *  max_num_seqs  unknown  $SEQS is not set in the file\n" in report
    assert "Not evaluated: see above (MEM101, MEM102)\n" in report
    assert "Evidence" not in report


def test_an_uncertain_start_names_what_would_help() -> None:
    plan = build.capacity()._replace(
        starts=None,
        reason="may not start: one request of max_model_len 131,072 needs 16.00 GiB",
        max_concurrency=0.97,
        remedies=(Remedy("max_model_len", 120000, 120000), Remedy("kv_cache_dtype", "fp8", 131072)),
    )
    report = terminal.text([build.healthy(capacity=plan)])
    assert "MAY NOT START: one request of max_model_len 131,072 needs 16.00 GiB; 1 note\n" in report
    assert "  Requests  less than one of max_model_len 16,384 (at most 131,072), 384 of" in report
    assert (
        "  Sure to start with --max-model-len 120000, or --kv-cache-dtype fp8\n"
        "    (max_model_len up to 131,072)\n"
    ) in report


def test_refused_flags_decide_over_memory_that_fits() -> None:
    findings = tuple(
        build.finding(code="FLG102", severity="error", effect="refused", origin=build.at(line))
        for line in (4, 5)
    )
    report = terminal.text([build.healthy(findings=findings)])
    assert "DOES NOT START: vLLM 0.18.0 refuses it (FLG102); 2 errors\n" in report
    assert "Bottleneck once it starts: none of the three defaults" in report
    assert report.count("A smaller limit makes the start-up check") == 1


def test_settings_without_a_part_in_scheduling_are_only_named() -> None:
    setting_values = build.settings(
        tool_call_parser=build.given("hermes", 8, None, controls=""),
        kv_cache_dtype=build.given("fp8", 9, "auto"),
        num_gpu_blocks_override=Setting(Known(None, Origin("derived")), False, None, "Blocks."),
    )
    report = terminal.text([build.healthy(engine=build.engine(setting_values))])
    assert "  *  kv_cache_dtype             fp8  line 9, default auto\n" in report
    assert "  Also set: tool_call_parser\n" in report
    assert "num_gpu_blocks_override" not in report


def test_several_engines_have_a_header_each() -> None:
    report = terminal.text([build.healthy(), build.does_not_start()])
    assert report.startswith("== Engine 1 of 2 ==\nmeta-llama/")
    assert "\n\n== Engine 2 of 2 ==\nnvidia/Llama" in report


def test_colour_draws_the_bar_in_blocks_and_keeps_the_words() -> None:
    report = terminal.text([build.does_not_start()], color=True)
    assert "\x1b[1;31mDOES NOT START\x1b[0m" in report
    assert "\x1b[34m█" in report
    assert "WWWW" not in report


def test_a_console_that_records_sees_the_same_text() -> None:
    console = Console(file=StringIO(), width=80, record=True, force_terminal=True)
    terminal.render([build.healthy(workload=DEFAULT_WORKLOAD)], console)
    assert "442,528 tokens (434,992–447,280), 27,658 blocks of 16" in console.export_text()
