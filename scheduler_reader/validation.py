"""What a user wrote, checked field by field against one of the frozen records.

The project's own data is checked by the tests and becomes a record without this: loading pydantic
costs about as much as a third of a bare start of Python with the libraries.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Record = TypeVar("Record")


def validated(kind: type[Record], content: Mapping[str, Any]) -> Record:
    """`content` as a `kind`; `ValueError` names the first field that is wrong, and how."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(kind).validate_python(dict(content))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise ValueError(f"{field}: {message}" if field else message) from None
