"""Whether a field's default fits its type, by the rules of Avro for Java. Pure."""

from __future__ import annotations

from typing import Any

from broker_core.metadata.schema.avro import NO_DEFAULT, AvroType
from broker_core.metadata.schema.steps import Steps

_NUMBERS = frozenset({"int", "long", "float", "double"})
_TEXTS = frozenset({"string", "bytes", "fixed"})


def default_fits(kind: AvroType, value: Any, steps: Steps) -> bool:
    """A union's default has its first type. A record's default may omit fields that have defaults themselves.

    Such defaults can double the work with each level: raises `TooManySteps`.
    """
    steps.take()
    if kind.kind == "union":
        return bool(kind.branches) and default_fits(kind.branches[0], value, steps)
    if kind.kind == "record":
        return all(_member_fits(field.type, _member(value, field.name, field.default), steps) for field in kind.fields)
    if kind.kind in ("array", "map"):
        return _elements_fit(kind, value, steps)
    return _scalar_fits(kind, value)


def _member(record: Any, name: str, default: Any) -> Any:
    return record[name] if isinstance(record, dict) and name in record else default


def _member_fits(kind: AvroType, value: Any, steps: Steps) -> bool:
    return value is not NO_DEFAULT and default_fits(kind, value, steps)


def _elements_fit(kind: AvroType, value: Any, steps: Steps) -> bool:
    """A value that holds no elements counts as an empty array or map."""
    if kind.kind == "map" and isinstance(value, list):
        return not value
    if isinstance(value, dict):
        value = list(value.values())
    elements = value if isinstance(value, list) else []
    return all(default_fits(kind.element(), element, steps) for element in elements)


def _scalar_fits(kind: AvroType, value: Any) -> bool:
    if kind.kind == "null":
        return value is None
    if kind.kind == "boolean":
        return isinstance(value, bool)
    if kind.kind in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, str) and (kind.kind in _TEXTS or value in kind.symbol_set)
