"""Changes in a user's file: whole outputs, comments and layout kept."""

from __future__ import annotations

import pytest

from scheduler_reader.knowledge.versions import find_release
from scheduler_reader.tune.edit import edited

V018 = find_release("0.18.0")
CHANGES = (
    {"max_num_seqs": 128},
    {"enable_prefix_caching": False},
    {"tensor_parallel_size": 2, "data_parallel_size": 2},
)

CONFIG = """\
# chat server
model: m/x  # the model
max-num-seqs: 64 # seats
tensor-parallel-size: 4
"""
CONFIG_AFTER = """\
# chat server
model: m/x  # the model
max-num-seqs: 128 # seats
tensor-parallel-size: 2
no-enable-prefix-caching: true
data-parallel-size: 2
"""
SCRIPT = """\
#!/bin/sh
exec vllm serve m/x \\
  -tp 4 \\
  --max-num-seqs 64 \\
  --port 80  # the port
"""
SCRIPT_AFTER = """\
#!/bin/sh
exec vllm serve m/x \\
  -tp 2 \\
  --max-num-seqs 128 \\
  --no-enable-prefix-caching \\
  --data-parallel-size 2 \\
  --port 80  # the port
"""
COMPOSE = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.18.0
    command: ["--model", "m/x", "--max-num-seqs", "64", "-tp", "4"]
"""
COMPOSE_AFTER = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.18.0
    command: ["--model", "m/x", "--max-num-seqs", "128", "--no-enable-prefix-caching", "--data-parallel-size", "2", "-tp", "2"]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: v}
spec:
  containers:
    - name: v
      image: vllm/vllm-openai:v0.18.0
      command: [vllm, serve, m/x]
      args:
        - "--max-num-seqs=64"
        # four ranks
        - --tensor-parallel-size=4
"""
POD_AFTER = POD.replace("=64", "=128").replace(
    "        - --tensor-parallel-size=4",
    "        - --no-enable-prefix-caching\n        - --data-parallel-size=2\n"
    "        - --tensor-parallel-size=2",
)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("serve.yaml", CONFIG, CONFIG_AFTER),
        ("serve.sh", SCRIPT, SCRIPT_AFTER),
        ("compose.yaml", COMPOSE, COMPOSE_AFTER),
        ("pod.yaml", POD, POD_AFTER),
    ],
)
def test_each_form_in_its_own_way(name, before, after):
    found = edited(before, name, 0, CHANGES, V018)
    assert found.text == after
    assert found.left == ()


def test_a_value_that_comes_from_a_variable_is_left_and_named():
    script = "S=64\nvllm serve m/x --max-num-seqs $S\n"
    found = edited(script, "serve.sh", 0, [{"max_num_seqs": 128}], V018)
    assert found.text == script
    assert found.left == (
        (
            {"max_num_seqs": 128},
            "its value is not plain text in the file; change it where it comes from",
        ),
    )


def test_a_change_of_two_settings_is_made_whole_or_not_at_all():
    script = "T=4\nvllm serve m/x --tensor-parallel-size $T --port 1\n"
    change = {"data_parallel_size": 2, "tensor_parallel_size": 2}
    found = edited(script, "serve.sh", 0, [change], V018)
    assert (found.text, len(found.left)) == (script, 1)


def test_the_other_engine_of_a_file_stays_as_it_is():
    script = "vllm serve m/x --max-num-seqs 64 &\nvllm serve m/y --max-num-seqs 64\n"
    found = edited(script, "serve.sh", 1, [{"max_num_seqs": 128}], V018)
    assert found.text == script.replace("m/y --max-num-seqs 64", "m/y --max-num-seqs 128")


def test_the_number_of_drafts_inside_a_json_option():
    script = """vllm serve m/x -sc '{"method": "ngram", "num_speculative_tokens": 5}'\n"""
    script = script.replace("-sc", "--speculative-config")
    change = {"speculative_config.num_speculative_tokens": 3}
    found = edited(script, "serve.sh", 0, [change], V018)
    assert found.text == script.replace("5}", "3}")
