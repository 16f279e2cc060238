"""Definitions that are too large or too deep, and comparisons that would not end."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.errors import IncompatibleSchema, InvalidSchema
from broker_core.metadata.schema.avro import parse_avro
from broker_core.metadata.schema.avro_default import default_fits
from broker_core.metadata.schema.avro_resolution import why_unreadable
from broker_core.metadata.schema.bounds import DefinitionBounds, check_definition
from broker_core.metadata.schema.compatibility import check_compatible
from broker_core.metadata.schema.key_value import decode_key_value, encode_key_value, key_value_data
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import AVRO_BASED, SchemaType
from broker_core.metadata.schema.steps import Steps
from broker_core.metadata.schema.strategy import Strategy
from broker_core.metadata.schema.validation import validate

BOUNDS = DefinitionBounds(max_bytes=10_000, max_values=100, max_depth=20)
WITH_JSON = [*sorted(AVRO_BASED), SchemaType.PROTOBUF_NATIVE]


def nested(depth: int) -> bytes:
    return b'{"type":"array","items":' * depth + b'"int"' + b"}" * depth


def wide(values: int) -> bytes:
    return json.dumps({"symbols": ["x"] * values}).encode()


def record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def union_of(count: int, prefix: str) -> str:
    """One field: a union of records with different names."""
    return json.dumps(record("R", {"name": "f", "type": [record(f"{prefix}{number}") for number in range(count)]}))


def doubling(levels: int) -> str:
    """A field with a default; each level doubles the time to check it."""
    kind: Any = record("L0", {"name": "a", "type": "int", "default": 1})
    for level in range(1, levels):
        below = {"name": "b", "type": f"L{level - 1}", "default": {}}
        kind = record(f"L{level}", {"name": "a", "type": kind, "default": {}}, below)
    return json.dumps(record("R", {"name": "z", "type": kind, "default": {}}))


@pytest.mark.parametrize("kind", WITH_JSON)
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b" " * 10_001, "schemaMaxSizeInBytes = 10000"),
        (wide(200), "schemaMaxValues = 100"),
        (nested(21), "schemaMaxDepth = 20"),
        (b"[" * 5000 + b"]" * 5000, "schemaMaxDepth = 20"),
    ],
    ids=["bytes", "values", "depth", "endless"],
)
def test_a_definition_over_a_limit_is_refused_with_the_name_of_the_limit(
    kind: SchemaType, data: bytes, reason: str
) -> None:
    with pytest.raises(InvalidSchema, match=reason):
        check_definition(SchemaData(kind, data), BOUNDS)


@pytest.mark.parametrize("data", [nested(19), wide(90), b"no JSON"])
def test_a_definition_within_its_limits_is_accepted(data: bytes) -> None:
    check_definition(SchemaData(SchemaType.AVRO, data), BOUNDS)


def test_keys_and_values_have_the_same_limits() -> None:
    properties = {"key.schema.type": "STRING", "value.schema.type": "JSON"}
    schema = SchemaData(SchemaType.KEY_VALUE, encode_key_value(b"", nested(21)), properties)
    with pytest.raises(InvalidSchema, match="schemaMaxDepth"):
        check_definition(schema, BOUNDS)


def test_deeply_nested_key_properties_are_refused() -> None:
    properties = {"key.schema.type": "STRING", "key.schema.properties": '{"a":' + "[" * 5000}
    with pytest.raises(InvalidSchema, match="not a JSON object"):
        decode_key_value(SchemaData(SchemaType.KEY_VALUE, encode_key_value(b"", b""), properties))


@pytest.mark.parametrize("text", ['{"key":' + "[" * 5000, "[" * 5000])
def test_a_deeply_nested_key_value_schema_over_rest_is_refused(text: str) -> None:
    with pytest.raises(InvalidSchema, match="KEY_VALUE"):
        key_value_data(text)


@pytest.mark.parametrize(
    ("writer", "reader"),
    [(union_of(4000, "A"), union_of(4000, "B")), (json.dumps(record("R")), doubling(40))],
    ids=["quadratic", "exponential"],
)
def test_an_endless_comparison_counts_as_incompatible(writer: str, reader: str) -> None:
    """The first took 23 s and 3 GB, the second takes days."""
    before = time.process_time()
    reason = why_unreadable(parse_avro(writer), parse_avro(reader), 50_000)
    assert reason is not None
    assert "schemaMaxComparisons = 50000" in reason
    assert time.process_time() - before < 5


def test_the_configuration_limits_the_steps_of_a_comparison() -> None:
    definitions = [SchemaData(SchemaType.AVRO, union_of(40, prefix).encode()) for prefix in "AB"]
    check_compatible(definitions[:1], definitions[1], Strategy.BACKWARD)
    with pytest.raises(IncompatibleSchema, match="schemaMaxComparisons = 1000"):
        check_compatible(definitions[:1], definitions[1], Strategy.BACKWARD, 1000)


def definition(fields: int, *, more: int = 0) -> bytes:
    defaults = [{"name": f"g{number}", "type": "int", "default": number} for number in range(more)]
    return json.dumps(
        record("R", *({"name": f"f{number}", "type": "int"} for number in range(fields)), *defaults)
    ).encode()


def versions(count: int) -> list[SchemaData]:
    return [SchemaData(SchemaType.AVRO, definition(20, more=number)) for number in range(1, count + 1)]


def test_the_configuration_limits_the_steps_of_a_check_of_all_versions() -> None:
    new = SchemaData(SchemaType.AVRO, definition(20))
    check_compatible(versions(10), new, Strategy.FULL_TRANSITIVE, 1000)
    with pytest.raises(IncompatibleSchema, match="more steps than 10 times schemaMaxComparisons = 1000"):
        check_compatible(versions(100), new, Strategy.FULL_TRANSITIVE, 1000)


@pytest.mark.parametrize("kind", [SchemaType.AVRO, SchemaType.JSON])
def test_a_thousand_versions_with_few_definitions_take_the_steps_of_a_few(kind: SchemaType) -> None:
    """Such as the keys of KEY_VALUE schemas."""
    few = [SchemaData(kind, one.data) for one in versions(5)]
    check_compatible(few * 200, SchemaData(kind, definition(20)), Strategy.FULL_TRANSITIVE, 1000)


def test_a_thousand_versions_are_compared_within_the_default_limit() -> None:
    many = [SchemaData(SchemaType.AVRO, definition(20, more=1).replace(b'"R"', b'"R%d"' % n)) for n in range(1000)]
    check_compatible(many, SchemaData(SchemaType.AVRO, definition(20)), Strategy.FULL_TRANSITIVE)


def test_a_comparison_without_aliases_takes_seven_calls_for_each_field() -> None:
    fields = 1000
    writer, reader = (parse_avro(definition(fields, more=more).decode()) for more in (0, 1))
    assert calls(lambda: why_unreadable(writer, reader)) < 8 * fields


def calls(work: Callable[[], object]) -> int:
    """How many functions of Python the work calls."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


class CountedText(str):
    """A text that counts how often it is compared."""

    __slots__ = ("compared",)
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.compared = getattr(self, "compared", 0) + 1
        return str.__eq__(self, other)


def test_a_symbol_is_not_compared_with_each_symbol_of_a_long_enum() -> None:
    kind = parse_avro(json.dumps({"type": "enum", "name": "E", "symbols": [f"s{n}" for n in range(20_000)]}))
    symbol = CountedText("s19999")
    assert default_fits(kind, symbol, Steps(10))
    assert symbol.compared < 10


def test_a_thousand_fields_use_a_fraction_of_the_allowed_steps() -> None:
    fields = [{"name": f"f{number}", "type": ["null", "int"], "default": None} for number in range(1000)]
    schema = parse_avro(json.dumps(record("R", *fields)))
    other = parse_avro(json.dumps(record("R", *fields, {"name": "more", "type": "int", "default": 1})))
    assert why_unreadable(schema, other, BrokerConfig().schema.max_comparisons // 10) is None


def test_records_in_unions_use_more_steps_than_primitives() -> None:
    """10,000 comparisons of records take as long as 100,000 others."""
    unwritten = '"fields": [{"name": "more", "type": "int"}]'
    old, new = parse_avro(union_of(100, "A")), parse_avro(union_of(100, "B").replace('"fields": []', unwritten))
    assert why_unreadable(old, new) == "R.f: the union of the reader has no A0"
    assert "schemaMaxComparisons" in str(why_unreadable(old, new, 100_000))


def test_a_long_union_of_the_same_records_is_compared_by_name() -> None:
    old = union_of(4000, "A")
    new = old.replace('"fields": []', '"fields": [{"name": "more", "type": "int", "default": 1}]')
    assert why_unreadable(parse_avro(old), parse_avro(new)) is None


def test_the_reason_for_a_refusal_is_short() -> None:
    with pytest.raises(InvalidSchema) as refused:
        validate(SchemaData(SchemaType.AVRO, json.dumps(record("R" * 900_000 + "!")).encode()))
    assert len(str(refused.value)) < 1100
