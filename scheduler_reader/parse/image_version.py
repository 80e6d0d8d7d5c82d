"""What an image reference, a pip requirement or an annotation says about vLLM and its release."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

from packaging.version import InvalidVersion, Version

from scheduler_reader.data import documents
from scheduler_reader.knowledge.versions import latest
from scheduler_reader.value import Known, Origin

RELEASE = r"\d+\.\d+(?:\.\d+)*(?:[.-]?post\d+)?(?:rc\d+)?"
VERSION_TAG = re.compile(rf"v?({RELEASE})(?:[-+_].*)?")
NAMED_IN_TAG = re.compile(rf"(?:^|[-_.])vllm[-_]?v?({RELEASE})(?=$|[-_+])")
REQUIREMENT = re.compile(r"\bvllm(?:\[[\w,\s-]*\])?\s*==\s*v?([\w.!+]+)")
OF_A_COMMIT = "1.0.0.dev"
WHEEL = re.compile(r"(?:^|/)vllm-(\d[\w.!+]*?)-cp\d+")


def release_of_tag(tag: str) -> str | None:
    """`v0.10.0-cu128` is 0.10.0, `0.5.3post1` 0.5.3.post1; None for `latest` and other words."""
    match = VERSION_TAG.fullmatch(tag.strip())
    return _public(match[1]) if match else None


def release_of_image(image: str) -> str | None:
    """The vLLM release in an image tag; None where the tag is another product's version."""
    path, tag = image_parts(image)
    named = NAMED_IN_TAG.search(tag)
    release = _public(named[1]) if named else None
    if release is None and _tag_is_version_of_vllm(path):
        release = release_of_tag(tag)
    if release is None or not _could_be_vllm(Version(release)):
        return None
    return release


def is_vllm_image(image: str) -> bool:
    """Whether an image is, by its name, one that serves with vLLM."""
    path, _ = image_parts(image)
    name = path.rpartition("/")[2]
    return "vllm" in name and not any(word in name for word in _images()["not_engines"])


def serves_by_name(image: str) -> bool:
    """Whether an image is, by its name, vLLM's own, whose entrypoint is the server."""
    path, _ = image_parts(image)
    images = _images()
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in images["version_tagged"]) or (
        name in images["short_names"]
    )


def is_other_server(image: str) -> bool:
    """Whether an image is, by its name, another inference server's."""
    path, _ = image_parts(image)
    return any(name in path for name in _images()["other_servers"])


def image_parts(image: str) -> tuple[str, str]:
    """Path and tag of an image reference in lower case, without digest; the tag may be empty."""
    name = image.partition("@")[0].lower()
    path, colon, tag = name.rpartition(":")
    return (path, tag) if colon and "/" not in tag else (name, "")


def release_of_requirement(text: str) -> str | None:
    """The release that `pip install vllm==0.11.0`, or the URL of a vLLM wheel, pins.

    Wheels of single commits are named `vllm-1.0.0.dev`, whatever release comes next.
    """
    match = REQUIREMENT.search(text) or WHEEL.search(text)
    if match is None or match[1] == OF_A_COMMIT:
        return None
    return _public(match[1])


def known_release(release: str | None, origin: Origin) -> Known[str] | None:
    """The release with its place, or None when the text states none."""
    return None if release is None else Known(release, origin)


def _tag_is_version_of_vllm(path: str) -> bool:
    images = _images()
    if any(product in path for product in images["other_products"]):
        return False
    owners, _, name = path.rpartition("/")
    if name in images["short_names"]:
        return not owners or owners.rpartition("/")[2] in images["short_name_owners"]
    return any(fnmatchcase(name, pattern) for pattern in images["version_tagged"])


def _could_be_vllm(version: Version) -> bool:
    """vLLM's releases have three numbers; a tag such as `0.3` or `25.09` is the image's own."""
    return len(version.release) > 2 and version.major == latest().version.major


def _public(text: str) -> str | None:
    try:
        return Version(text.replace("-post", ".post")).public
    except InvalidVersion:
        return None


def _images() -> dict[str, Any]:
    found: dict[str, Any] = documents("compat_matrix", "images.yaml")["images.yaml"]
    return found
