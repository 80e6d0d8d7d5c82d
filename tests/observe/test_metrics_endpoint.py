"""Pages of /metrics: one, two, of several engines, of old releases, and from a server on loopback."""

from __future__ import annotations

import os
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from scheduler_reader.errors import InputError
from scheduler_reader.knowledge.metrics import metric_name
from scheduler_reader.knowledge.versions import Release, releases
from scheduler_reader.observe.exposition import read_page
from scheduler_reader.observe.histogram import Histogram, Quantile
from scheduler_reader.observe.metrics import MetricsReading, read_metrics, unread_names
from scheduler_reader.value import Known, Unknown

RECORDED = Path(__file__).parent / "inputs" / "recorded-0.32.0"
BEFORE, LOADED, AFTER = (
    str(RECORDED / f"metrics-{when}.txt") for when in ("before", "loaded", "after")
)


def number(reading: MetricsReading, name: str) -> float | None:
    value = reading.measures[name]
    return value.value if isinstance(value, Known) else None


def reason(reading: MetricsReading, name: str) -> str:
    value = reading.measures[name]
    assert isinstance(value, Unknown)
    return value.reason


def write(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


def test_a_loaded_server_shows_its_queues() -> None:
    reading = read_metrics([LOADED])
    shown = ("running", "waiting", "kv_cache_usage", "engines", "num_blocks", "block_size")
    assert {name: number(reading, name) for name in shown} == {
        "running": 7,
        "waiting": 17,
        "kv_cache_usage": pytest.approx(0.9149, abs=1e-4),
        "engines": 1,
        "num_blocks": 48,
        "block_size": 32,
    }
    assert reading.cache_config["enable_prefix_caching"] == "True"
    value = reading.measures["waiting"]
    assert isinstance(value, Known)
    assert (value.origin.path, value.origin.detail) == (LOADED, "vllm:num_requests_waiting")
    assert "num_requests_waiting{" in Path(LOADED).read_text().split("\n")[value.origin.line - 1]  # type: ignore[operator]


def test_a_server_says_why_its_requests_wait(tmp_path: Path) -> None:
    assert number(read_metrics([LOADED]), "waiting_deferred") == 0
    text = Path(LOADED).read_text()
    more = text.replace('reason="deferred"} 0.0', 'reason="deferred"} 12.0')
    reading = read_metrics([write(tmp_path, "deferred.txt", more)])
    value = reading.measures["waiting_deferred"]
    assert isinstance(value, Known)
    assert (value.value, value.origin.detail) == (12, "deferred")
    older = "".join(line for line in text.splitlines(True) if "by_reason" not in line)
    without = reason(read_metrics([write(tmp_path, "older.txt", older)]), "waiting_deferred")
    assert without == "this server has no vllm:num_requests_waiting_by_reason"


def test_one_page_has_totals_and_no_rates() -> None:
    reading = read_metrics([AFTER])
    assert (number(reading, "requests"), number(reading, "preemptions")) == (600, 144)
    assert number(reading, "preemptions_per_request") == pytest.approx(0.24)
    assert "no time in it" in reason(reading, "output_tokens_per_s")
    assert reading.notes == (
        "one page of metrics: means, percentiles and counts are of all time since start",
    )


def test_two_pages_give_rates_that_the_client_confirms() -> None:
    """The load took 9.83 s by the client's clock, for 61.0 requests/s and 2,440 output tokens/s."""
    reading = read_metrics([BEFORE, AFTER], interval_s=9.834)
    assert number(reading, "requests_per_s") == pytest.approx(61.0, rel=0.01)
    assert number(reading, "output_tokens_per_s") == pytest.approx(2440, rel=0.01)
    assert number(reading, "total_tokens_per_s") == pytest.approx(13422, rel=0.01)
    assert number(reading, "running_mean") == pytest.approx(24, rel=0.05)  # its concurrency
    assert number(reading, "input_tokens_mean") == 180
    assert number(reading, "output_tokens_mean") == 40
    assert number(reading, "ttft_mean_ms") == pytest.approx(280, rel=0.05)
    ttft = number(reading, "ttft_p99_ms")
    assert ttft is not None
    assert abs(ttft - 442.6) <= reading.widths["ttft_p99_ms"]  # the client's, within the bucket


def test_what_happened_before_the_first_page_does_not_count() -> None:
    window, whole = read_metrics([LOADED, AFTER]), read_metrics([AFTER])
    assert (number(whole, "requests"), number(whole, "preemptions")) == (600, 144)
    assert number(window, "preemptions") == 135
    assert number(window, "requests") < 600  # type: ignore[operator]


def test_the_time_between_pages_is_that_of_their_files(tmp_path: Path) -> None:
    first, last = (tmp_path / name for name in ("a.txt", "b.txt"))
    first.write_text(Path(BEFORE).read_text())
    last.write_text(Path(AFTER).read_text())
    os.utime(first, (1000, 1000))
    os.utime(last, (1060, 1060))
    reading = read_metrics([str(first), str(last)])
    assert number(reading, "requests_per_s") == 10
    assert reading.notes == (
        "the two pages of metrics were taken 60 s apart, by the times of their files (else "
        "--metrics-interval-s)",
    )
    os.utime(last, (1000, 1000))  # as in a checkout: the time is not known
    assert "--metrics-interval-s" in reason(read_metrics([str(first), str(last)]), "requests_per_s")


def test_a_server_that_restarted_has_no_rates() -> None:
    reading = read_metrics([AFTER, BEFORE], interval_s=10)
    assert "restarted" in reason(reading, "requests_per_s")
    assert "restarted" in reason(reading, "ttft_mean_ms")


def test_data_parallel_engines_are_joined(tmp_path: Path) -> None:
    page = write(
        tmp_path,
        "dp.txt",
        'vllm:num_requests_running{engine="0",model_name="m"} 10.0\n'
        'vllm:num_requests_running{engine="1",model_name="m"} 20.0\n'
        'vllm:num_requests_waiting{engine="0",model_name="m"} 1.0\n'
        'vllm:num_requests_waiting{engine="1",model_name="m"} 2.0\n'
        'vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.5\n'
        'vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.7\n',
    )
    reading = read_metrics([page])
    shown = ("running", "waiting", "kv_cache_usage", "engines")
    assert [number(reading, name) for name in shown] == [30, 3, 0.6, 2]


def test_a_v0_server_has_other_names(tmp_path: Path) -> None:
    page = write(
        tmp_path,
        "v0.txt",
        'vllm:num_requests_running{model_name="m"} 8.0\n'
        'vllm:num_requests_waiting{model_name="m"} 3.0\n'
        'vllm:num_requests_swapped{model_name="m"} 2.0\n'
        'vllm:gpu_cache_usage_perc{model_name="m"} 0.97\n'
        'vllm:gpu_prefix_cache_hit_rate{model_name="m"} -1.0\n'
        'vllm:avg_generation_throughput_toks_per_s{model_name="m"} 345.5\n'
        "# TYPE vllm:time_per_output_token_seconds histogram\n"
        'vllm:time_per_output_token_seconds_bucket{le="0.01",model_name="m"} 5.0\n'
        'vllm:time_per_output_token_seconds_bucket{le="0.02",model_name="m"} 10.0\n'
        'vllm:time_per_output_token_seconds_bucket{le="+Inf",model_name="m"} 10.0\n'
        'vllm:time_per_output_token_seconds_sum{model_name="m"} 0.1\n'
        'vllm:time_per_output_token_seconds_count{model_name="m"} 10.0\n',
    )
    reading = read_metrics([page])
    shown = ("running", "waiting", "kv_cache_usage", "output_tokens_per_s")
    assert [number(reading, name) for name in shown] == [8, 5, 0.97, 345.5]
    assert [number(reading, f"itl_{part}_ms") for part in ("mean", "p50")] == [10, 10]
    assert reading.widths["itl_p50_ms"] == 10
    assert reason(reading, "prefix_cache_hit_rate") == "prefix caching is off"
    assert reading.unread == ()


def test_speculation_yields_the_accepted_tokens_and_one(tmp_path: Path) -> None:
    page = write(
        tmp_path,
        "s.txt",
        "vllm:spec_decode_num_drafts_total 100.0\n"
        "vllm:spec_decode_num_accepted_tokens_total 150.0\n",
    )
    assert number(read_metrics([page]), "acceptance_length") == 2.5


def test_a_quantile_is_interpolated_within_its_bucket() -> None:
    found = Histogram((0.1, 0.2, float("inf")), (50, 100, 101), 12.0)
    assert found.quantile(0.25) == Quantile(pytest.approx(0.0505), 0.1)
    assert found.quantile(0.75) == Quantile(pytest.approx(0.1515), pytest.approx(0.1))
    top = found.quantile(0.999)
    assert isinstance(top, Unknown)
    assert top.reason == "lies above the largest bucket of the histogram (0.2)"
    assert isinstance(Histogram((float("inf"),), (0,), 0.0).quantile(0.5), Unknown)


@pytest.mark.parametrize("page", [BEFORE, LOADED, AFTER])
def test_every_metric_is_read_or_known_to_be_of_no_use(page: str) -> None:
    assert unread_names(read_page(page)) == ()


def test_every_metric_of_the_recorded_servers_is_understood(shared: Path) -> None:
    pages = sorted((shared / "samples").glob("*/metrics*.txt"))
    assert pages
    assert [name for page in pages for name in unread_names(read_page(str(page)))] == []


def test_a_metric_of_a_later_release_is_noticed(tmp_path: Path) -> None:
    page = write(tmp_path, "new.txt", "vllm:brand_new_total 3.0\nvllm:num_requests_running 1.0\n")
    assert read_metrics([page]).unread == ("vllm:brand_new_total",)


@pytest.mark.parametrize(
    "metric", ["kv_cache_usage", "inter_token_latency", "prefix_cache_hits", "preemptions"]
)
def test_every_release_has_a_name_for_it(metric: str) -> None:
    assert all(metric_name(metric, Release(name)).startswith("vllm:") for name in releases())


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/metrics":
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(Path(LOADED).read_bytes())

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = Thread(target=served.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}"
    served.shutdown()
    thread.join()
    served.server_close()


def test_a_page_is_fetched_when_a_url_is_given(server: str) -> None:
    assert number(read_metrics([f"{server}/metrics"]), "waiting") == 17


def test_the_same_url_twice_is_the_time_between(server: str) -> None:
    reading = read_metrics([f"{server}/metrics"] * 2, interval_s=0.05)
    assert number(reading, "duration_s") == 0.05
    assert number(reading, "requests") == 0


def test_what_cannot_be_fetched_is_one_line(server: str) -> None:
    with pytest.raises(InputError, match=r"/other: cannot be fetched: Not Found"):
        read_metrics([f"{server}/other"])
    with pytest.raises(InputError, match="cannot be fetched"):
        read_metrics(["http://127.0.0.1:9/metrics"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html><body>404</body></html>", "no Prometheus text"),
        ("node_load1 0.5\n", "no metric of vLLM"),
        ("# HELP nothing\n", "no metric in it"),
        ("", "is empty"),
    ],
)
def test_other_text_is_one_line_that_names_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    page = write(tmp_path, "page.txt", text)
    with pytest.raises(InputError, match=message) as caught:
        read_metrics([page])
    assert page in str(caught.value) and "\n" not in str(caught.value)


def test_more_than_two_pages_are_refused() -> None:
    with pytest.raises(InputError, match="3 pages of metrics"):
        read_metrics([BEFORE, LOADED, AFTER])
