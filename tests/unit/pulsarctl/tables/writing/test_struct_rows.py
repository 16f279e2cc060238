"""What is written comes back as it was: each type of Arrow, in JSON and in Avro, as typed tables read it."""

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow as pa

from pulsarctl.errors import UsageProblem
from pulsarctl.tables.typed.shapes import shape_of
from pulsarctl.tables.writing.payloads import payloads

SCHEMAS = ("json", "avro")
UTC_MICROS = pa.timestamp("us", tz="UTC")
LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999)
BEFORE_1970 = datetime(1901, 12, 13, 20, 45, 51, 999_999)


def read_back(column: pa.Array, schema: str) -> pa.Array:
    """The column as a typed table has it."""
    found = payloads(column.type, schema)
    shape = shape_of({"type": found.schema_type, "schema": found.definition, "properties": {}})
    return pa.array([None if each is None else shape.decode(each) for each in found.encode(column)], shape.arrow)


def in_struct(values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([values], ["f"])


def written(values: list[Any], kind: pa.DataType) -> pa.Array:
    return in_struct(pa.array(values, kind))


SAME = [
    ([True, None], pa.bool_()),
    ([-(1 << 31), (1 << 31) - 1], pa.int32()),
    ([-(1 << 63), (1 << 63) - 1, 9_007_199_254_740_993], pa.int64()),
    ([0.1, -0.0, 3.4e38], pa.float32()),
    ([0.1, 5e-324, None], pa.float64()),
    ([math.inf, -math.inf], pa.float64()),
    ([math.inf, -math.inf], pa.float32()),
    (["", "é\0\u2028", None], pa.string()),
    ([b"", bytes(range(256)), None], pa.binary()),
    ([date(1, 1, 1), date(1969, 12, 31), date(9999, 12, 31)], pa.date32()),
    ([LAST, BEFORE_1970, datetime(2026, 1, 2, 3, 4, 5, 678_901)], pa.timestamp("us")),
    ([LAST.replace(tzinfo=UTC), BEFORE_1970.replace(tzinfo=UTC)], UTC_MICROS),
    ([Decimal("12.50"), Decimal("-0.01"), None], pa.decimal128(8, 2)),
    ([Decimal(f"{sign}{'9' * 28}.{'9' * 10}") for sign in "+-"], pa.decimal128(38, 10)),
    ([[], [None, 1], None], pa.list_(pa.int64())),
    ([[datetime(2026, 1, 1, 0, 0, 0, 1, UTC)], []], pa.list_(UTC_MICROS)),
    ([[("k", Decimal("1.10")), ("n", None)], [], None], pa.map_(pa.string(), pa.decimal128(4, 2))),
    ([[("a", [("b", b"\xff")])]], pa.map_(pa.string(), pa.map_(pa.string(), pa.binary()))),
    ([{"x": {"at": BEFORE_1970}}, {"x": None}, None], pa.struct([("x", pa.struct([("at", pa.timestamp("us"))]))])),
    ([[{"b": [b"\0"]}, None]], pa.list_(pa.struct([("b", pa.list_(pa.binary()))]))),
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(("values", "kind"), SAME, ids=lambda found: str(found)[:40])
def test_a_value_comes_back_with_its_type(values: list[Any], kind: pa.DataType, schema: str) -> None:
    column = written(values, kind)
    assert read_back(column, schema) == column


WIDER = [
    (pa.array([1, -1], pa.int8()), pa.int32()),
    (pa.array([(1 << 32) - 1], pa.uint32()), pa.int64()),
    (pa.array([(1 << 64) - 1], pa.uint64()), pa.decimal128(20, 0)),
    (pa.array([1 << 32, None], pa.timestamp("s", tz="Europe/Berlin")), UTC_MICROS),
    (pa.array([1_767_225_600_123_456_000], pa.timestamp("ns")), pa.timestamp("us")),
    (pa.array([86_400_000], pa.date64()), pa.date32()),
    (pa.array(["a", None], pa.large_string()), pa.string()),
    (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string()),
    (pa.array([b"ab"], pa.binary(2)), pa.binary()),
    (pa.array([Decimal("1200")], pa.decimal128(2, -2)), pa.decimal128(4, 0)),
    (pa.array([[1, 2], None], pa.list_(pa.int32(), 2)), pa.list_(pa.int32())),
    (pa.array([[1], None], pa.large_list(pa.int32())), pa.list_(pa.int32())),
    (pa.nulls(2), pa.string()),
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(("values", "kind"), WIDER, ids=lambda found: str(getattr(found, "type", ""))[:40])
def test_a_type_that_avro_lacks_becomes_one_that_holds_its_values(
    values: pa.Array, kind: pa.DataType, schema: str
) -> None:
    assert read_back(in_struct(values), schema) == in_struct(values.cast(kind))


@pytest.mark.parametrize("schema", SCHEMAS)
def test_times_of_a_day_are_numbers_with_all_digits(schema: str) -> None:
    for kind, number in ((pa.time64("us"), 3_723_000_004), (pa.time32("ms"), 3_723_000)):
        moment = time(1, 2, 3, 4 if kind == pa.time64("us") else 0)
        assert read_back(written([moment], kind), schema) == written([number], pa.int64())


@pytest.mark.parametrize("schema", SCHEMAS)
def test_no_number_comes_back_as_no_number(schema: str) -> None:
    for kind in (pa.float32(), pa.float64()):
        (row,) = read_back(written([math.nan], kind), schema).to_pylist()
        assert math.isnan(row["f"])


@pytest.mark.parametrize("schema", SCHEMAS)
def test_a_part_of_a_column_has_its_own_values(schema: str) -> None:
    """Arrow keeps the rest of the column beside it."""
    kind = pa.struct([("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64())), ("s", pa.string())])
    rows = [{"l": [n] * n, "m": [(str(n), n)], "s": str(n)} for n in range(6)]
    column = pa.array([*rows[:3], None, *rows[3:]], kind)
    for part in (column.slice(2, 3), column.slice(0, 0), column.slice(7)):
        assert read_back(part, schema).to_pylist() == part.to_pylist()


@pytest.mark.parametrize("schema", SCHEMAS)
def test_two_records_whose_paths_look_alike_have_two_names(schema: str) -> None:
    kind = pa.struct(
        [("a", pa.struct([("b", pa.struct([("x", pa.int64())]))])), ("a_b", pa.struct([("y", pa.string())]))]
    )
    column = pa.array([{"a": {"b": {"x": 1}}, "a_b": {"y": "z"}}], kind)
    assert read_back(column, schema) == column


REFUSED = [
    (pa.array([1], pa.timestamp("ns")), "value.f: .* lose data", "microseconds"),
    (pa.array([1 << 62], pa.timestamp("s")), "value.f: .* out of bounds", "string"),
    (pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())), "value.f: a map has a key twice", "structs"),
    (pa.array([1], pa.duration("us")), r"value.f: duration\[us\] has no Avro type", "string"),
    (pa.array([[(1, 1)]], pa.map_(pa.int64(), pa.int64())), "value.f: map<.* has no Avro type", "string"),
    (pa.array([{"a b": 1}]), "value.f.a b: it is not a name in Avro", "rename"),
]


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize(("values", "reason", "hint"), REFUSED, ids=[reason[:30] for _, reason, _ in REFUSED])
def test_what_would_change_is_refused(values: pa.Array, reason: str, hint: str, schema: str) -> None:
    with pytest.raises(UsageProblem, match=f"cannot write {reason}") as caught:
        read_back(in_struct(values), schema)
    assert hint in str(caught.value.hint)
