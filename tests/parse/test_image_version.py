"""Image tags, pip pins and wheels: vLLM's version, never another product's."""

from __future__ import annotations

import pytest

from scheduler_reader.parse.image_version import (
    is_vllm_image,
    release_of_image,
    release_of_requirement,
)

VLLM = {
    "vllm/vllm-openai:v0.8.5": "0.8.5",
    "docker.io/vllm/vllm-openai:v0.11.0-x86_64": "0.11.0",
    "vllm/vllm-openai:v0.11.0rc2": "0.11.0rc2",
    "vllm/vllm-openai:0.5.3post1": "0.5.3.post1",
    "vllm/vllm-openai-cpu:v0.23.0": "0.23.0",
    "localhost:5000/mirror/vllm-openai:v0.9.0@sha256:abc": "0.9.0",
    "registry.example.com/team/vllm-openai:v0.10.0-cu128-nixl-v0.4.1-lmcache-0.3.2": "0.10.0",
    "rocm/vllm:rocm6.4.1_vllm_0.9.1_20250715": "0.9.1",
    "lmcache/vllm-openai:lmcache-0.3.2-vllm-0.10.1": "0.10.1",
    "vllm:0.9.1": "0.9.1",
}
OTHERS = (
    "vllm/vllm-openai",
    "vllm/vllm-openai:latest",
    "vllm/vllm-openai:nightly-1acd67a795",
    "localhost:5000/vllm-openai",
    "lmcache/vllm-openai:v0.3.9post2",
    "ghcr.io/llm-d/llm-d-cuda:v0.9.0",
    "nvcr.io/nvidia/vllm:25.09-py3",
    "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.4.0",
    "opea/vllm:0.7",
    "acme/vllm:0.4.2",
    "acme/vllm-cpu-openai:0.3",
    "registry.redhat.io/rhaiis/vllm-cuda-rhel9:3.2.1",
    "vault.habana.ai/gaudi-docker/1.20.0/vllm-openai:0.6.2",
    "rocm/vllm-dev:nightly_0610_rc2",
)


@pytest.mark.parametrize(("image", "release"), VLLM.items())
def test_tag_of_vllm(image: str, release: str) -> None:
    assert release_of_image(image) == release


@pytest.mark.parametrize("image", OTHERS)
def test_tag_that_is_not_a_version_of_vllm(image: str) -> None:
    assert release_of_image(image) is None


def test_images_that_serve() -> None:
    assert is_vllm_image("vllm/vllm-openai:latest")
    assert not is_vllm_image("lmcache/lmstack-router:latest")
    assert not is_vllm_image("example/vllm-router:v0.1.6")
    assert not is_vllm_image("registry/vllm/proxy:1")


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("vllm==0.11.0", "0.11.0"),
        ("vllm[audio,tensorizer] == 0.10.1+gptoss", "0.10.1"),
        ("https://host/vllm-0.9.2-cp38-abi3-manylinux1_x86_64.whl", "0.9.2"),
        ("vllm-router==0.1.5", None),
        ("vllm>=0.9", None),
    ],
)
def test_requirement(text: str, release: str | None) -> None:
    assert release_of_requirement(text) == release
