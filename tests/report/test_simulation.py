"""What a simulation looks like: timeline in text, page in a real browser, Perfetto trace, plot."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from scheduler_reader.errors import UsageError
from scheduler_reader.knowledge.versions import Release
from scheduler_reader.report.simulation import html, plot, terminal, timeline, trace_events
from scheduler_reader.report.simulation import json as report_json
from scheduler_reader.report.simulation.simulated import Simulated
from scheduler_reader.simulate.modes import Mode
from scheduler_reader.simulate.result import (
    Gaps,
    Phase,
    RequestRecord,
    Sample,
    SimulationResult,
)
from scheduler_reader.simulate.setup import set_up
from scheduler_reader.simulate.study import Study, study
from scheduler_reader.value import Known
from scheduler_reader.workload import Lengths, Slo, Workload

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
LOAD = Workload(
    concurrency=6,
    num_requests=18,
    input_tokens=Lengths(uniform=(200, 6000)),
    output_tokens=Lengths(uniform=(20, 120)),
)
HOSTILE = 'Qwen </script><b id="x">3</b> on H100'

RESULT = SimulationResult(
    records=(
        RequestRecord(0, 90, 5, 0.0, 0.0, 2.0, 10.0, 0, 0, (Gaps(2.0, 4),)),
        RequestRecord(1, 90, 2, 0.0, 2.0, 4.0, 10.0, 0, 1, (Gaps(6.0, 1),)),
    ),
    duration_s=10.0,
    steps=6,
    busy_s=10.0,
    preemptions=1,
    num_blocks=11,
    block_size=16,
    phases=(
        Phase(0, "prefill", 0.0, 2.0, 90),
        Phase(0, "decode", 2.0, 10.0, 4),
        Phase(1, "waiting", 0.0, 2.0, 0),
        Phase(1, "prefill", 2.0, 4.0, 90),
        Phase(1, "preempted", 4.0, 7.0, 0),
        Phase(1, "prefill", 7.0, 7.1, 91),
        Phase(1, "decode", 7.1, 10.0, 1),
    ),
    samples=(Sample(0.0, 1, 1, 5), Sample(2.0, 2, 0, 10), Sample(4.0, 1, 1, 5)),
)


@pytest.fixture(scope="module")
def ran(served) -> Study:
    engine, plan = served("Qwen/Qwen3-8B --max-model-len 8192 --num-gpu-blocks-override 700", LOAD)
    setup = set_up(engine, plan, LOAD)
    assert isinstance(setup, Known)
    return study(setup.value, Slo(ttft_ms=800), list(Mode))


def drawn(glyphs: timeline.Glyphs, width: int = 28, rows: int = 9) -> list[str]:
    spans = timeline.lines(RESULT, width, rows, glyphs)
    return ["".join(text for text, _ in line).rstrip() for line in spans]


def test_timeline_draws_every_kind_of_time():
    """20 columns of half a second; a prefill of a tenth of a second is not lost."""
    assert drawn(timeline.ASCII) == [
        "       0         5 s   10 s",
        "     0 pppp================",
        "     1 ....ppppxxxxxxp=====",
        "    KV 44449999444444444444",
        "  wait 9999    999999999999",
        "       . waiting  p prefill  = decode  x preempted",
        "       KV: at most 100% of 10 blocks; waiting: at most 1",
    ]


def test_timeline_in_blocks_shows_some_of_many_requests():
    first, *_ = drawn(timeline.BLOCKS, rows=2)[1:]
    assert first == "     0 ▒▒▒▒████████████████"
    many = RESULT._replace(
        records=tuple(RESULT.records[0]._replace(number=number) for number in range(100))
    )
    lines = list(timeline.lines(many, 60, 5, timeline.BLOCKS))
    assert [line[0][0].strip() for line in lines[1:6]] == ["0", "24", "49", "74", "99"]


def test_terminal_fits_80_columns_and_is_plain_when_piped(ran):
    out = StringIO()
    terminal.render(Simulated("Qwen", ("something",), ran), Console(file=out, width=80))
    text = out.getvalue()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    for part in ("static batches", "padding", "goodput", "Assumed: something", "▒ prefill"):
        assert part in text
    assert re.search(r"continuous\+chunked +[\d,]+ +[\d.]+ m?s", text)


def test_an_engine_that_cannot_run_is_said_to_be_so():
    out = StringIO()
    terminal.render(Simulated("Qwen", (), None, "the engine does not start"), Console(file=out))
    assert "not simulated: the engine does not start" in out.getvalue()
    (engine,) = json.loads(report_json.render([Simulated("Qwen", (), None, "why")]))["engines"]
    assert engine == {"engine": "Qwen", "unknown": "why"}


def test_json_has_every_mode(ran):
    (engine,) = json.loads(report_json.render([Simulated("Qwen", (), ran)]))["engines"]
    assert list(engine["modes"]) == ["naive", "static", "continuous", "chunked"]
    chunked = engine["modes"]["chunked"]
    assert chunked["finished"] == 18 and chunked["ttft_ms"]["p99"] > 0
    assert engine["scheduler"]["num_gpu_blocks"] == 700
    assert len(engine["gaps"]) == 4


def test_trace_events_are_what_perfetto_reads(ran):
    events = json.loads(trace_events.render(ran))["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "C"}
    for event in events:
        assert {"pid", "name"} <= event.keys()
        assert event["ph"] != "X" or (event["dur"] > 0 and event["ts"] >= 0 and "tid" in event)
        assert event["ph"] != "C" or all(isinstance(v, int) for v in event["args"].values())
    names = [e["args"]["name"] for e in events if e["name"] == "process_name"]
    assert names == ["one at a time", "static batches", "continuous", "continuous+chunked"]


def test_the_page_needs_nothing_else_and_its_data_cannot_end_the_script(ran):
    page = html.render(HOSTILE, ran)
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", page)
    assert page.count("</script>") == 2
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    data = json.loads(found[1])
    assert data["title"] == HOSTILE
    assert [len(run["requests"]) for run in data["runs"]] == [18] * 4
    assert "prefers-color-scheme: dark" in page


def in_browser(tmp_path: Path, page: str, *options: str) -> str:
    """The page's DOM after its scripts have run."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")
    file = tmp_path / "page.html"
    file.write_text(page, encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,1200",
         f"--user-data-dir={tmp_path / 'profile'}", *options, file.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


GESTURES = """<script>
const box = canvas.getBoundingClientRect();
const at = (x, y) => ({ clientX: box.left + x, clientY: box.top + y, cancelable: true, pointerId: 1 });
const seen = document.createElement("ol");
const note = value => seen.append(text("li", String(value)));
document.body.append(seen);
note(canvas.dataset.bars > 0);
canvas.dispatchEvent(new PointerEvent("pointermove", at(120, 30)));
note(tip.textContent.split("\\n")[0]);
note(tip.style.visibility);
const before = canvas.dataset.to - canvas.dataset.from;
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, ...at(300, 60) }));
note(((canvas.dataset.to - canvas.dataset.from) / before).toFixed(2));
canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
note((canvas.dataset.to - canvas.dataset.from) === before);
document.querySelector("td button").click();
note(run.title);
note(document.getElementById("x") === null);
note(getComputedStyle(document.body).backgroundColor);
</script></body>"""


@pytest.mark.parametrize(
    ("scheme", "background"), [("1", "rgb(255, 255, 255)"), ("0", "rgb(18, 22, 28)")]
)
def test_the_page_in_a_browser_light_and_dark(ran, tmp_path, scheme, background):
    page = html.render(HOSTILE, ran).replace("</body>", GESTURES)
    dom = in_browser(
        tmp_path, page, "--dump-dom", f"--blink-settings=preferredColorScheme={scheme}"
    )
    seen = re.findall(r"<li>(.*?)</li>", dom)
    assert seen[0] == "true"
    assert seen[1].startswith("request 0: ")
    assert seen[2:] == ["visible", "0.80", "true", "one at a time", "true", background]


def test_a_plot_needs_its_extra_and_a_name_that_says_how(ran, tmp_path):
    with pytest.raises(UsageError, match=r"\.png or \.svg"):
        plot.check(tmp_path / "x.pdf")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match=r"pip install 'sched-reader\[plot\]'"):
            plot.write(tmp_path / "x.png", "Qwen", ran)
        return
    for name, start in (("x.png", b"\x89PNG"), ("x.svg", b"<?xml")):
        plot.write(tmp_path / name, "Qwen", ran)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_a_request_longer_than_the_pool_is_explained(served):
    load = LOAD.replaced({"input_tokens": 2000, "num_requests": 3})
    engine, plan = served("Qwen/Qwen3-8B --max-model-len 8192", load, version="0.33.0")
    known = set_up(engine, plan, load)
    assert isinstance(known, Known)
    config = known.value.config
    small = known.value._replace(config=replace(config, num_gpu_blocks=100))
    (note,) = study(small, Slo(), [Mode.chunked]).notes
    assert "3 requests never finish: request 0 needs 126 KV blocks and there are 99" in note
    assert "lets it wait for ever" in note
    older = study(small._replace(release=Release("0.10.2")), Slo(), [Mode.chunked]).notes
    assert "again and again" in older[0]
