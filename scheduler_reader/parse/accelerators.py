"""GPUs as SkyPilot, Truss, KubeAI and Ray name them: `H100:8`, `A100-80GB:2`, `nvidia-gpu-l4:1`."""

from __future__ import annotations

import yaml

from scheduler_reader.parse.deployment import Deployment
from scheduler_reader.parse.input_file import InputFile
from scheduler_reader.parse.quantity import whole_number
from scheduler_reader.parse.yaml_arguments import plain_text
from scheduler_reader.parse.yaml_nodes import entries, items, place
from scheduler_reader.value import Known, Unknown, Value


def accelerator(node: yaml.Node | None, file: InputFile) -> Deployment | None:
    """Product and number of GPUs of one replica; what alternatives differ in is unknown."""
    named = _named(node) if node is not None else []
    if node is None or not named:
        return None
    origin = place(node, file)
    products = sorted({product for product, _ in named})
    counts = sorted({count for _, count in named})
    product: Value[str] = Unknown(f"one of {', '.join(products)}", origin)
    count: Value[int] = Unknown("the alternatives differ in the number of GPUs", origin)
    if len(products) == 1:
        product = Known(products[0], origin)
    if len(counts) == 1:
        count = Known(counts[0], origin)
    return Deployment(gpu_request=count, gpu_product=product)


def _named(node: yaml.Node) -> list[tuple[str, int]]:
    """Every product with its number, one where none is given; lists and maps are alternatives."""
    text = plain_text(node)
    if text is not None:
        product, _, number = text.rpartition(":") if ":" in text else (text, "", "")
        return [(product.strip(), _count(number))]
    found = [pair for item in items(node) for pair in _named(item)]
    for entry in entries(node):
        product, _, inline = entry.key.partition(":")
        found.append((product.strip(), _count(plain_text(entry.node) or inline)))
    return found


def _count(text: str) -> int:
    number = whole_number(text)
    return 1 if number is None else number
