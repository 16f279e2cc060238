"""Rows of several versions of a schema, each decoded by its own."""

import json
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from broker_core.wire.message import Entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from pulsarctl.tables.rows import Rows
from pulsarctl.tables.typed.typed_values import TypedValues
from pulsarctl.tables.typed.value_type import united_type

TOPIC = "persistent://public/default/t"


def schema(kind: str, definition: Any) -> dict[str, Any]:
    return {"type": kind, "schema": definition, "properties": {}}


def record(*fields: tuple[str, str]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def columns(schemas: dict[int, dict[str, Any]], messages: list[tuple[int, Any]]) -> list[dict[str, Any]]:
    """The columns value and decode_error of messages in JSON, each with its version."""
    kind = united_type({(TOPIC, version): info for version, info in schemas.items()}, takes_latest=False)
    assert kind is not None
    rows = Rows(TOPIC, -1, 1)
    for entry_id, (version, value) in enumerate(messages):
        metadata = MessageMetadata(schema_version=version.to_bytes(8))
        data = json.dumps(value).encode()
        rows.add(entry_id, Entry(metadata, data), len(data), [metadata], [data], [-1])
    typed = TypedValues(TOPIC, kind, fails=False)
    typed.add(rows)
    found = typed.take()
    return [
        {"value": value, "decode_error": error}
        for value, error in zip(found["value"].to_pylist(), found["decode_error"].to_pylist(), strict=True)
    ]


def test_older_types_have_the_number_of_their_version() -> None:
    """A version that was deleted leaves a gap in the numbers."""
    schemas = {3: schema("JSON", record(("n", "int"))), 5: schema("JSON", record(("n", "string")))}
    assert [row["value"] for row in columns(schemas, [(3, {"n": 1}), (5, {"n": "a"})])] == [
        {"n": None, "n__v3": 1},
        {"n": "a", "n__v3": None},
    ]


def test_messages_of_a_schema_that_describes_nothing_say_why() -> None:
    schemas = {0: schema("JSON", record(("n", "int"))), 1: schema("JSON", {"type": "nothing"})}
    good, bad = columns(schemas, [(0, {"n": 1}), (1, {"n": 2})])
    assert good == {"value": {"n": 1}, "decode_error": None}
    assert bad["value"] is None
    assert bad["decode_error"].startswith("schema version 1: not an Avro schema (")
