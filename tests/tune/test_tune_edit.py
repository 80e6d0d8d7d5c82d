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


SEATS = {"max_num_seqs": 128}
ARRAY = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.18.0
    command: [
      "--model", "m/x",
      "--port", "80",
    ]
"""
ITEM = POD.partition('        - "--max')[0] + "        - m/x\n"
DOS = ITEM.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "compose.yaml",
            ARRAY,
            ARRAY.replace('      "--port"', '      "--max-num-seqs", "128",\n      "--port"'),
        ),
        (
            "compose.yaml",
            ARRAY.replace('"--port", "80",', '"--port=80"'),
            ARRAY.replace('"--port", "80",', '"--max-num-seqs=128",\n      "--port=80"'),
        ),
        ("serve.sh", "vllm serve m/x\n", "vllm serve m/x --max-num-seqs 128\n"),
        ("serve.sh", "vllm serve m/x", "vllm serve m/x --max-num-seqs 128"),
        (
            "serve.sh",
            "vllm serve \\\n  m/x \\\n  --port 80\n",
            "vllm serve \\\n  m/x \\\n  --max-num-seqs 128 \\\n  --port 80\n",
        ),
        ("pod.yaml", ITEM, f"{ITEM}        - --max-num-seqs=128\n"),
        ("pod.yaml", ITEM.rstrip("\n"), f"{ITEM}        - --max-num-seqs=128"),
        ("pod.yaml", DOS, f"{DOS}        - --max-num-seqs=128\r\n"),
        ("serve.yaml", 'model: m/x\n"port": 80', 'model: m/x\n"port": 80\n"max-num-seqs": 128'),
    ],
)
def test_an_option_goes_beside_what_is_there(name, before, after):
    found = edited(before, name, 0, [SEATS], V018)
    assert (found.text, found.left) == (after, ())


@pytest.mark.parametrize(
    ("name", "text", "change"),
    [
        ("serve.sh", "vllm serve m/x && echo up\n", SEATS),  # not the last word of its line
        ("serve.sh", "M=m/x\nvllm serve $M\n", SEATS),  # nothing stands there as it is
        ("serve.yaml", "{model: m/x, port: 80}\n", SEATS),  # keys that share a line
        ("serve.sh", "vllm serve m/x --port 80\n", {"served_model_name": "two words"}),
    ],
)
def test_what_has_no_safe_place_is_left_to_the_user(name, text, change):
    found = edited(text, name, 0, [change], V018)
    no_place = "the file has no place for it that can be edited safely; change it by hand"
    assert (found.text, found.left) == (text, ((change, no_place),))


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
