"""Unions of several types: each value is in the field of its branch."""

import io
import json
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import fastavro
import pyarrow as pa

from pulsarctl.errors import DoesNotFit
from pulsarctl.tables.typed.shapes import shape_of

FIRST = {"type": "record", "name": "X", "namespace": "first", "fields": [{"name": "p", "type": "int"}]}
SECOND = {"type": "record", "name": "X", "namespace": "second", "fields": [{"name": "q", "type": "string"}]}
OTHER = {"type": "record", "name": "Y", "fields": [{"name": "q", "type": "string"}]}
MAP = {"type": "map", "values": "int"}
LETTERS = {"type": "enum", "name": "Letters", "symbols": ["A", "B"]}
DIGITS = {"type": "enum", "name": "Digits", "symbols": ["ONE", "TWO"]}
PAIR = {"type": "fixed", "name": "Pair", "size": 2}
TIME = {"type": "long", "logicalType": "timestamp-millis"}
NANOS = {"type": "long", "logicalType": "timestamp-nanos"}
UUID = {"type": "string", "logicalType": "uuid"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
ID = "c0ffee00-0000-4000-8000-000000000000"


def record_of(union: list[Any]) -> dict[str, Any]:
    return {"type": "record", "name": "R", "namespace": "n", "fields": [{"name": "f", "type": union}]}


def branches(kind: str, union: list[Any], data: bytes) -> dict[str, str]:
    """The branches of the value that are not null, as text."""
    shape = shape_of({"type": kind, "schema": record_of(union), "properties": {}})
    found = pa.array([shape.decode(data)], shape.arrow).to_pylist()[0]["f"]
    return {name: str(value) for name, value in found.items() if value is not None}


def in_avro(union: list[Any], value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(record_of(union)), {"f": value})
    return out.getvalue()


@pytest.mark.parametrize(
    ("union", "value", "branch"),
    [
        ([FIRST, SECOND], ("first.X", {"p": 1}), {"X": "{'p': 1}"}),
        ([FIRST, SECOND], ("second.X", {"q": "s"}), {"X__2": "{'q': 's'}"}),
        (["null", OTHER, MAP], {"k": 1}, {"map": "[('k', 1)]"}),
        (["null", OTHER, MAP], ("n.Y", {"q": "s"}), {"Y": "{'q': 's'}"}),
        ([LETTERS, DIGITS], "ONE", {"Digits": "ONE"}),
        (["string", LETTERS], ("n.Letters", "A"), {"Letters": "A"}),
        (["bytes", PAIR], ("n.Pair", b"ab"), {"Pair": "b'ab'"}),
        (["int", "long"], 5, {"int": "5"}),
        (["null", "string", NANOS], 5, {"timestamp-nanos": "5"}),
        (["null", "string", TIME], 0, {"timestamp-millis": "1970-01-01 00:00:00+00:00"}),
    ],
)
def test_a_value_of_avro_is_in_the_branch_that_was_written(
    union: list[Any], value: Any, branch: dict[str, str]
) -> None:
    assert branches("AVRO", union, in_avro(union, value)) == branch


@pytest.mark.parametrize(
    ("union", "value", "branch"),
    [
        (["null", "string", TIME], 0, {"timestamp-millis": "1970-01-01 00:00:00+00:00"}),
        (["null", "long", UUID], ID, {"uuid": ID}),
        (["null", "long", "bytes"], "/w==", {"bytes": "b'\\xff'"}),
        (["null", "boolean", PRICE], 1.05, {"decimal": "1.05"}),
        (["null", FIRST, OTHER], {"q": "s"}, {"Y": "{'q': 's'}"}),
        (["null", OTHER, MAP], {"k": 1}, {"map": "[('k', 1)]"}),
        ([LETTERS, DIGITS], "ONE", {"Digits": "ONE"}),
        (["string", LETTERS], "A", {"string": "A"}),
    ],
)
def test_a_value_of_json_is_in_the_branch_that_it_fits(union: list[Any], value: Any, branch: dict[str, str]) -> None:
    assert branches("JSON", union, json.dumps({"f": value}).encode()) == branch


def test_a_fraction_in_a_branch_is_no_whole_number() -> None:
    with pytest.raises(DoesNotFit, match="Expected `int`"):
        branches("JSON", ["string", FIRST], b'{"f": {"p": 1.5}}')


def test_names_in_a_branch_are_those_of_its_namespace() -> None:
    outer = {"type": "record", "name": "Outer", "fields": [{"name": "inner", "type": ["null", "string", "Letters"]}]}
    union = [LETTERS, outer]
    data = in_avro(union, ("n.Outer", {"inner": ("n.Letters", "B")}))
    assert branches("AVRO", union, data) == {"Outer": "{'inner': {'string': None, 'Letters': 'B'}}"}
