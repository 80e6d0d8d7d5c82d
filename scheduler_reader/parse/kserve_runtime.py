"""What KServe's Hugging Face runtime and vLLM runtimes make of a predictor's `model`.

Source: kserve, python/huggingfaceserver (`__main__.py`: its own options, the rest go to vLLM).
"""

from __future__ import annotations

import yaml

from scheduler_reader.knowledge.flags import any_release_table
from scheduler_reader.parse.source import Word
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import child, items

# Options of the Hugging Face server itself → the vLLM option that gets their value.
RENAMED = {"--model_id": "--model", "--model_revision": "--revision"}
NAME_OPTION = "--model_name"
OWN_OPTIONS = frozenset(
    {
        *("--backend", "--task", "--model_dir", "--max_length", "--return_probabilities"),
        *("--return_token_type_ids", "--disable_lower_case", "--predictor_protocol"),
        *(
            "--disable_special_tokens",
            "--http_port",
            "--grpc_port",
            "--workers",
            "--tokenizer_revision",
        ),
        *("--tensor_input_names", "--enable_grpc", "--enable_docs_url", "--log_config_file"),
    }
)
OTHER_BACKENDS = frozenset({"huggingface", "sglang"})


def serves_with_vllm(model: yaml.Node) -> bool:
    """Whether a predictor's model is served by vLLM, as far as format, runtime and arguments say."""
    model_format = (plain_text(child(model, "modelFormat", "name")) or "").lower()
    runtime = (plain_text(child(model, "runtime")) or "").lower()
    texts = [str(item.value) for item in items(child(model, "args"))]
    if any(f"--backend={backend}" in texts for backend in OTHER_BACKENDS):
        return False
    if "vllm" in model_format or "vllm" in runtime:
        return True
    names = any_release_table().names
    known = [text.partition("=")[0].replace("_", "-") in names for text in texts]
    return "huggingface" in {model_format, runtime.split("-")[0]} or 2 * sum(known) > len(known)


def hugging_face_arguments(
    words: tuple[Word, ...],
) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """vLLM's arguments, and those that the server adds for its own `--model_name`."""
    taken: list[Word] = []
    implied: list[Word] = []
    index = 0
    while index < len(words):
        word = words[index]
        name, equals, value = word.text.partition("=")
        has_next = index + 1 < len(words) and not words[index + 1].text.startswith("-")
        length = 2 if not equals and has_next else 1
        rest = words[index + 1 : index + length]
        if name in RENAMED:
            taken += [Word(RENAMED[name], word.origin), *(rest or (Word(value, word.origin),))]
        elif name == NAME_OPTION:
            implied += [
                Word("--served-model-name", word.origin),
                *(rest or (Word(value, word.origin),)),
            ]
        elif name not in OWN_OPTIONS:
            taken += [word, *rest]
        index += length
    return tuple(taken), tuple(implied)
