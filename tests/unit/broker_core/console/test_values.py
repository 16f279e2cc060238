"""Values are shown by their schema, and no value costs much."""

import io
import json
import struct
from typing import Any

import fastavro
import pytest

from broker_core.console.avro_values import Unreadable, read_avro
from broker_core.console.values import SHOWN_MAX, ValueReader
from broker_core.metadata.schema.avro import parse_avro

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "prices", "type": {"type": "array", "items": "double"}},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "DONE"]}},
        {"name": "raw", "type": {"type": "fixed", "name": "Raw", "size": 2}},
        {"name": "ok", "type": "boolean"},
    ],
}
VALUE = {"id": -7, "note": "x", "prices": [1.5, 2.0], "tags": {"a": 1}, "state": "DONE", "raw": b"\x01\xff", "ok": True}


def encoded(schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def test_an_avro_value_is_read_as_its_library_wrote_it() -> None:
    assert read_avro(parse_avro(json.dumps(ORDER)), encoded(ORDER, VALUE)) == {**VALUE, "raw": "01ff"}


@pytest.mark.parametrize("data", [b"", b"\x01", b"\xff" * 40, encoded(ORDER, VALUE) + b"\x00"])
def test_bytes_that_are_no_value_of_the_schema_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_avro(parse_avro(json.dumps(ORDER)), data)


def test_an_array_of_nothing_with_a_huge_count_is_refused_at_once() -> None:
    schema = parse_avro('{"type": "array", "items": "null"}')
    with pytest.raises(Unreadable, match="too large"):
        read_avro(schema, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01")


def test_a_record_inside_itself_is_refused_at_a_depth() -> None:
    nested = '{"type": "record", "name": "R", "fields": [{"name": "r", "type": "R"}]}'
    with pytest.raises(Unreadable, match="too large"):
        read_avro(parse_avro(nested), b"")


@pytest.mark.parametrize(
    ("schema", "data", "text", "how"),
    [
        (None, b"hello", "hello", "text"),
        (None, b"\xff\xfe", "ff fe", "bytes"),
        ({"type": "STRING"}, b"hello", "hello", "STRING"),
        ({"type": "INT32"}, struct.pack(">i", -5), "-5", "INT32"),
        ({"type": "BOOLEAN"}, b"\x01", "true", "BOOLEAN"),
        ({"type": "JSON"}, b'{"a":1}', '{\n  "a": 1\n}', "JSON"),
        ({"type": "AVRO", "data": '"long"'}, b"\x0d", "-7", "AVRO"),
        ({"type": "PROTOBUF_NATIVE", "data": "x"}, b"\xff", "ff", "bytes"),
    ],
)
def test_a_value_is_shown_by_its_schema(schema: Any, data: bytes, text: str, how: str) -> None:
    assert ValueReader(schema).read(data) == (text, how)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "JSON"},
        {"type": "AVRO", "data": "{"},
        {"type": "AVRO", "data": json.dumps(ORDER)},
        {"type": "INT32"},
        {"type": "KEY_VALUE", "data": "[]"},
        {"type": "KEY_VALUE", "data": "{}", "properties": {"kv.encoding.type": "INLINE"}},
    ],
)
def test_a_value_that_does_not_fit_its_schema_is_shown_as_text_with_the_reason(schema: Any) -> None:
    text, how = ValueReader(schema).read(b"<not it>")
    assert text == "<not it>"
    assert how.startswith(f"text; not {schema['type']}: ")


def test_a_pair_is_shown_with_both_values() -> None:
    schema = {
        "type": "KEY_VALUE",
        "data": '{"key": "", "value": {"type": "long"}}',
        "properties": {"key.schema.type": "STRING", "value.schema.type": "AVRO", "kv.encoding.type": "INLINE"},
    }
    data = struct.pack(">i", 1) + b"k" + struct.pack(">i", 1) + b"\x0d"
    assert json.loads(ValueReader(schema).read(data)[0]) == {"key": "k", "value": -7}


@pytest.mark.parametrize("data", [b"x" * 100_000, "ä".encode() * 100_000, b"\xff" * 100_000])
def test_a_large_value_is_cut(data: bytes) -> None:
    assert len(ValueReader(None).read(data)[0]) < SHOWN_MAX + 40
    assert len(ValueReader({"type": "STRING"}).read(data)[0]) < SHOWN_MAX + 40


def test_a_deep_json_value_is_not_indented_into_megabytes() -> None:
    data = b"[" * 900 + b"1" + b"]" * 900 + b" " * 200_000
    assert len(ValueReader({"type": "JSON"}).read(data)[0]) < SHOWN_MAX + 40
