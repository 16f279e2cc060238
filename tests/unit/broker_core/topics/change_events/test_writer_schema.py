"""Schemas with which other clusters write events: only those that are safe to decode with are used."""

import json
from typing import Any

import pytest

from broker_core.errors import InvalidRequest
from broker_core.topics.change_events.policy_event import own_schema
from broker_core.topics.change_events.writer_schema import MOST_BYTES, MOST_DEPTH, RECORD, checked_schema


def event(**fields: Any) -> bytes:
    return json.dumps(record(RECORD, **fields)).encode()


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": one} for key, one in fields.items()]}


def nested(depth: int) -> Any:
    return "int" if not depth else {"type": "array", "items": nested(depth - 1)}


def doubling(levels: int) -> Any:
    """A record that has 2 ** levels fields of its innermost type."""
    inner: Any = {"type": "array", "items": "int"}
    for level in range(levels):
        inner = record(f"R{level}", first=inner, second=inner if level == 0 else f"R{level - 1}")
    return inner


NOT_SAFE = {
    "a record in itself": event(r=RECORD),
    "a record in itself by way of another": event(a=record("x.A", b={"type": "array", "items": RECORD})),
    "a record in itself as a branch": event(r=["null", RECORD]),
    "items without bytes": event(a={"type": "array", "items": "null"}),
    "items that are empty records": event(a={"type": "array", "items": record("x.E")}),
    "items that are fixed without bytes": event(
        a={"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}
    ),
    "a field without bytes": event(n="null"),
    "a logical type": event(d={"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1 << 30}),
    "deep": event(a=nested(MOST_DEPTH)),
    "very deep": event(a=nested(200)),
    "long": event(a={"type": "int", "doc": " " * MOST_BYTES}),
    "another record": json.dumps(record("R", a="int")).encode(),
    "no record": b'"string"',
    "no JSON": b"{",
    "no text": b"\xff",
    "no fields": event(),
}


@pytest.mark.parametrize("schema", NOT_SAFE.values(), ids=NOT_SAFE)
def test_a_schema_that_is_not_safe_is_refused(schema: bytes) -> None:
    with pytest.raises(InvalidRequest, match="its schema"):
        checked_schema(schema)


def test_the_schema_of_pulsar_is_safe() -> None:
    assert checked_schema(own_schema().data)["fields"]


def test_a_type_that_is_named_many_times_is_looked_at_once() -> None:
    assert checked_schema(event(a=doubling(20)))


def test_types_of_the_same_short_name_stay_apart() -> None:
    """A type without a namespace and one of the namespace around it: a reader that confuses them never ends."""
    bare = {"type": "record", "name": "X", "namespace": "", "fields": [{"name": "n", "type": "int"}]}
    around = {"type": "record", "name": "c.X", "fields": [{"name": "x", "type": bare}]}
    [field] = checked_schema(event(around=around))["fields"]
    assert field["type"]["name"] != field["type"]["fields"][0]["type"]["name"]
