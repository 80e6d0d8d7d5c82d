"""Any value of a report in JSON's own types."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_reader.privacy import MASK, is_secret_name, mask
from scheduler_reader.value import Known, Unknown


def dumped(document: Any) -> str:
    """A document as JSON in ASCII, for every console; a CI runner finds no `##[group]` in it."""
    text = json.dumps(document, indent=2, allow_nan=False)
    return text.replace("##[", "#\\u0023[") + "\n"


def plain(content: Any, secret_texts: tuple[str, ...] = ()) -> Any:
    """`content` in JSON's own types: unknown values as `{"unknown": reason}`, secrets masked.

    A number that is not finite is null: JSON has no word for it.
    """
    if isinstance(content, str):
        return mask(str(content), secret_texts)
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if content is None or isinstance(content, bool | int):
        return content
    if isinstance(content, Known):
        return plain(content.value, secret_texts)
    if isinstance(content, Unknown):
        return {"unknown": mask(content.reason, secret_texts)}
    if isinstance(content, Mapping):
        return {
            mask(str(key), secret_texts): MASK
            if isinstance(item, str) and is_secret_name(str(key))
            else plain(item, secret_texts)
            for key, item in content.items()
        }
    if isinstance(content, set | frozenset):
        return sorted((plain(item, secret_texts) for item in content), key=str)
    if isinstance(content, Sequence):
        return [plain(item, secret_texts) for item in content]
    return mask(str(content), secret_texts)
