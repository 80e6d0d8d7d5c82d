"""A text that almost runs a container is read at once."""

from __future__ import annotations

import time

from scheduler_reader.parse.forms.docker_run import RUN


def test_a_word_of_many_dashes_is_tried_one_way() -> None:
    before = time.process_time()
    assert RUN.search("docker" + "--no-" * 200 + "\n") is None
    assert time.process_time() - before < 1


def test_options_before_run_are_passed_over() -> None:
    assert RUN.search("docker --host=tcp://x --tls \\\n  run vllm") is not None
    assert RUN.search("podman --log-level=info\\\n container create x") is not None
