"""Which schemas each strategy accepts after others, for every type that has rules."""

import base64
import json
from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

from broker_core.errors import BrokerError, IncompatibleSchema, InvalidSchema
from broker_core.metadata.schema.compatibility import check_compatible, check_readable
from broker_core.metadata.schema.key_value import encode_key_value, key_value_text
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import AVRO_BASED, CLIENT_SIDE, SchemaType
from broker_core.metadata.schema.strategy import Strategy
from broker_core.metadata.schema.validation import validate
from tests.unit.broker_core.metadata.schema.definitions import avro, string


def follows(versions: list[SchemaData], new: SchemaData, strategy: Strategy) -> bool:
    try:
        check_compatible(versions, new, strategy)
    except BrokerError:
        return False
    return True


# Existing versions -> new version -> strategies that accept it, in addition to ALWAYS_COMPATIBLE.
EVOLUTION = {
    "field added with a default": (
        ["a"], "a b=", {"BACKWARD", "FORWARD", "FULL", "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE"}),
    "field added without one": (["a"], "a b", {"FORWARD", "FORWARD_TRANSITIVE"}),
    "field with a default removed": (
        ["a b="], "a", {"BACKWARD", "FORWARD", "FULL", "BACKWARD_TRANSITIVE", "FORWARD_TRANSITIVE", "FULL_TRANSITIVE"}),
    "field without one removed": (["a b"], "a", {"BACKWARD", "BACKWARD_TRANSITIVE"}),
    "the latest can be read, the first not": (
        ["a", "a b="], "a b", {"BACKWARD", "FORWARD", "FULL", "FORWARD_TRANSITIVE"}),
    "the latest reads it, the first not": (
        ["a b", "a b="], "a", {"BACKWARD", "FORWARD", "FULL", "BACKWARD_TRANSITIVE"}),
    "the same as the first, but not as the latest": (["a", "a b"], "a", {"BACKWARD", "BACKWARD_TRANSITIVE"}),
    "nothing before": ([], "a", set(Strategy)),
}  # fmt: skip


@pytest.mark.parametrize("schema_type", sorted(AVRO_BASED))
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize(("versions", "new", "accepted"), EVOLUTION.values(), ids=EVOLUTION)
def test_avro_based_types_evolve(
    versions: list[str], new: str, accepted: set[str], strategy: Strategy, schema_type: SchemaType
) -> None:
    before = [avro(one, schema_type) for one in versions]
    expected = strategy in accepted or strategy is Strategy.ALWAYS_COMPATIBLE
    assert follows(before, avro(new, schema_type), strategy) is expected


@pytest.mark.parametrize("strategy", Strategy)
def test_another_type_is_compatible_only_if_everything_is(strategy: Strategy) -> None:
    assert follows([avro("a")], string(), strategy) is (strategy is Strategy.ALWAYS_COMPATIBLE)


@pytest.mark.parametrize("strategy", Strategy)
def test_a_type_without_rules_is_compatible_unless_changes_are_forbidden(strategy: Strategy) -> None:
    assert follows([string()], string(b"null"), strategy) is (strategy is not Strategy.ALWAYS_INCOMPATIBLE)


def test_the_same_bytes_are_compatible_even_if_changes_are_forbidden() -> None:
    assert follows([string()], string(), Strategy.ALWAYS_INCOMPATIBLE)


# Consumers


@pytest.mark.parametrize("strategy", ["BACKWARD", "FORWARD", "FULL", "FORWARD_TRANSITIVE"])
def test_a_consumer_must_only_read_the_latest_version(strategy: str) -> None:
    check_readable([avro("x"), avro("a b")], avro("a"), Strategy(strategy))
    with pytest.raises(IncompatibleSchema):
        check_readable([avro("a b"), avro("a")], avro("a b"), Strategy(strategy))


@pytest.mark.parametrize("strategy", ["BACKWARD_TRANSITIVE", "FULL_TRANSITIVE"])
def test_a_consumer_must_read_all_versions_with_a_transitive_strategy(strategy: str) -> None:
    check_readable([avro("a"), avro("a b=")], avro("a"), Strategy(strategy))
    with pytest.raises(IncompatibleSchema):
        check_readable([avro("a"), avro("a b=")], avro("a b"), Strategy(strategy))


def test_a_consumer_is_refused_if_changes_are_forbidden_even_with_the_same_schema() -> None:
    with pytest.raises(IncompatibleSchema):
        check_readable([avro("a")], avro("a"), Strategy.ALWAYS_INCOMPATIBLE)


# KEY_VALUE


def key_value(key: SchemaData, value: SchemaData, encoding: str = "INLINE") -> SchemaData:
    types = {"key.schema.type": key.type.name, "value.schema.type": value.type.name, "kv.encoding.type": encoding}
    return SchemaData(SchemaType.KEY_VALUE, encode_key_value(key.data, value.data), types)


@pytest.mark.parametrize("encoding", ["INLINE", "SEPARATED"])
def test_key_and_value_must_both_be_compatible(encoding: str) -> None:
    before = [key_value(avro("a"), avro("v"), encoding)]
    assert follows(before, key_value(avro("a b="), avro("v w="), encoding), Strategy.FULL)
    assert not follows(before, key_value(avro("a b"), avro("v"), encoding), Strategy.BACKWARD)
    assert not follows(before, key_value(avro("a"), avro("v w"), encoding), Strategy.BACKWARD)


def test_the_types_of_key_and_value_cannot_change() -> None:
    before = [key_value(string(), avro("v"))]
    assert not follows(before, key_value(avro("a"), avro("v")), Strategy.FULL)
    assert follows(before, key_value(string(), avro("v w=")), Strategy.FULL)


def test_a_pair_inside_a_pair_is_shown() -> None:
    """Otherwise one producer could make the list of a topic's schemas unreadable."""
    inner = key_value(string(), avro("a"))
    types = {"key.schema.type": "KEY_VALUE", "key.schema.properties": json.dumps(dict(inner.properties))}
    outer = SchemaData(SchemaType.KEY_VALUE, encode_key_value(inner.data, b""), types)
    validate(outer)
    assert json.loads(key_value_text(outer)) == {"key": {"key": "", "value": json.loads(avro("a").data)}, "value": ""}


def test_a_transitive_strategy_checks_the_values_of_all_versions() -> None:
    before = [key_value(string(), avro("a")), key_value(string(), avro("a b="))]
    assert follows(before, key_value(string(), avro("a b")), Strategy.BACKWARD)
    assert not follows(before, key_value(string(), avro("a b")), Strategy.BACKWARD_TRANSITIVE)


@pytest.mark.parametrize("data", [b"", b"\0\0", b"\0\0\0\x09abc", b"\0\0\0\0", b"\0\0\0\0\0\0\0\x01"])
def test_a_truncated_key_value_schema_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidSchema):
        validate(SchemaData(SchemaType.KEY_VALUE, data))


def test_both_parts_of_a_key_value_schema_are_checked() -> None:
    with pytest.raises(InvalidSchema, match="AVRO"):
        validate(key_value(string(), SchemaData(SchemaType.AVRO, b"oops")))


# PROTOBUF_NATIVE


def native(root: str, *files: FileDescriptorProto, name: str = "m.proto") -> SchemaData:
    encoded = base64.b64encode(FileDescriptorSet(file=files).SerializeToString()).decode()
    definition = {"fileDescriptorSet": encoded, "rootMessageTypeName": root, "rootFileDescriptorName": name}
    return SchemaData(SchemaType.PROTOBUF_NATIVE, json.dumps(definition).encode())


def message(name: str) -> DescriptorProto:
    return DescriptorProto(name=name)


def messages(*names: str, **more: Any) -> FileDescriptorProto:
    return FileDescriptorProto(name="m.proto", package="p", message_type=map(message, names), **more)


ALL_BUT_NEVER = [one for one in Strategy if one not in (Strategy.ALWAYS_COMPATIBLE, Strategy.ALWAYS_INCOMPATIBLE)]


@pytest.mark.parametrize("strategy", ALL_BUT_NEVER)
def test_a_protobuf_schema_keeps_its_root_message(strategy: Strategy) -> None:
    before = [native("p.A", messages("A", "B"))]
    assert follows(before, native("p.A", messages("A")), strategy)
    assert not follows(before, native("p.B", messages("A", "B")), strategy)


def test_a_protobuf_schema_may_import_files_that_it_includes() -> None:
    stamp = FileDescriptorProto.FromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    validate(native("p.A", messages("A", dependency=[stamp.name]), stamp))
    with pytest.raises(InvalidSchema):
        validate(native("p.A", messages("A", dependency=[stamp.name])))


@pytest.mark.parametrize(
    "schema",
    [
        SchemaData(SchemaType.PROTOBUF_NATIVE, b"oops"),
        SchemaData(SchemaType.PROTOBUF_NATIVE, b"[]"),
        native("p.Nix", messages("A")),
        native("p.A", messages("A"), name="nix.proto"),
        native("p.A", FileDescriptorProto(name="m.proto", package="p", dependency=["m.proto"])),
    ],
)
def test_an_incomplete_protobuf_schema_is_refused(schema: SchemaData) -> None:
    with pytest.raises(InvalidSchema):
        validate(schema)


# Definitions that are not Avro


def legacy(identity: str | None) -> SchemaData:
    return SchemaData(SchemaType.JSON, json.dumps({"type": "object", "id": identity, "properties": {}}).encode())


def test_json_schemas_of_old_clients_are_distinguished_by_id() -> None:
    validate(legacy("urn:a"))
    assert follows([legacy("urn:a")], SchemaData(SchemaType.JSON, legacy("urn:a").data + b" "), Strategy.FULL)
    assert not follows([legacy("urn:a")], legacy("urn:b"), Strategy.FULL)
    assert follows([legacy("urn:a")], avro("a", SchemaType.JSON), Strategy.FULL)
    assert follows([avro("a", SchemaType.JSON)], legacy("urn:a"), Strategy.FULL)


def test_the_json_schemas_of_old_clients_can_be_refused() -> None:
    legacy = SchemaData(SchemaType.JSON, b'{"type":"object","id":"a"}')
    validate(legacy)
    with pytest.raises(InvalidSchema, match="Invalid schema definition data for JSON schema"):
        validate(legacy, allow_legacy_json=False)


@pytest.mark.parametrize("data", [b"oops", b'{"type":"what"}', b"\xff"])
def test_json_that_was_never_a_schema_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidSchema, match="Invalid schema definition data for JSON schema"):
        validate(SchemaData(SchemaType.JSON, data))


@pytest.mark.parametrize("strategy", Strategy)
def test_an_external_schema_may_follow_any_other_one_but_no_other_type(strategy: Strategy) -> None:
    one, other = (SchemaData(SchemaType.EXTERNAL, data) for data in (b"one", b"other"))
    validate(one)
    assert follows([one], other, strategy)
    assert follows([avro("a")], one, strategy) is (strategy is Strategy.ALWAYS_COMPATIBLE)


STRUCTURED = {*AVRO_BASED, SchemaType.KEY_VALUE, SchemaType.PROTOBUF_NATIVE, SchemaType.NONE, SchemaType.BYTES}
PLAIN = [one for one in SchemaType if one not in STRUCTURED | CLIENT_SIDE and one is not SchemaType.EXTERNAL]


@pytest.mark.parametrize("schema_type", PLAIN)
def test_a_primitive_type_has_no_definition(schema_type: SchemaType) -> None:
    validate(SchemaData(schema_type))
    with pytest.raises(InvalidSchema):
        validate(SchemaData(schema_type, b"x"))


def test_the_null_that_the_python_client_sends_for_a_string_is_ignored() -> None:
    validate(string(b"null"))


@pytest.mark.parametrize("schema_type", sorted(CLIENT_SIDE))
def test_client_side_schema_types_are_refused(schema_type: SchemaType) -> None:
    with pytest.raises(InvalidSchema, match=f"Schema {schema_type.name} is a client-side schema type"):
        validate(SchemaData(schema_type))
