"""The pull-request comment: the whole text, and what a Markdown parser makes of it."""

from __future__ import annotations

import re
from dataclasses import replace

import built_assessments as build
import pytest
from markdown_it import MarkdownIt
from small_report import hostile_report, small_report

from scheduler_reader.report import markdown_text as md
from scheduler_reader.report.formats import markdown
from scheduler_reader.report.report import Report

COMMENT = """\
<!-- sched-reader -->

## sched-reader: 1 error, 1 note in 1 engine

- **not read**: broken.yaml:3:1: not YAML: found a tab

### meta-llama/Llama-3.1-8B-Instruct in `serve.yaml:1:1`

vLLM 0.18.0 (--vllm-version), V1 engine, 1 × NVIDIA H100 SXM 80 GB (assumed)

**DOES NOT START**: vLLM 0.18.0 refuses it (MEM901); **1 error**, 1 note

**Bottleneck once it starts:** none of the three defaults: decode runs at the memory-bandwidth floor (high confidence)

|  | where | rule | what | fix |
| --- | --- | --- | --- | --- |
| error | `serve.yaml:3:1` | MEM901 made-up-error | max\\_model\\_len is 16,384 and 8,192 fit. | --max-model-len 8192; or a larger card |
| note | `serve.yaml:3:1` | MEM104 oversized-context | max\\_model\\_len is 16,384 and the longest request of the workload is 1,280 tokens. | --max-model-len 2048 |

<details>
<summary>Memory, prediction, settings</summary>

**Memory of one GPU:** 79.2 GiB, budget (\\|) 71.3 GiB = 0.9 × total

| weights | activations | CUDA graphs | non-torch | KV cache | unused |
| --: | --: | --: | --: | --: | --: |
| 15.0 GiB | 1.2 GiB | 0.5 GiB | 0.6 GiB | 54.0 GiB | 7.9 GiB |

|  |  |
| --- | --- |
| **KV cache** | 442,528 tokens (434,992–447,280), 27,658 blocks of 16 |
| **Requests** | 27.0 of max\\_model\\_len 16,384 (at most 131,072), 384 of this workload |

**Prediction:** 64 concurrent, 820–1,024 tokens in, 205–256 out, 640 requests

|  | mean | p50 | p99 | low – high |
| --- | --: | --: | --: | --- |
| TTFT | 212 ms | 97.0 ms | 1.24 s | 201 ms – 223 ms |
| ITL | 11.2 ms | 10.1 ms | 38.0 ms | 10.6 ms – 11.8 ms |
| TPOT | 11.3 ms |  |  | 10.7 ms – 11.9 ms |
| output tokens/s | 5,120 |  |  | 4,876 – 5,389 |
| requests/s | 22.2 |  |  | 21.1 – 23.4 |

62 running · 0.4 waiting · 0 preemptions/request · ITL floor 5.6 ms (memory)

**Settings** (\\* set by you)

|  |  |  |  |
| --- | --- | --: | --- |
| **\\*** | **max\\_model\\_len** | **16,384** | line 3, default 131,072 |
|  | max\\_num\\_seqs | 1,024 | default: the server on an H100 |
|  | max\\_num\\_batched\\_tokens | 8,192 | default: the server on an H100 |
|  | enable\\_chunked\\_prefill | on | default |
|  | gpu\\_memory\\_utilization | 0.9 | default |

</details>

<details>
<summary>Evidence, assumptions, what is not known</summary>

**Evidence:** 71% of a step is reading weights and KV blocks; lifted alone: token budget +1.0%, KV blocks +0.0%, max\\_num\\_seqs +0.0%

**Assumed:** one H100 SXM, because no GPU is stated; the default workload, because none is stated

**Not modelled:** tokenizer time

**Not evaluated:** observed metrics (--metrics) (OBS101)

**Measure next:** vllm:kv\\_cache\\_usage\\_perc at peak

**Read next:** sched-reader explain decode\\_floor

</details>

<details>
<summary>1 accepted finding</summary>

- `serve.yaml:3:1` PRF901 made-up-warning: Slow. (comment: measured, fast enough)

</details>
"""


def parsed(text: str) -> str:
    """As GitHub reads it: tables, bare addresses as links, HTML let through."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return str(reader.render(text))


def test_the_whole_comment() -> None:
    assert markdown.render(small_report()) == COMMENT


def test_tables_and_folds_are_understood() -> None:
    html = parsed(markdown.render(small_report()))
    assert html.count("<table>") == html.count("</table>") == 5
    assert html.count("<details>") == html.count("</details>") == 3
    assert "<td>max_model_len is 16,384 and 8,192 fit.</td>" in html
    assert html.count("<tr>\n<td>error</td>") == 1


def test_text_of_files_has_no_effect() -> None:
    text = markdown.render(hostile_report())
    html = parsed(text)
    assert "<script" not in html
    assert "<a " not in html
    assert html.count("<h3>") == 1
    assert "@octocat" not in text
    assert "#12" not in text
    assert "https://" not in text
    rows = [line for line in html.split("<tr>") if "FLG901" in line]
    assert rows[0].count("<td>") == 5


@pytest.mark.parametrize(
    "text",
    [
        "a_b *c* `d` [e](f) <g> | h & i ~~j~~ $k$ \\",
        "# no heading",
        "1. no list",
        "- no list",
        "+ no list",
        "> no quote",
        "---",
        "=== x",
        "    no code",
        "&lt; stays",
    ],
)
def test_escaped_text_is_shown_as_it_stands(text: str) -> None:
    from html import unescape

    shown = unescape(parsed(md.escaped(text)).strip().removeprefix("<p>").removesuffix("</p>"))
    assert shown.replace("\u200b", "") == " ".join(text.split())


def test_a_comment_has_room_for_so_much() -> None:
    def shown(count: int) -> tuple[int, str]:
        quiet = [build.healthy(engine=build.engine(name=f"engine-{i}")) for i in range(count)]
        text = markdown.render(Report.of([*quiet, build.does_not_start()]))
        assert len(text) < 65_536
        first, *others = re.findall(r"^### (.*)$", text, re.MULTILINE)
        assert "Llama-3.3-70B" in first
        return len(others), text

    assert shown(3)[1].count("<details>") == 2 * 4
    engines, text = shown(40)
    assert engines == 40
    assert 0 < text.count("<details>") < 2 * 40
    engines, text = shown(200)
    assert text.endswith(f"{200 - engines} more engines would not fit into a comment.\n")
    assert "<details>" not in text


def test_rules_are_linked_where_the_pages_are_published() -> None:
    finding = build.finding(code="MEM103")
    report = Report.of([build.healthy(findings=(finding,))])
    assert "](" not in markdown.render(report)
    linked = markdown.render(replace(report, docs=lambda: "https://docs.example"))
    assert "[MEM103 oversized-context](https://docs.example/rules/MEM103.html)" in linked
