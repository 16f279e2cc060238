"""Schema resolution: one line for each rule, the results of Apache Avro for Java, and fastavro with real data."""

import contextlib
import io
import json
import random
from pathlib import Path
from typing import Any

import fastavro
import pytest
from fastavro.utils import generate_many
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from broker_core.metadata.schema.avro import AvroType, InvalidAvro, parse_avro
from broker_core.metadata.schema.avro_identity import canonical_text
from broker_core.metadata.schema.avro_resolution import why_unreadable
from tests.unit.broker_core.metadata.schema.avro_pairs import PairMaker

JAVA_VERDICTS = Path(__file__).with_name("avro_verdicts.jsonl")
"""Pairs of `PairMaker` with what Apache Avro 1.11.4 for Java, with which Pulsar 4.0.7 asks, says about them."""


def record(*fields: dict[str, Any], name: str = "A", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def enum(*symbols: str, name: str = "E", **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **more}


def fixed(size: int, name: str = "F", **more: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **more}


def parsed(schema: Any) -> AvroType:
    return parse_avro(json.dumps(schema))


NODE = record(field("next", ["null", "A"]))
LIST = record(field("next", ["null", "A"]), field("v", "int", default=0))

READABLE = {
    "int as long": ("int", "long"),
    "int as float": ("int", "float"),
    "int as double": ("int", "double"),
    "long as float": ("long", "float"),
    "long as double": ("long", "double"),
    "float as double": ("float", "double"),
    "string as bytes": ("string", "bytes"),
    "bytes as string": ("bytes", "string"),
    "array elements promoted": ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}),
    "map values promoted": ({"type": "map", "values": "int"}, {"type": "map", "values": "double"}),
    "a type into a union with it": ("int", ["null", "int"]),
    "a type into a union with a promotion": ("int", ["string", "double"]),
    "a union of one into its type": (["int"], "int"),
    "a union into a wider one": (["null", "int"], ["null", "int", "string"]),
    "each branch promoted": (["int", "float"], "double"),
    "field left out": (record(field("a", "int"), field("b", "int")), record(field("a", "int"))),
    "field added with a default": (record(), record(field("a", "int", default=1))),
    "field added with null for default": (record(), record(field("a", ["null", "int"], default=None))),
    "fields in another order": (
        record(field("a", "int"), field("b", "int")), record(field("b", "int"), field("a", "int"))),
    "field renamed with an alias": (record(field("a", "int")), record(field("b", "int", aliases=["a"]))),
    "record of another name": (record(name="A"), record(name="B")),
    "enum renamed with an alias": (enum("X", name="E"), enum("X", name="N", aliases=["E"])),
    "fixed renamed with an alias": (fixed(2, "F"), fixed(2, "G", aliases=["F"])),
    "names are compared without their namespace": (fixed(2, "F", namespace="x"), fixed(2, "F", namespace="y")),
    "enum with a symbol more": (enum("X"), enum("X", "Y")),
    "enum with a symbol less, as Java sees it": (enum("X", "Y"), enum("X")),
    "enum with a symbol less and a default": (enum("X", "Y"), enum("X", default="X")),
    "a record that holds itself": (NODE, LIST),
    "a record of a union by its structure": (record(field("a", "int")), ["null", record(field("a", "long"), name="B")]),
    "a default that is a record": (
        record(), record(field("r", record(field("x", "int", default=1), name="R"), default={}))),
    "a default that is an enum's symbol": (record(), record(field("e", enum("X"), default="X"))),
    "a default that is a list": (record(), record(field("l", {"type": "array", "items": "int"}, default=[1, 2]))),
    "a logical type is its plain one": ({"type": "int", "logicalType": "date"}, "int"),
}  # fmt: skip

UNREADABLE = {
    "long as int": ("long", "int", "long cannot be read as int"),
    "double as float": ("double", "float", "double cannot be read as float"),
    "int as string": ("int", "string", "int cannot be read as string"),
    "boolean as int": ("boolean", "int", "boolean cannot be read as int"),
    "array as map": (
        {"type": "array", "items": "int"}, {"type": "map", "values": "int"}, "array cannot be read as map"),
    "array elements": (
        {"type": "array", "items": "long"}, {"type": "array", "items": "int"}, "long cannot be read as int"),
    "a union without the type": ("int", ["null", "string"], "the union of the reader has no int"),
    "a union into one of its types": (["null", "int"], "int", "null cannot be read as int"),
    "field added without a default": (record(), record(field("a", "int")), "A.a was not written and has no default"),
    "field added with a default that does not fit": (
        record(), record(field("a", "int", default="x")), "the default of A.a is not a valid int"),
    "default of a union's second type": (
        record(), record(field("a", ["int", "null"], default=None)), "the default of A.a is not a valid union"),
    "a default of a map that is a list": (
        record(),
        record(field("m", {"type": "map", "values": "int"}, default=[1])),
        "the default of A.m is not a valid map"),
    "field of another type": (
        record(field("a", "string")), record(field("a", "int")), "A.a: string cannot be read as int"),
    "field renamed without an alias": (
        record(field("a", "int")), record(field("b", "int")), "A.b was not written and has no default"),
    "deep inside": (
        record(field("r", record(field("x", "long"), name="R"))),
        record(field("r", record(field("x", "int"), name="R"))),
        "A.r: R.x: long cannot be read as int"),
    "enum of another name": (enum("X", name="E"), enum("X", name="N"), "E cannot be read as N"),
    "fixed of another size": (fixed(2), fixed(3), "F has 2 bytes, not 3"),
    "fixed of another name": (fixed(2, "F"), fixed(2, "G"), "F cannot be read as G"),
    "two fields that an alias makes one": (
        record(field("a", "int"), field("b", "int")), record(field("a", "int", aliases=["b"])),
        "aliases give one name twice: a, a"),
}  # fmt: skip


@pytest.mark.parametrize(("writer", "reader"), READABLE.values(), ids=READABLE)
def test_a_reader_schema_reads_a_compatible_writer_schema(writer: Any, reader: Any) -> None:
    assert why_unreadable(parsed(writer), parsed(reader)) is None


@pytest.mark.parametrize(("writer", "reader", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_reader_schema_refuses_an_incompatible_writer_schema(writer: Any, reader: Any, reason: str) -> None:
    assert why_unreadable(parsed(writer), parsed(reader)) == reason


def test_apache_avro_for_java_agrees() -> None:
    verdicts = [json.loads(line) for line in JAVA_VERDICTS.read_text().splitlines()]
    assert len(verdicts) == 300
    differing = [
        one
        for one in verdicts
        if (why_unreadable(parsed(one["writer"]), parsed(one["reader"])) is None) != one["readable"]
    ]
    assert differing == []


def test_a_deeply_nested_schema_is_refused() -> None:
    chain = [record(name="R0")] + [record(field("f", f"R{i}"), name=f"R{i + 1}") for i in range(5000)]
    deep = parsed(chain).branches[-1]
    assert why_unreadable(deep, parsed(chain).branches[-1]) == "the schema is nested too deeply"


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_fastavro_reads_what_the_rules_allow(source: random.Random) -> None:
    writer, reader = PairMaker(source, bad_defaults=0, names=("A", "B", "C")).pair()
    assume(is_readable(writer, reader))
    generous = with_enum_defaults(reader)
    for datum in generate_many(writer, 3):
        data = io.BytesIO()
        fastavro.schemaless_writer(data, writer, datum)
        with contextlib.suppress(UnicodeDecodeError):  # bytes read as a string need not be text
            fastavro.schemaless_reader(io.BytesIO(data.getvalue()), writer, generous)


def is_readable(writer: Any, reader: Any) -> bool:
    try:
        return not holds_itself(parsed(writer)) and why_unreadable(parsed(writer), parsed(reader)) is None
    except InvalidAvro:
        return False


def with_enum_defaults(schema: Any) -> Any:
    """Java ignores a symbol that the reader's schema lacks; with a default, fastavro reads it too."""
    if isinstance(schema, list):
        return [with_enum_defaults(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: with_enum_defaults(value) for key, value in schema.items() if key != "default"}
    if schema.get("type") == "enum":
        return {"default": schema["symbols"][0], **changed}
    return {**changed, "default": schema["default"]} if "default" in schema else changed


def holds_itself(schema: AvroType, inside: tuple[int, ...] = ()) -> bool:
    """No finite data matches such a schema."""
    if id(schema) in inside:
        return True
    parts = [*schema.branches, *(one.type for one in schema.fields), *([schema.items] if schema.items else [])]
    return any(holds_itself(part, (*inside, id(schema))) for part in parts)


REFUSED = {
    "no JSON": ("{", "Expecting property name"),
    "a number": ("1", "Schema not yet supported"),
    "an unknown name": ('"what"', "Undefined name"),
    "an object without a type": ("{}", "No type"),
    "a type inside a type": ('{"type":{"type":"int"}}', "No type"),
    "a record without a name": ('{"type":"record","fields":[]}', "No name"),
    "a record without fields": ('{"type":"record","name":"A"}', "Record has no fields"),
    "a field without a type": ('{"type":"record","name":"A","fields":[{"name":"a"}]}', "No field type"),
    "two fields of a name": (json.dumps(record(field("a", "int"), field("a", "int"))), "Duplicate field"),
    "a name that begins with a digit": (json.dumps(record(name="1a")), "Illegal initial character"),
    "a name with a dash": (json.dumps(record(field("a-b", "int"))), "Illegal character"),
    "a type defined twice": (json.dumps([record(), record()]), "Can't redefine"),
    "a name of a primitive": (json.dumps(record(name="int")), "named after primitives"),
    "a union in a union": ('["int",["null","string"]]', "Nested union"),
    "a type twice in a union": ('["int","int"]', "Duplicate in union"),
    "an enum's default that is no symbol": (json.dumps(enum("X", default="Y")), "The Enum Default"),
    "an enum's symbol twice": (json.dumps(enum("X", "X")), "Duplicate enum symbol"),
    "a fixed without a size": ('{"type":"fixed","name":"F"}', "Invalid or no size"),
    "an unknown order": (json.dumps(record(field("a", "int", order="up"))), "No such order"),
    "only brackets": ("[" * 100_000, "nested too deeply"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_schema_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidAvro, match=reason):
        parse_avro(text)


SAME = {
    "another order of the keys": (
        record(field("a", "int")), {"fields": [{"type": "int", "name": "a"}], "name": "A", "type": "record"}),
    "documentation": (record(field("a", "int")), record(field("a", "int", doc="d"), doc="e")),
    "aliases": (record(field("a", "int")), record(field("a", "int", aliases=["z"]), aliases=["Z"])),
    "a namespace written into the name": (record(name="x.A"), record(name="A", namespace="x")),
    "a primitive written as an object": (record(field("a", "int")), record(field("a", {"type": "int"}))),
    "an enum's default": (enum("X"), enum("X", default="X")),
}  # fmt: skip

DIFFERENT = {
    "a default": (record(field("a", "int")), record(field("a", "int", default=1))),
    "a default of one and of true": (record(field("a", "int", default=1)), record(field("a", "int", default=True))),
    "null for a default and none": (record(field("a", "null")), record(field("a", "null", default=None))),
    "the order of fields": (
        record(field("a", "int"), field("b", "int")),
        record(field("b", "int"), field("a", "int")),
    ),
    "a namespace": (record(), record(namespace="x")),
    "a logical type": ("int", {"type": "int", "logicalType": "date"}),
    "another property": (record(), record(owner="me")),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_schemas_that_differ_only_in_form_are_equal(one: Any, other: Any) -> None:
    assert canonical_text(parsed(one)) == canonical_text(parsed(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_schemas_that_differ_in_meaning_are_not_equal(one: Any, other: Any) -> None:
    assert canonical_text(parsed(one)) != canonical_text(parsed(other))
