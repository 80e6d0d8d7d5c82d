"""The vLLM release that an image tag, a pip requirement or an annotation states."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from scheduler_reader.value import Known, Origin

VERSION_TAG = re.compile(r"v?(\d+\.\d+(?:\.\d+)*(?:\.?post\d+)?(?:rc\d+)?)(?:[-+_].*)?")
REQUIREMENT = re.compile(r"\bvllm(?:\[[\w,\s-]*\])?\s*==\s*v?([\w.!+]+)")
VLLM_IMAGES = ("vllm-openai", "vllm-openai-rocm", "vllm-cpu", "vllm", "rocm-vllm")


def release_of_tag(tag: str) -> str | None:
    """`v0.10.0-cu128` is 0.10.0, `0.5.3post1` 0.5.3.post1; None for `latest` and other words."""
    match = VERSION_TAG.fullmatch(tag.strip())
    if match is None:
        return None
    try:
        return Version(match[1]).public
    except InvalidVersion:
        return None


def release_of_image(image: str) -> str | None:
    """The release in the tag of an image of vLLM itself, not of a stack built around it."""
    name, _, _digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        return None
    if repository.rpartition("/")[2].lower() not in VLLM_IMAGES:
        return None
    return release_of_tag(tag)


def release_of_requirement(text: str) -> str | None:
    """The release that `pip install vllm==0.11.0` pins."""
    match = REQUIREMENT.search(text)
    if match is None:
        return None
    try:
        return Version(match[1]).public
    except InvalidVersion:
        return None


def known_release(release: str | None, origin: Origin) -> Known[str] | None:
    """The release with its place, or None when the text states none."""
    return None if release is None else Known(release, origin)
