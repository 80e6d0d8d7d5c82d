"""`--fix` renames in place and leaves everything beside it alone."""

from __future__ import annotations

import pytest

from scheduler_reader.knowledge.versions import Release
from scheduler_reader.upgrade.rewrite import rewrite

CONFIG = """\
# our chat server
model: Qwen/Qwen2.5-7B-Instruct
swap-space: 16   # four were too few
cuda_graph_sizes: 256  # as the batch

max-num-seqs:   64
disable-mm-preprocessor-cache: true
rope-theta: 1000000
"""
CONFIG_AFTER = """\
# our chat server
model: Qwen/Qwen2.5-7B-Instruct
max_cudagraph_capture_size: 256  # as the batch

max-num-seqs:   64
mm-processor-cache-gb: 0
rope-theta: 1000000
"""
SCRIPT = """\
#!/bin/bash
vllm serve meta-llama/Llama-3.1-8B-Instruct \\
  --swap-space 16 \\
  --guided-decoding-backend xgrammar \\
  --override_pooler_config '{"pooling_type": "LAST"}' \\
  --disable-mm-preprocessor-cache --max-num-seqs 64 \\
  --num-scheduler-steps 8 --cuda-graph-sizes 8 16 --task=generate
"""
SCRIPT_AFTER = """\
#!/bin/bash
vllm serve meta-llama/Llama-3.1-8B-Instruct \\
  --structured-outputs-config.backend xgrammar \\
  --pooler_config '{"pooling_type": "LAST"}' \\
  --mm-processor-cache-gb=0 --max-num-seqs 64 \\
  --cudagraph-capture-sizes 8 16 --runner=generate
"""
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.9.2
          args:
            - "--model=Qwen/Qwen3-8B"  # the model
            - "--swap-space"
            - "4"
            - --guided-decoding-backend=xgrammar # json
            - --max-num-seqs=12
"""
MANIFEST_AFTER = MANIFEST.replace('            - "--swap-space"\n            - "4"\n', "").replace(
    "--guided-decoding-backend", "--structured-outputs-config.backend"
)
COMPOSE = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.9.2
    command: --model Qwen/Qwen3-8B --worker-use-ray --max-num-seqs 8
"""


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("serve.yaml", CONFIG, CONFIG_AFTER),
        ("serve.sh", SCRIPT, SCRIPT_AFTER),
        ("pod.yaml", MANIFEST, MANIFEST_AFTER),
        (
            "compose.yaml",
            COMPOSE,
            COMPOSE.replace("--worker-use-ray", "--distributed-executor-backend=ray"),
        ),
        ("crlf.yaml", CONFIG.replace("\n", "\r\n"), CONFIG_AFTER.replace("\n", "\r\n")),
    ],
)
def test_renames_keep_comments_and_layout(name: str, before: str, after: str) -> None:
    assert rewrite(before, name, Release("0.18.0")).text == after


def test_what_has_no_successor_is_left_alone_and_told() -> None:
    done = rewrite(CONFIG, "serve.yaml", Release("0.18.0"))
    left = [(one.flag, one.reason) for one in done.rewrites if not one.is_done]
    assert left == [
        (
            "--rope-theta",
            "nothing means the same in vLLM 0.18.0; decide about --hf-overrides yourself",
        )
    ]
    assert done.is_refused


def test_a_successor_that_the_release_does_not_have_is_taken_back() -> None:
    # --structured-outputs-config came with 0.11.0 and --guided-decoding-backend went with 0.12.0;
    # dotted keys came with 0.9.0, so 0.8.5 has no way to write --speculative-config.model.
    text = "model: a/b\nspeculative-model: c/d\n"
    done = rewrite(text, "serve.yaml", Release("0.8.5"))
    assert done.text == text
    assert done.is_refused


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("vllm serve a/b --speculative-model '[ngram]'\n", "a method, not a model"),
        ("vllm serve a/b --task embed\n", "no single successor"),
        ("vllm serve a/b --swap-space $GIB\n", "by hand"),
    ],
)
def test_an_unsafe_edit_is_refused(text: str, reason: str) -> None:
    done = rewrite(text, "serve.sh", Release("0.18.0"))
    assert done.text == text
    assert [one.is_done for one in done.rewrites] == [False]
    assert reason in str(done.rewrites[0].reason)


def test_an_option_out_of_a_variable_is_renamed_where_it_stands() -> None:
    text = (
        "# --guided-decoding-backend was set by hand\n"
        'ARGS="--port 80 --guided-decoding-backend xgrammar"\n'
        "vllm serve a/b $ARGS\n"
    )
    done = rewrite(text, "serve.sh", Release("0.18.0"))
    assert (
        done.text.splitlines()[1] == 'ARGS="--port 80 --structured-outputs-config.backend xgrammar"'
    )
    assert not done.is_refused


def test_a_value_given_twice_is_not_merged() -> None:
    text = (
        'vllm serve a/b --speculative-config \'{"method": "ngram"}\' --num-speculative-tokens 3 \\\n'
        "  --port 80\n"
    )
    done = rewrite(text, "serve.sh", Release("0.18.0"))
    assert done.text == text


def test_nothing_to_do_changes_nothing() -> None:
    text = "model: a/b\nmax-num-seqs: 4\n"
    done = rewrite(text, "serve.yaml", Release("0.18.0"))
    assert (done.text, done.rewrites, done.is_refused) == (text, (), False)


def test_options_of_one_json_option_are_rewritten_all_or_none() -> None:
    text = (
        "vllm serve a/b \\\n"
        "  --speculative-model '[ngram]' \\\n"
        "  --num-speculative-tokens 3 \\\n"
        "  --worker-use-ray \\\n"
        "  --port 80\n"
    )
    done = rewrite(text, "serve.sh", Release("0.18.0"))
    assert done.text == text.replace("--worker-use-ray", "--distributed-executor-backend=ray")
    assert [one.flag for one in done.rewrites if one.is_done] == ["--worker-use-ray"]


FORMS = {
    "Dockerfile": """\
FROM vllm/vllm-openai:v0.9.2
# json only
CMD ["--model", "Qwen/Qwen3-8B", "--guided-decoding-backend", "xgrammar", "--port", "80"]
""",
    "vllm.service": """\
[Service]
ExecStart=/usr/bin/vllm serve Qwen/Qwen3-8B \\
    --guided-decoding-backend xgrammar \\
    --port 80
""",
    "compose.yaml": """\
services:
  vllm:
    image: vllm/vllm-openai:v0.9.2  # pinned
    command:
      - --model=Qwen/Qwen3-8B
      - --guided-decoding-backend=xgrammar  # json
      - --port=80
""",
    "run.sh": """\
docker run --gpus all vllm/vllm-openai:v0.9.2 \\
  --model Qwen/Qwen3-8B --guided-decoding-backend=xgrammar # json
""",
    "pod.yaml": """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: vllm
      image: vllm/vllm-openai:v0.9.2
      command: [/bin/sh, -c]
      args:
        - |
          # start
          vllm serve Qwen/Qwen3-8B \\
            --guided-decoding-backend xgrammar
""",
    "serve.yaml": "model: Qwen/Qwen3-8B\n'guided-decoding-backend': xgrammar  # json\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_every_text_form_is_rewritten_in_place(name: str) -> None:
    text = FORMS[name]
    done = rewrite(text, name, Release("0.18.0"))
    assert done.text == text.replace("guided-decoding-backend", "structured-outputs-config.backend")
    assert not done.is_refused


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("a.sh", "--enable-chunked-prefill=False --port 80", "--no-enable-chunked-prefill --port 80"),
        ("a.sh", "--enable_chunked_prefill true --port 80", "--enable_chunked_prefill --port 80"),
        ("a.sh", "--port 80 --enable-chunked-prefill False", "--port 80 --no-enable-chunked-prefill"),
    ],
)  # fmt: skip
def test_a_value_of_what_is_a_switch_now(name: str, before: str, after: str) -> None:
    done = rewrite(f"vllm serve a/b {before}\n", name, Release("0.18.0"))
    assert done.text == f"vllm serve a/b {after}\n"
    assert not done.is_refused


def test_false_in_a_config_file_is_put_into_words_where_it_was_in_force() -> None:
    text = "model: a/b\nenable_chunked_prefill: false  # as before\n"
    done = rewrite(text, "serve.yaml", Release("0.18.0"), earlier=Release("0.8.3"))
    assert done.text == "model: a/b\nno_enable_chunked_prefill: true  # as before\n"
    # 0.9.2 dropped it as well, so nothing changes and nobody is told to turn chunking off.
    done = rewrite(text, "serve.yaml", Release("0.18.0"), earlier=Release("0.9.2"))
    assert done.text == text


def test_false_of_a_plain_switch_says_nothing_and_stays() -> None:
    text = "model: a/b\ndisable-log-stats: false\n"
    assert rewrite(text, "serve.yaml", Release("0.8.5")).text == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"--swap-space", "4", "--port", "80"', '"--port", "80"'),
        ('"--port", "80", "--swap-space", "4"', '"--port", "80"'),
        ('"--port", "80", "--swap-space=4", "--seed", "1"', '"--port", "80", "--seed", "1"'),
        ('"--port", "80", "--disable-log-requests"', '"--port", "80"'),
    ],
)
def test_an_item_is_cut_out_of_a_list_in_brackets(before: str, after: str) -> None:
    head = 'FROM vllm/vllm-openai:v0.9.2\nCMD ["--model", "a/b", '
    done = rewrite(f"{head}{before}]\n", "Dockerfile", Release("0.18.0"))
    assert done.text == f"{head}{after}]\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vllm serve a/b --swap-space 4\n", "vllm serve a/b\n"),
        ("vllm serve a/b \\\n  --port 80 \\\n  --swap-space 4\n", "vllm serve a/b \\\n  --port 80\n"),
        ("vllm serve a/b \\\n  --port 80 --swap-space=4\necho\n", "vllm serve a/b \\\n  --port 80\necho\n"),
        ('A="--port 80 --swap-space 4"\nvllm serve a/b $A\n', 'A="--port 80"\nvllm serve a/b $A\n'),
    ],
)  # fmt: skip
def test_an_option_at_the_end_of_a_command(before: str, after: str) -> None:
    assert rewrite(before, "serve.sh", Release("0.18.0")).text == after
