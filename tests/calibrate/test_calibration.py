"""Constants come back out of runs that were made with them, and are used where they are given."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from loads import BENCH

from scheduler_reader.calibrate import Run, calibrate
from scheduler_reader.cli import main
from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.calibration import Calibration, read_calibration
from scheduler_reader.performance.build import build_step_model
from scheduler_reader.simulate.estimate import simulated_estimate
from scheduler_reader.workload import Lengths, Slo, Workload

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct --max-model-len 4096"
TRUE = Calibration(step_us=900.0, sequence_us=20.0, request_ms=25.0, kernel_scale=1.1)


def load(concurrency: int) -> Workload:
    return Workload(
        concurrency=concurrency,
        num_requests=4 * concurrency,
        input_tokens=Lengths(constant=600),
        output_tokens=Lengths(constant=150),
    )


@pytest.fixture(scope="module")
def measured(served):
    """Runs of an engine whose constants are `TRUE`."""

    def run(*concurrencies: int) -> list[Run]:
        runs = []
        for concurrency in concurrencies:
            engine, plan = served(LLAMA_8B, load(concurrency))
            engine = engine._replace(calibration=TRUE)
            found = simulated_estimate(engine, plan, load(concurrency), Slo()).value
            values = {
                "tpot_ms": found.tpot_ms,
                "ttft_mean_ms": found.ttft_ms.mean,
                "output_tokens_per_s": found.output_tokens_per_s,
            }
            runs.append(Run(f"c{concurrency}", load(concurrency), values))
        return runs

    return run


def test_the_constants_behind_three_runs_are_found(served, measured):
    fit = calibrate(served(LLAMA_8B)[0], measured(1, 16, 96))
    # Host time of a step and speed of kernels differ little in what they do to runs like these; a
    # step's is held at half of what it was, and kernels take it over.
    assert fit.fitted.kernel_scale == pytest.approx(TRUE.kernel_scale, rel=0.1)
    assert 1.5 * fit.shipped.request_ms < fit.fitted.request_ms < 1.1 * TRUE.request_ms
    assert fit.determined["step_us"] < 0.2
    for before, after in zip(fit.before, fit.after, strict=True):
        assert abs(before["tpot_ms"]) > 0.1 and abs(before["output_tokens_per_s"]) > 0.1
        assert abs(after["tpot_ms"]) < 0.03 and abs(after["output_tokens_per_s"]) < 0.02
        assert abs(after["ttft_mean_ms"]) < 0.5 * abs(before["ttft_mean_ms"])
    assert fit.determined["kernel_scale"] > 0.6
    assert fit.fitted.fitted_on == (
        "3 runs of meta-llama/Llama-3.1-8B-Instruct, 1 x NVIDIA H100 SXM 80 GB, vLLM 0.18.0"
    )


def test_one_run_leaves_what_it_does_not_tell(served, measured):
    fit = calibrate(served(LLAMA_8B)[0], measured(1))
    assert fit.determined["sequence_us"] < 0.1  # one sequence a step: 2 us of 7 ms
    assert fit.fitted.sequence_us == pytest.approx(fit.shipped.sequence_us, rel=0.1)
    assert abs(fit.after[0]["tpot_ms"]) < 0.01


def test_a_run_that_no_constant_explains_hardly_counts(served, measured):
    one, two, odd = measured(1, 16, 4)
    alone = calibrate(served(LLAMA_8B)[0], [one, two])
    odd = odd._replace(measured={name: 3 * value for name, value in odd.measured.items()})
    with_it = calibrate(served(LLAMA_8B)[0], [one, two, odd])
    for kept, disturbed in zip(alone.after, with_it.after, strict=False):
        assert disturbed["tpot_ms"] == pytest.approx(kept["tpot_ms"], abs=0.03)
    assert with_it.after[2]["tpot_ms"] < -0.5  # and it is shown


def test_a_load_that_is_not_served_cannot_be_fitted(served):
    flood = replace(load(1), protocol="open-loop", concurrency=None, rate=500.0)
    with pytest.raises(UsageError, match="more is offered than is served"):
        calibrate(served(LLAMA_8B)[0], [Run("flood", flood, {"tpot_ms": 10.0})])


def test_a_calibrated_step_is_made_of_its_constants(served):
    engine = served(LLAMA_8B)[0]
    shipped = build_step_model(engine).value
    twice = engine._replace(
        calibration=Calibration(step_us=1000.0, sequence_us=10.0, request_ms=5.0, kernel_scale=2.0),
    )
    model = build_step_model(twice).value
    before, after = (each.step_parts(4, 2000) for each in (shipped, model))
    assert after.memory == pytest.approx(2 * before.memory)
    assert after.host == pytest.approx(1000e-6 + 4 * 10e-6)
    assert model.frontend_s == pytest.approx(5e-3)


def run_command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


def test_the_file_that_calibrate_writes_is_used_and_named(tmp_path, capsys):
    result, constants = tmp_path / "c8.json", tmp_path / "mine.yaml"
    result.write_text(json.dumps(BENCH))
    engine = ["vllm", "serve", *LLAMA_8B.split()]
    config = tmp_path / "serve.sh"
    config.write_text(" ".join(engine) + "\n")
    target = ["--gpu", "h100", "--vllm-version", "0.18.0"]
    code = run_command(
        "calibrate", str(config), *target, "--bench", str(result), "--write", str(constants)
    )
    text = capsys.readouterr().out
    assert code == 0, text
    assert f"{result} (8 concurrent): predicted against measured" in text
    assert "well determined" in text or "partly determined" in text
    read = read_calibration(constants)
    assert read.kernel_scale > 1.05  # 10.4 ms a token is slower than what is shipped predicts
    load_options = ["--isl", "600", "--osl", "150", "--concurrency", "8"]
    run_command(
        "diagnose", str(config), *target, *load_options, "--calibration", str(constants),
        "--format", "json",
    )  # fmt: skip
    (engine_found,) = json.loads(capsys.readouterr().out)["engines"]
    assert engine_found["performance"]["tpot_ms"] == pytest.approx(10.4, rel=0.05)
    assert [text for text in engine_found["assumptions"] if text.startswith("calibrated by ")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("just text", "a calibration has `constants:`"),
        ("constants: {step_us: 1, sequence_us: 1, request_ms: -1}", "cannot be negative"),
        ("constants: {step_us: 1, sequence_us: 1, request_ms: 1, more: 2}", "more"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, content, message):
    path = tmp_path / "bad.yaml"
    path.write_text(content)
    with pytest.raises(UsageError, match=message):
        read_calibration(path)
