"""HCL text as nodes: what Terraform's own syntax makes of values, and any text at all."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_reader.errors import InputError
from scheduler_reader.parse import parse_text, to_json
from scheduler_reader.parse.hcl import HclDocument
from scheduler_reader.parse.yaml_nodes import child, value_of

HCL_TEXT = st.text(alphabet=' \n\t"\\${}[]()<>=:,#/*-EOTabvr.1?', max_size=80)


def values(text: str) -> Any:
    return value_of(HclDocument(text).root())


def test_literals_lists_objects_and_comments() -> None:
    text = """
    # a comment with "quotes" and {
    a = 1        // one
    b = -2.5
    c = true
    d = null     /* nothing */
    e = ["x", "y\\"z", 3,]
    f = { "k.l" = 1, m: "n" }
    """
    assert values(text) == {
        "a": 1,
        "b": -2.5,
        "c": True,
        "d": None,
        "e": ["x", 'y"z', 3],
        "f": {"k.l": 1, "m": "n"},
    }


def test_names_are_followed_wherever_they_are_defined() -> None:
    text = """
    args = concat(local.base, ["--seed", var.seed], var.more)
    line = join(" ", local.base)
    text = "at ${var.seed} and ${local.other.x}"
    variable "seed" { default = 7 }
    locals { base = ["vllm", "serve"] }
    """
    found = values(text)
    assert found["args"] == ["vllm", "serve", "--seed", 7, "${var.more}"]
    assert found["line"] == "vllm serve"
    assert found["text"] == "at 7 and ${local.other.x}"


def test_expressions_stay_text() -> None:
    text = """
    a = var.x ? 1 : 2
    b = [for s in var.list : s]
    c = file("${path.module}/x.yaml")
    """
    assert values(text) == {
        "a": "${var.x ? 1 : 2}",
        "b": ["${for s in var.list : s}"],
        "c": '${file("${path.module}/x.yaml")}',
    }


def test_blocks_are_mappings_in_camel_case_and_env_a_list() -> None:
    text = (
        'resource "a" "b" {\n  image_pull_policy = "x"\n  env { name = "A" }\n  spec { n = 1 }\n}'
    )
    assert values(text) == {
        "resource": {"imagePullPolicy": "x", "env": [{"name": "A"}], "spec": {"n": 1}}
    }


def test_here_documents_keep_their_place() -> None:
    root = HclDocument("a = <<-EOT\n    x: ${1}\n      y\n  EOT\nb = 2\n").root()
    node = child(root, "a")
    assert node is not None
    assert node.value == "x: ${1}\n  y\n"
    assert node.start_mark.line == 1
    assert value_of(child(root, "b") or root) == 2


@given(HCL_TEXT)
@settings(max_examples=150, deadline=None)
def test_any_text_parses_or_is_an_input_error(text: str) -> None:
    try:
        to_json([parse_text(f'x = ["vllm", "serve"]\n{text}', "main.tf")])
    except InputError:
        return


def test_deep_nesting_ends() -> None:
    for piece in ("[", "{a=", "f(", '"${', "a {", "<<A\n"):
        to_json([parse_text(f'i = "vllm/vllm-openai:v0.11.0"\nx = {piece * 3000}', "main.tf")])
