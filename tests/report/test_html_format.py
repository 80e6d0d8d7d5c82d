"""The HTML report: its structure, what text of files can do to it, and a real browser's word."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import built_assessments as build
import pytest
from small_report import hostile_report, small_report

from scheduler_reader.report.formats import html
from scheduler_reader.report.report import Report
from scheduler_reader.simulate.result import Phase, RequestRecord, Sample, SimulationResult

VOID = {"meta", "link"}


class Page(HTMLParser):
    """Elements, their attributes, and the text of a page; end tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.lines: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1

    def handle_data(self, data: str) -> None:
        if "style" not in self.open and "title" not in self.open and data.strip():
            self.lines.append(data.strip())


def result() -> SimulationResult:
    """Two requests, the second of which waits for the first."""
    return SimulationResult(
        records=(
            RequestRecord(0, 8, 4, 0.0, 0.0, 0.5, 1.0),
            RequestRecord(1, 8, 4, 0.0, 0.5, 1.0, 2.0),
        ),
        duration_s=2.0,
        steps=4,
        busy_s=2.0,
        preemptions=0,
        num_blocks=11,
        block_size=16,
        phases=(
            Phase(0, "prefill", 0.0, 0.25, 4),
            Phase(0, "prefill", 0.25, 0.5, 4),
            Phase(0, "decode", 0.5, 1.0, 4),
            Phase(1, "waiting", 0.0, 0.5, 0),
            Phase(1, "prefill", 0.5, 1.0, 8),
            Phase(1, "decode", 1.0, 2.0, 4),
        ),
        samples=(Sample(0.0, 1, 1, 5), Sample(0.5, 2, 0, 10), Sample(1.0, 1, 0, 5)),
    )


def with_timeline() -> Report:
    return replace(small_report(), run=lambda assessment: result())


def test_what_a_reader_sees() -> None:
    lines = Page(html.render(small_report())).lines
    text = "\n".join(lines)
    assert lines[:13] == [
        "sched-reader",
        "not read",
        ": broken.yaml:3:1: not YAML: found a tab",
        "meta-llama/Llama-3.1-8B-Instruct",
        "serve.yaml:1:1",
        "vLLM 0.18.0 (--vllm-version), V1 engine, 1 × NVIDIA H100 SXM 80 GB (assumed)",
        "DOES NOT START",
        ": vLLM 0.18.0 refuses it (MEM901);",
        "1 error",
        ",",
        "1 note",
        "Bottleneck once it starts",
        "none of the three defaults: decode runs at the memory-bandwidth floor (high confidence)",
    ]
    titles = ["Findings", "Memory of one GPU", "Prediction", "Settings", "Evidence", "Assumed"]
    assert [lines.index(title) for title in titles] == sorted(map(lines.index, titles))
    finding = """error
MEM901 made-up-error
(vLLM exits)
serve.yaml:3:1
max_model_len is 16,384 and 8,192 fit.
vLLM exits.
Fix
--max-model-len 8192; or a larger card"""
    assert finding in text
    assert "KV cache 54.0 GiB" in lines
    assert "1 accepted finding" in lines
    assert "comment: measured, fast enough" in lines


def test_the_memory_bar_is_to_scale() -> None:
    styles = [
        value or ""
        for tag, name, value in Page(html.render(small_report())).attributes
        if (tag, name) == ("i", "style")
    ]
    widths = [float(style.removeprefix("width:").removesuffix("%")) for style in styles]
    assert widths[0] == pytest.approx(100 * 14.96 / 79.2, abs=0.001)
    assert sum(widths) == pytest.approx(100, abs=0.01)


def test_text_of_files_is_text() -> None:
    page = Page(html.render(hostile_report()))
    assert page.elements["script"] == 0
    assert not {tag for tag in page.elements if tag in {"img", "iframe", "object", "form", "base"}}
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    addresses = [value for _, name, value in page.attributes if name in ("href", "src")]
    assert addresses == ["data:,"]
    assert any(line.startswith("<script>alert(1)</script> `a|b` @octocat") for line in page.lines)


def test_a_run_is_drawn_with_the_chunks_of_a_prompt_as_one() -> None:
    page = Page(html.render(with_timeline()))
    assert page.elements["rect"] == 5
    titles = [line for line in page.lines if line.startswith("request ")]
    assert titles == []  # they are titles of the picture, which are no text of the page
    text = html.render(with_timeline())
    assert "<title>request 0: prefill 0.000–0.500 s, 8 tokens</title>" in text
    assert '<rect class="t-decode" x="500.00" y="11" width="500.00" height="8">' in text
    assert "KV: at most 100% of 10 blocks; waiting: at most 1 request; 0 preemptions." in text
    assert "Timeline" not in html.render(small_report())


def test_several_engines_have_a_table_of_contents() -> None:
    page = Page(html.render(Report.of([build.healthy(), build.does_not_start()])))
    links = [value for tag, name, value in page.attributes if (tag, name) == ("a", "href")]
    assert links == ["#engine-1", "#engine-2"]
    assert {"engine-1", "engine-2"} <= {v for _, name, v in page.attributes if name == "id"}


def test_rules_are_linked_where_the_pages_are_published() -> None:
    report = Report.of([build.healthy()])
    linked = html.render(replace(report, docs=lambda: "https://docs.example"))
    assert (
        '<a class="head" href="https://docs.example/rules/MEM104.html" rel="noreferrer">' in linked
    )


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (the extra validate)"
    )
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium is installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("report", [with_timeline(), hostile_report()])
def test_a_browser_shows_it_without_a_word(
    browser: Any, tmp_path: Path, report: Report, scheme: str, width: int
) -> None:
    file = tmp_path / "report.html"
    file.write_text(html.render(report), encoding="utf-8")
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    assert said == []
    assert asked == [file.as_uri()]
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth <= {root}.clientWidth")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 28)"}[scheme]
    page.close()
