"""The simulate command: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path

import pytest
from rich.progress import Progress

from scheduler_reader.cli import main
from scheduler_reader.cli.progress import Session, session
from scheduler_reader.simulate.arrivals import Arrival, ClosedLoop
from scheduler_reader.simulate.modes import Mode
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.study import study
from scheduler_reader.value import Known
from scheduler_reader.workload import DEFAULT_WORKLOAD, Slo

ROOT = Path(__file__).parents[2]
CONFIG = str(ROOT / "examples" / "llama-3.1-8b-chat.yaml")
QUICK = ("--gpu", "h100", "--isl", "500", "--osl", "20", "--concurrency", "4", "--requests", "12")


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(("simulate", *arguments))
    printed = capsys.readouterr()
    return int(stop.value.code or 0), printed.out, printed.err


def test_all_modes_by_default(capsys):
    code, out, err = outcome(capsys, CONFIG, *QUICK)
    assert (code, err) == (0, "")
    for title in ("one at a time ", "static batches ", "continuous ", "continuous+chunked "):
        assert any(line.startswith(title) for line in out.splitlines())
    assert "continuous+chunked over time" in out and "\x1b" not in out


def test_one_mode_as_json_with_files_beside_it(capsys, tmp_path):
    page, trace = tmp_path / "run.html", tmp_path / "run.json"
    chosen = ("--mode", "chunked", "--format", "json")
    code, out, _ = outcome(capsys, CONFIG, *QUICK, *chosen, "--timeline", str(page))
    (engine,) = json.loads(out)["engines"]
    assert (code, list(engine["modes"])) == (0, ["chunked"])
    assert engine["modes"]["chunked"]["finished"] == 12
    assert page.read_text().startswith("<!doctype html>")
    outcome(capsys, CONFIG, *QUICK, *chosen, "--timeline", str(trace))
    assert json.loads(trace.read_text())["traceEvents"]


def test_the_seed_changes_drawn_lengths_only(capsys):
    def rate(*seed: str) -> float:
        drawn = ("--gpu", "h100", "--workload", "chat", "--requests", "10", "--mode", "static")
        _, out, _ = outcome(capsys, CONFIG, *drawn, "--format", "json", *seed)
        return json.loads(out)["engines"][0]["modes"]["static"]["output_tokens_per_s"]

    assert rate() == rate("--seed", "0") != rate("--seed", "1")


@pytest.mark.parametrize(
    "trace", sorted((ROOT / "examples" / "traces").iterdir()), ids=lambda trace: trace.name
)
def test_a_trace_is_a_workload(trace, capsys):
    options = ("--workload", str(trace), "--requests", "8", "--mode", "static", "--format", "json")
    code, out, _ = outcome(capsys, CONFIG, *options)
    assert code == 0
    assert json.loads(out)["engines"][0]["modes"]["static"]["finished"] == 8


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--timeline", "x.svg"), 2, "--timeline x.svg: the name must end with .html or .json"),
        (("--plot", "x.pdf"), 2, "--plot x.pdf: the name must end with .png or .svg"),
        (("--format", "steps"), 2, "--format steps is for --case FILE"),
        (("--timeline", "x.html", "--requests", "9999"), 2, "add --requests 2000"),
        (("--workload", "none.csv"), 2, "'none.csv' is no workload file and no preset"),
    ],
)
def test_wrong_options_are_named(arguments, code, message, capsys):
    ended, out, err = outcome(capsys, CONFIG, *arguments)
    assert (ended, out) == (code, "")
    assert message in err


def test_a_bad_row_is_an_input_that_cannot_be_read(capsys, tmp_path):
    trace = tmp_path / "t.csv"
    trace.write_text("time_s,input_tokens,output_tokens\n0,5,5\n1,5,-5\n")
    code, _, err = outcome(capsys, CONFIG, "--workload", str(trace))
    assert code == 3
    assert "t.csv:3: output_tokens is -5" in err


def test_an_engine_that_does_not_start_is_a_finding(capsys):
    config = str(ROOT / "examples" / "llama-3.3-70b-fp8-1xh100.yaml")
    code, out, _ = outcome(capsys, config, "--vllm-version", "0.18.0")
    assert code == 1
    assert "not simulated: the engine does not start" in out


def test_a_stopped_session_hands_out_no_more_requests():
    current = Session(None)
    clients = ClosedLoop([Arrival(n, None, 5, 5) for n in range(3)], concurrency=1)
    source = current.watch(3, Mode.naive, clients)
    assert source.next_s == 0.0 and not source.is_exhausted
    source.take()
    current.is_stopped = True
    source.finished(1.0)
    assert source.is_exhausted and source.next_s == float("inf")


@pytest.fixture
def interruptible():
    """Ctrl-C as in a terminal: a shell starts what runs in the background without it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_a_session_and_a_second_one_ends_the_program(interruptible):
    with session() as current:
        signal.raise_signal(signal.SIGINT)
        assert current.is_stopped
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


class Impatient(Session):
    """Somebody presses Ctrl-C after five requests."""

    finished = 0

    def advance(self, task: object) -> None:
        self.finished += 1
        self.is_stopped = self.finished >= 5


def test_an_interruption_shows_what_was_done(served):
    load = DEFAULT_WORKLOAD.replaced({"input_tokens": 500, "output_tokens": 20, "concurrency": 4})
    engine, plan = served("Qwen/Qwen3-8B", load)
    setup = set_up(engine, plan, load)
    assert isinstance(setup, Known)
    current = Impatient(None)
    done = study(
        setup.value, Slo(), list(Mode), partial(current.watch, 640), lambda: current.is_stopped
    )
    assert done.is_interrupted and len(done.runs) == 1
    assert done.notes[-1] == (
        "interrupted: naive served 7 of 640 requests, and no further mode was run"
    )


def test_a_mode_that_starts_again_keeps_its_line_of_progress():
    progress = Progress(disable=True)
    current = Session(progress)
    for _ in range(2):
        clients = ClosedLoop([Arrival(n, None, 5, 5) for n in range(3)], concurrency=1)
        source = current.watch(3, Mode.chunked, clients)
        source.take()
        source.finished(1.0)
    (task,) = progress.tasks
    assert (task.description, task.completed, task.total) == ("continuous+chunked", 1, 3)
