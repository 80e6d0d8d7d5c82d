"""vLLM's arguments under the spellings that charts and operators give them: `maxModelLen`."""

from __future__ import annotations

import re
from functools import cache

from scheduler_reader.knowledge.flags import any_release_table

SEPARATORS = re.compile(r"[-_.]")


def argument_named(key: str) -> str | None:
    """The argument (`max_model_len`) that a key in camel, snake or kebab case names, if any."""
    return _arguments().get(SEPARATORS.sub("", key).lower())


@cache
def _arguments() -> dict[str, str]:
    flags = any_release_table().flags.values()
    return {SEPARATORS.sub("", flag.argument): flag.argument for flag in flags}
