"""Each kind of schema: its type, and its payloads."""

import base64
import io
import json
import math
import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import fastavro
import pyarrow as pa
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.key_values import join_pair
from pulsarctl.tables.typed.shapes import shape_of


def info(kind: str, definition: Any = "", **properties: str) -> dict[str, Any]:
    return {"type": kind, "schema": definition, "properties": properties}


def value_of(described: dict[str, Any], data: bytes) -> Any:
    """As a row of a column has it."""
    shape = shape_of(described)
    return pa.array([shape.decode(data)], shape.arrow).to_pylist()[0]


@pytest.mark.parametrize(
    ("kind", "data", "value"),
    [
        ("STRING", "é".encode(), "é"),
        ("BOOLEAN", b"\x01", True),
        ("INT8", b"\xff", -1),
        ("INT32", struct.pack(">i", -7), -7),
        ("INT64", struct.pack(">q", 1 << 40), 1 << 40),
        ("DOUBLE", struct.pack(">d", 0.5), 0.5),
        ("TIMESTAMP", struct.pack(">q", 1_500), datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)),
        ("DATE", struct.pack(">q", 86_400_000), date(1970, 1, 2)),
        ("INSTANT", struct.pack(">qi", 1, 5_000), datetime(1970, 1, 1, 0, 0, 1, 5, UTC)),
        ("LOCAL_DATE_TIME", struct.pack(">qq", 1, 1_000), datetime(1970, 1, 2, 0, 0, 0, 1)),
        ("BYTES", b"\x00", b"\x00"),
    ],
)
def test_a_plain_value_is_decoded(kind: str, data: bytes, value: object) -> None:
    assert value_of(info(kind), data) == value


@pytest.mark.parametrize(("kind", "data"), [("STRING", b"\xff"), ("INT32", b"123"), ("TIMESTAMP", b"\x7f" * 8)])
def test_a_value_that_is_none_is_refused(kind: str, data: bytes) -> None:
    with pytest.raises(DoesNotFit):
        shape_of(info(kind)).decode(data)


ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"]},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}},
        {"name": "either", "type": ["null", "long", "string"]},
        {"name": "tags", "type": {"type": "map", "values": "int"}},
        {"name": "lines", "type": {"type": "array", "items": {"type": "record", "name": "L", "fields": [
            {"name": "sku", "type": "string"}]}}},
    ],
}  # fmt: skip
PLACED = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def test_an_avro_record_is_a_struct() -> None:
    out = io.BytesIO()
    order = {
        "id": 7, "note": None, "state": "PAID", "placed": PLACED, "price": Decimal("12.50"), "either": "x",
        "tags": {"a": 1}, "lines": [{"sku": "s"}],
    }  # fmt: skip
    fastavro.schemaless_writer(out, fastavro.parse_schema(ORDER), order)
    assert value_of(info("AVRO", ORDER), out.getvalue()) == order | {
        "either": {"long": None, "string": "x"},
        "tags": [("a", 1)],
    }


def test_json_is_the_same_struct() -> None:
    text = {
        "id": 7, "note": "n", "state": "NEW", "placed": int(PLACED.timestamp() * 1000), "price": "12.50", "either": 3,
        "tags": {"a": 1}, "lines": [{"sku": "s"}], "unknown": 1,
    }  # fmt: skip
    found = value_of(info("JSON", ORDER), json.dumps(text).encode())
    assert found["placed"] == PLACED
    assert (found["price"], found["either"]) == (Decimal("12.50"), {"long": 3, "string": None})
    assert "unknown" not in found


@pytest.mark.parametrize("text", [b'{"id": 1.9}', b'{"id": 15e-1}', b'{"tags": {"a": 0.5}}'])
def test_a_fraction_is_no_whole_number(text: bytes) -> None:
    with pytest.raises(DoesNotFit, match="`int`"):
        shape_of(info("JSON", ORDER)).decode(text)


_KINDS: dict[str, Any] = {
    "map": {"type": "map", "values": "long"},
    "strings": {"type": "array", "items": "string"},
    "bytes": "bytes",
    "blobs": {"type": "array", "items": "bytes"},
    "record": {"type": "record", "name": "I", "fields": [{"name": "b", "type": "bytes"}]},
    "plain": {"type": "record", "name": "P", "fields": [{"name": "b", "type": "long"}]},
    "long": "long",
    "string": "string",
    "boolean": "boolean",
    "time": {"type": "long", "logicalType": "timestamp-millis"},
    "sum": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
}
_OTHERS = {"list": [], "pairs": [["b", "x"]], "object": {"x": []}, "text": "xyz", "true": True}
_FITTING = {
    ("strings", "list"), ("blobs", "list"), ("bytes", "text"), ("string", "text"), ("boolean", "true"),
    ("record", "object"), ("plain", "object"),  # a record ignores what it does not know
}  # fmt: skip


@pytest.mark.parametrize("kind", _KINDS)
def test_json_of_another_kind_does_not_fit(kind: str) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": ["null", _KINDS[kind]]}]}
    for name, value in _OTHERS.items():
        if (kind, name) not in _FITTING:
            with pytest.raises((DoesNotFit, pa.ArrowException)):
                value_of(info("JSON", record), json.dumps({"f": value}).encode())


def test_a_whole_number_of_json_may_have_a_point() -> None:
    found = value_of(info("JSON", ORDER), b'{"id": 7.0, "tags": {"a": 1e2}}')
    assert (found["id"], found["tags"]) == (7, [("a", 100)])


@pytest.mark.parametrize("digits", ["1.05", "0.1", "2", "-123456.78", "1e2"])
def test_a_decimal_may_be_a_number_of_json(digits: str) -> None:
    assert value_of(info("JSON", ORDER), b'{"price": %s}' % digits.encode())["price"] == Decimal(digits)


def test_a_decimal_keeps_more_digits_than_a_double_has() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}
    record = {"type": "record", "name": "R", "fields": [{"name": "sum", "type": kind}]}
    assert value_of(info("JSON", record), b'{"sum": 12345678901234567890.25}') == {
        "sum": Decimal("12345678901234567890.25")
    }


WIDE = {
    "type": "record",
    "name": "Wide",
    "fields": [
        {"name": "long", "type": "long"},
        {"name": "int", "type": ["null", "int"]},
        {"name": "double", "type": "double"},
        {"name": "text", "type": "string"},
        {"name": "bytes", "type": "bytes"},
        {"name": "list", "type": {"type": "array", "items": "string"}},
        {"name": "map", "type": {"type": "map", "values": "long"}},
        {"name": "union", "type": ["string", "long"]},
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
    ],
}


WRONG: list[tuple[str, list[Any]]] = [
    *((name, [1.9, "7", True, 1 << 64]) for name in ("long", "int", "time")),
    ("int", [3_000_000_000]),
    ("double", ["1.5", True]),
    ("bytes", ["\u20ac", "abc", "a-_="]),
    ("list", [[1]]),
    ("map", [{"a": "b"}]),
    ("union", [[], {}]),
    ("price", ["much", True]),
]


@pytest.mark.parametrize(("field", "wrong"), [(name, value) for name, values in WRONG for value in values])
def test_a_json_value_that_its_type_cannot_hold_is_refused(field: str, wrong: Any) -> None:
    with pytest.raises(DoesNotFit):
        shape_of(info("JSON", WIDE)).decode(json.dumps({field: wrong}).encode())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"long":9007199254740993}', (1 << 53) + 1),
        ('{"long":7.0}', 7),
        ('{"bytes":"/wA="}', b"\xff\0"),  # Java's and Go's clients write base64
        ('{"double":7}', 7.0),
        ('{"price":1.05}', Decimal("1.05")),
        ('{"price":"1.05"}', Decimal("1.05")),
        ('{"price":2}', Decimal("2.00")),
        ('{"map":{}}', []),
        ('{"text":null,"unknown":[1]}', None),
    ],
)
def test_json_numbers_keep_their_value(text: str, value: Any) -> None:
    row = value_of(info("JSON", WIDE), text.encode())
    assert row[next(iter(json.loads(text)))] == value


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}, "12345678901234567890.25",
         Decimal("12345678901234567890.25")),
        (["long", "double"], "7.0", {"long": None, "double": 7.0}),
        (["string", "double"], "0.1", {"string": None, "double": 0.1}),
        ({"type": "record", "name": "T", "fields": [{"name": "x", "type": "double"}, {"name": "t", "type": "T"}]},
         '{"x": 7.0}', '{"x": 7.0}'),
        ("double", "0.1", 0.1),
        ("long", "9007199254740993.0", 9007199254740993),
        ("long", "-9223372036854775808", -(1 << 63)),
    ],
)  # fmt: skip
def test_a_whole_number_with_a_point_changes_no_other_value(kind: Any, text: str, value: Any) -> None:
    record = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "id", "type": "long"}, {"name": "other", "type": kind}],
    }
    found = value_of(info("JSON", record), b'{"id": 7.0, "other": %s}' % text.encode())
    assert found == {"id": 7, "other": value}


@pytest.mark.parametrize("number", ["9007199254740993.5", "9223372036854775808.0", "1e999999999", "1e-400"])
def test_a_number_that_is_no_long_is_refused_even_if_its_double_is(number: str) -> None:
    with pytest.raises(DoesNotFit):
        shape_of(info("JSON", WIDE)).decode(b'{"long": %s}' % number.encode())


def test_a_record_that_contains_itself_is_json_text() -> None:
    tree = {"type": "record", "name": "Tree", "fields": [
        {"name": "n", "type": "int"}, {"name": "next", "type": ["null", "Tree"]}]}  # fmt: skip
    assert shape_of(info("AVRO", tree)).arrow == pa.string()
    assert json.loads(value_of(info("JSON", tree), b'{"n": 1, "next": {"n": 2}}')) == {"n": 1, "next": {"n": 2}}


CHAIN = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}


@pytest.mark.parametrize("depth", [3_000, 300_000])
@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_a_value_that_is_nested_too_deeply_is_refused(kind: str, depth: int) -> None:
    data = b"\x02" * depth + b"\x00" if kind == "AVRO" else b'{"x":' * depth + b"1" + b"}" * depth
    with pytest.raises(DoesNotFit):
        shape_of(info(kind, CHAIN)).decode(data)


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_a_schema_that_is_nested_too_deeply_is_refused(kind: str) -> None:
    deep: Any = "long"
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(DoesNotFit):
        shape_of(info(kind, {"type": "record", "name": "R", "fields": [{"name": "a", "type": deep}]}))


def test_a_record_that_contains_itself_in_an_array_is_read() -> None:
    tree = {"type": "record", "name": "Tree", "fields": [
        {"name": "below", "type": {"type": "array", "items": "Tree"}}]}  # fmt: skip
    assert json.loads(value_of(info("AVRO", tree), b"\x02\x00\x00")) == {"below": [{"below": []}]}


@pytest.mark.parametrize(
    "items",
    [
        "null",
        {"type": "fixed", "name": "F", "size": 0},
        {"type": "record", "name": "E", "fields": [{"name": "n", "type": "null"}]},
    ],
)
def test_an_array_of_what_takes_no_bytes_is_refused(items: Any) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": items}}]}
    with pytest.raises(DoesNotFit, match="without bytes"):
        shape_of(info("AVRO", record))


@pytest.mark.parametrize("data", [b"", b"\x02", b"\xff" * 30])
def test_bytes_that_are_not_avro_are_refused(data: bytes) -> None:
    with pytest.raises(DoesNotFit):
        shape_of(info("AVRO", ORDER)).decode(data)


def test_a_definition_that_is_no_schema_is_refused() -> None:
    with pytest.raises(DoesNotFit):
        shape_of(info("AVRO", {"type": "nothing"}))


def test_a_protobuf_message_is_a_struct() -> None:
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    kinds = FieldDescriptorProto
    message.field.add(name="id", number=1, type=kinds.TYPE_UINT64, label=kinds.LABEL_OPTIONAL)
    message.field.add(name="tags", number=2, type=kinds.TYPE_STRING, label=kinds.LABEL_REPEATED)
    message.oneof_decl.add(name="_note")
    message.field.add(
        name="note", number=3, type=kinds.TYPE_STRING, label=kinds.LABEL_OPTIONAL, oneof_index=0, proto3_optional=True
    )
    definition = {
        "fileDescriptorSet": base64.b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode(),
        "rootMessageTypeName": "shop.Order",
        "rootFileDescriptorName": "shop.proto",
    }
    pool = DescriptorPool()
    pool.Add(file)
    order = GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
    data = order(id=(1 << 64) - 1, tags=["a"]).SerializeToString()
    assert value_of(info("PROTOBUF_NATIVE", definition), data) == {
        "id": Decimal((1 << 64) - 1),
        "tags": ["a"],
        "note": None,
    }


def test_a_pair_has_a_typed_key_and_value() -> None:
    pair = info("KEY_VALUE", {"key": "", "value": ""}, **{"key.schema.type": "STRING", "value.schema.type": "INT32"})
    assert value_of(pair, join_pair(b"k", struct.pack(">i", 7))) == {"key": "k", "value": 7}
    assert value_of(pair, join_pair(None, None)) == {"key": None, "value": None}


REAL = {"type": "record", "name": "R", "fields": [{"name": "x", "type": "double"}]}


@pytest.mark.parametrize(("text", "value"), [('"NaN"', math.nan), ('"-Infinity"', -math.inf), ("3", 3.0)])
def test_json_has_words_for_floats_without_a_number(text: str, value: float) -> None:
    found = value_of(info("JSON", REAL), b'{"x": %s}' % text.encode())["x"]
    assert found == value or (math.isnan(found) and math.isnan(value))


@pytest.mark.parametrize(("text", "value"), [("NaN", math.nan), ("-Infinity", -math.inf)])
def test_python_writes_such_floats_without_quotes(text: str, value: float) -> None:
    note = {"name": "note", "type": "string"}
    found = value_of(
        info("JSON", REAL | {"fields": [*REAL["fields"], note]}), b'{"note":"a\\"NaN","x":%s}' % text.encode()
    )
    assert found["note"] == 'a"NaN'
    assert found["x"] == value or (math.isnan(found["x"]) and math.isnan(value))


def test_a_double_of_json_may_be_too_large_for_a_float() -> None:
    record = REAL | {"fields": [{"name": "x", "type": "float"}]}
    assert value_of(info("JSON", record), b'{"x":3.4028234e38}') == {"x": pytest.approx(3.4028234e38)}
    for text in (b'{"x":1e300}', b'{"x":-1e300}'):
        with pytest.raises(DoesNotFit, match="Expected `float`"):
            shape_of(info("JSON", record)).decode(text)


@pytest.mark.parametrize("digits", ["1e-999999999", '"1e-999999999"', "1e999999999", '"NaN"', "0e-39"])
def test_a_decimal_that_arrow_cannot_take_is_refused_before_it(digits: str) -> None:
    with pytest.raises(DoesNotFit, match="too many digits"):
        shape_of(info("JSON", WIDE)).decode(b'{"price": %s}' % digits.encode())


def of_field(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]}


def in_avro(kind: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(of_field(kind)), {"f": value})
    return out.getvalue()


def test_a_decimal_of_more_digits_than_engines_have_is_text() -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}
    assert value_of(info("AVRO", of_field(kind)), in_avro(kind, Decimal("12.50"))) == {"f": "12.50"}
    assert value_of(info("JSON", of_field(kind)), b'{"f":12.50}') == {"f": "12.50"}


def test_a_uuid_of_sixteen_bytes_is_text() -> None:
    kind = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
    found = value_of(info("AVRO", of_field(kind)), in_avro(kind, bytes(range(16))))
    assert found == {"f": "00010203-0405-0607-0809-0a0b0c0d0e0f"}


def test_a_logical_type_of_another_type_means_nothing() -> None:
    kind = {"type": "string", "logicalType": "timestamp-millis"}
    assert value_of(info("AVRO", of_field(kind)), in_avro(kind, "today")) == {"f": "today"}


@pytest.mark.parametrize("field", [{"type": "string", "default": None}, {"type": {"type": "double"}, "default": 0}])
def test_a_default_that_does_not_fit_its_type_is_no_obstacle(field: dict[str, Any]) -> None:
    """Pulsar does not check defaults when it takes a schema."""
    record = {"type": "record", "name": "R", "fields": [{"name": "f", **field}]}
    assert shape_of(info("AVRO", record)).arrow.field("f").type in (pa.string(), pa.float64())


def test_a_record_without_fields_is_json_text() -> None:
    """Parquet has no such column."""
    empty = {"type": "record", "name": "E", "fields": []}
    assert value_of(info("AVRO", of_field(empty)), b"") == {"f": "{}"}


def test_json_text_of_a_record_that_contains_itself_has_no_nan() -> None:
    node = {"type": "record", "name": "N", "fields": [
        {"name": "x", "type": "double"}, {"name": "next", "type": ["null", "N"]}]}  # fmt: skip
    assert value_of(info("AVRO", node), struct.pack("<d", math.nan) + b"\0") == '{"x": "NaN", "next": null}'


@pytest.mark.parametrize("kind", ["AVRO", "JSON"])
def test_a_type_whose_fields_double_at_each_level_is_refused(kind: str) -> None:
    record: Any = "long"
    for level in range(40):
        others = [] if level == 0 else [{"name": "b", "type": f"L{level - 1}"}]
        record = {"type": "record", "name": f"L{level}", "fields": [{"name": "a", "type": record}, *others]}
    with pytest.raises(DoesNotFit, match="more than 5000 fields"):
        shape_of(info(kind, record))


@pytest.mark.parametrize("text", ['"nan"', '"1.5"', "1e999", "true", "1" * 400, "[]"])
def test_other_words_and_numbers_out_of_range_are_no_floats(text: str) -> None:
    with pytest.raises(DoesNotFit, match="does not match the schema"):
        shape_of(info("JSON", REAL)).decode(b'{"x": %s}' % text.encode())
