"""`Record`: the base of our frozen records, a `typing.NamedTuple` that is cheap to define.

A diagnosis defines some 140 records.  `typing.NamedTuple` compiles every annotation, and a
constructor for every class: a tenth of a diagnosis's instructions.  Here annotations stay the texts
that they are (`from __future__ import annotations`), and classes with as many fields share one
compiled constructor.  Type checkers see `typing.NamedTuple` itself, so its rules hold: fields, then
methods; `_replace` makes a changed copy.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined]  # what namedtuple reads by
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Record"]


class RecordType(type):
    """Makes a named tuple of each class that stands directly on `Record`."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> RecordType:
        if bases and isinstance(bases[0], cls) and not hasattr(bases[0], "_fields"):
            namespace |= _named_fields(name, namespace)
        return super().__new__(cls, name, bases, namespace)


def _named_fields(name: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """What annotations and their defaults become; the defaults leave `namespace`."""
    fields = tuple(namespace.get("__annotations__", ()))
    defaults = {field: namespace.pop(field) for field in fields if field in namespace}
    if tuple(defaults) != fields[len(fields) - len(defaults) :]:
        raise TypeError(f"{name}: a field without a default follows one with a default")
    code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields))
    new = FunctionType(code, {"new": tuple.__new__}, "__new__", tuple(defaults.values()))
    new.__qualname__ = f"{name}.__new__"  # named in the error of a call with wrong arguments
    return {
        **{field: _tuplegetter(at, None) for at, field in enumerate(fields)},
        "__slots__": (),
        "__new__": new,
        "__match_args__": fields,
        "_fields": fields,
        "_field_defaults": defaults,
    }


@cache
def _constructor(count: int) -> CodeType:
    """The body of `__new__` for `count` fields, whose names are still to be filled in."""
    fields = "".join(f"field_{at}, " for at in range(count))
    constructor: FunctionType = eval(f"lambda _cls, {fields}: new(_cls, ({fields}))")
    return constructor.__code__


if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:

    class Record(tuple, metaclass=RecordType):
        """The methods of `collections.namedtuple`, shared by all records."""

        __slots__ = ()

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Self:
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values, not {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> Self:
            replaced = tuple.__new__(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"{type(self).__name__} has no field {', '.join(changes)}")
            return replaced

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"
