"""`produce --schema` and `consume --schema auto`: upload, encoding, decoding, and refusals."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.struct_pb2 import Struct
from hypothesis import given, settings
from hypothesis import strategies as st
from pulsar.schema import ProtobufNativeSchema

from pulsarctl.errors import DoesNotFit
from pulsarctl.records.schema_decoding import SchemaDecoder, decoder_of
from pulsarctl.schemas.avro_json import AvroCodec
from pulsarctl.tables.typed.shapes import shape_of
from tests.support.runner import Cli, Outcome
from tests.support.sample_record import SampleRecord

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"], "default": None}],
}
AVRO = f"avro:{json.dumps(ORDER)}"


def version_and_type(cli: Cli, topic: str) -> tuple[int, str]:
    found = json.loads(cli("schemas", "get", topic).stdout)
    return found["version"], found["schemaInfo"]["type"]


def lines(outcome: Outcome) -> list[Any]:
    assert outcome.exit_code == 0, outcome.stderr
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def consumed(cli: Cli, topic: str, *words: str) -> Outcome:
    return cli("consume", topic, "-p", "Earliest", "-e", *words)


def test_json_is_sent_as_avro_and_printed_as_json(cli: Cli, topic: str) -> None:
    sent = cli("produce", topic, "--schema", AVRO, "-m", '{"id": 7}', "-m", '{"id": 8, "note": "x"}')
    assert sent == Outcome(0, "", "2 messages successfully produced\n")
    assert version_and_type(cli, topic) == (0, "AVRO")
    values = [one["value"] for one in lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))]
    assert values == [{"id": 7, "note": None}, {"id": 8, "note": "x"}]
    raw = lines(consumed(cli, topic, "-o", "jsonl"))
    assert raw[0]["value"].encode() == b"\x0e\x00"
    assert raw[0]["schemaVersion"] == "00" * 8


def test_decoded_values_are_json_text_in_every_other_output(cli: Cli, topic: str) -> None:
    cli("produce", topic, "--schema", AVRO, "-m", '{"id": 7}')
    assert consumed(cli, topic, "-st", "auto_consume", "-F", "%v\\n").stdout == '{"id":7,"note":null}\n'
    assert consumed(cli, topic, "-st", "auto_consume").stdout.splitlines()[1].endswith('content:{"id":7,"note":null}')
    read = cli("read", topic, "-m", "earliest", "-e", "--schema", "auto", "-F", "%v %V\\n")
    assert read.stdout == '{"id":7,"note":null} 20\n'


def test_each_message_is_decoded_by_its_own_version(cli: Cli, topic: str) -> None:
    newer = {**ORDER, "fields": [*ORDER["fields"], {"name": "count", "type": "int", "default": 1}]}
    cli("produce", topic, "--schema", AVRO, "-m", '{"id": 1}')
    cli("produce", topic, "--schema", f"avro:{json.dumps(newer)}", "-m", '{"id": 2, "count": 5}')
    values = [one["value"] for one in lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))]
    assert values == [{"id": 1, "note": None}, {"id": 2, "note": None, "count": 5}]


def test_the_definition_may_be_in_a_file(cli: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    assert cli("produce", topic, "--schema", f"json:{tmp_path / 'order.avsc'}", "-m", '{"id": 7}').exit_code == 0
    assert version_and_type(cli, topic) == (0, "JSON")
    assert [one["value"] for one in lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))] == [{"id": 7}]


def test_auto_uses_the_schema_of_the_topic_and_says_so(cli: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "order.avsc").write_text(json.dumps(ORDER))
    cli("schemas", "upload", topic, "--type", "avro", "--schema-file", str(tmp_path / "order.avsc"))
    sent = cli("produce", topic, "--schema", "auto", "-m", '{"id": 7}')
    assert sent.stderr == "sending messages as AVRO, with version 0 of the schema\n1 messages successfully produced\n"
    assert version_and_type(cli, topic) == (0, "AVRO")
    assert lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))[0]["value"] == {"id": 7, "note": None}


def test_auto_sends_bytes_to_a_topic_without_a_schema(cli: Cli, topic: str) -> None:
    sent = cli("produce", topic, "--schema", "auto", "-m", "x")
    assert sent.stderr.startswith("the topic has no schema; sending messages as bytes\n")
    assert cli("schemas", "get", topic).exit_code == 3


def test_a_string_schema_is_uploaded_as_a_string(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, "-vs", "string", "-m", "grüße").exit_code == 0
    assert version_and_type(cli, topic) == (0, "STRING")
    assert lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))[0]["value"] == "grüße"


def test_an_incompatible_schema_exits_with_6(cli: Cli, topic: str) -> None:
    cli("produce", topic, "-vs", "string", "-m", "x")
    refused = cli("produce", topic, "--schema", AVRO, "-m", '{"id": 7}')
    assert (refused.exit_code, refused.stdout) == (6, "")
    assert "the schema is not compatible with the topic's" in refused.stderr


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("{", "cannot send message 1: it does not match the schema: it is not JSON"),
        ("{}", "cannot send message 1: it does not match the schema: value.id is missing"),
        (
            '{"id": "x"}',
            "cannot send message 1: it does not match the schema: value.id is 'x', not a 32-bit integer",
        ),
        ('{"id": 1, "what": 2}', "cannot send message 1: it does not match the schema: value has no field 'what'"),
        (
            '{"id": 1, "note": 2}',
            "cannot send message 1: it does not match the schema: value.note is 2, not one of null, string",
        ),
        (
            '{"id": 99999999999}',
            "cannot send message 1: it does not match the schema: value.id is 99999999999, not a 32-bit integer",
        ),
    ],
)
def test_a_mismatch_with_the_schema_exits_with_2_and_its_place(cli: Cli, topic: str, message: str, reason: str) -> None:
    outcome = cli("produce", topic, "--schema", AVRO, "-m", message)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"error: {reason}")


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("what", "unknown schema 'what'"),
        ("avro", "unknown schema 'avro'"),
        ("avro:{", "the schema definition is not JSON"),
        ('avro:{"type":"what"}', "not an Avro schema"),
    ],
)
def test_an_invalid_schema_exits_with_2(cli: Cli, schema: str, message: str) -> None:
    outcome = cli("produce", "t", "--schema", schema, "-m", "x")
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"error: {message}")


def test_an_undecodable_value_is_printed_unchanged_with_the_reason(cli: Cli, topic: str, client: pulsar.Client) -> None:
    cli("produce", topic, "--schema", AVRO, "-m", '{"id": 7}')
    client.create_producer(topic).send(b"no schema")
    client.create_producer(topic, schema=_Avro()).send(b"")
    found = lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))
    assert [one["value"] for one in found] == [{"id": 7, "note": None}, "no schema", ""]
    assert found[2]["error"].startswith("schema version 0: the bytes do not match the schema")


@pytest.mark.parametrize("command", ["consume", "read"])
def test_messages_of_a_schema_that_was_deleted_are_printed_unchanged_with_the_reason(
    cli: Cli, topic: str, command: str
) -> None:
    cli("produce", topic, "--schema", AVRO, "-m", '{"id": 7}')
    assert cli("schemas", "delete", topic).exit_code == 0
    start = ("-p", "Earliest") if command == "consume" else ("-m", "earliest")
    (found,) = lines(cli(command, topic, *start, "-e", "--schema", "auto", "-o", "jsonl"))
    assert (found["value"], found["error"].partition(":")[0]) == ("\x0e\0", "schema version 0")


class _Avro(pulsar.schema.Schema):  # type: ignore[misc]  # the client ships no types
    """Uploads the schema of the orders and sends any bytes."""

    def __init__(self) -> None:
        import _pulsar

        super().__init__(bytes, _pulsar.SchemaType.AVRO, ORDER, "AVRO")

    def encode(self, obj: bytes) -> bytes:
        return obj


def test_protobuf_is_decoded_by_its_descriptor(cli: Cli, topic: str, client: pulsar.Client) -> None:
    message = Struct()
    message["a"] = 1
    client.create_producer(topic, schema=ProtobufNativeSchema(Struct)).send(message)
    assert lines(consumed(cli, topic, "--schema", "auto", "-o", "jsonl"))[0]["value"] == {"a": 1}


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("BOOLEAN", b"\1", True),
        ("INT8", b"\xff", -1),
        ("INT16", b"\1\0", 256),
        ("INT32", b"\0\0\0\7", 7),
        ("INT64", b"\xff" * 8, -1),
        ("FLOAT", b"\x3f\x80\0\0", 1.0),
        ("DOUBLE", b"\x3f\xf0\0\0\0\0\0\0", 1.0),
        ("TIMESTAMP", b"\0\0\0\0\0\0\3\xe8", 1000),
    ],
)
def test_plain_types_are_decoded_as_java_writes_them(kind: str, data: bytes, expected: Any) -> None:
    decode = decoder_of({"type": kind, "schema": "", "properties": {}})
    assert decode is not None
    assert decode(data) == expected
    with pytest.raises(DoesNotFit):
        decode(data + b"x")


def test_a_key_value_pair_is_decoded_part_by_part() -> None:
    types = {"key.schema.type": "STRING", "value.schema.type": "JSON"}
    schema = {"key": "", "value": ORDER}
    inline = decoder_of({"type": "KEY_VALUE", "schema": schema, "properties": {**types, "kv.encoding.type": "INLINE"}})
    assert inline is not None
    assert inline(b'\0\0\0\1k\0\0\0\x08{"id":7}') == {"key": "k", "value": {"id": 7}}
    assert inline(b"\xff\xff\xff\xff\xff\xff\xff\xff") == {"key": None, "value": None}
    with pytest.raises(DoesNotFit):
        inline(b"\0\0")
    with pytest.raises(DoesNotFit, match="the sizes of key and value do not match the bytes"):
        inline(b"\0\0\0\1k\0\0\0\1")


def test_a_separated_pair_has_the_key_of_its_message() -> None:
    types = {"key.schema.type": "INT32", "value.schema.type": "JSON", "kv.encoding.type": "SEPARATED"}
    info = {"type": "KEY_VALUE", "schema": {"key": "", "value": ORDER}, "properties": types}
    decode = SchemaDecoder(lambda topic, version: {"schemaInfo": info})
    shown = decode(SampleRecord(key=b"\0\0\0\7", value=b'{"id":7}', schema_version=bytes(8)))
    assert json.loads(shown.value or b"") == {"key": 7, "value": {"id": 7}}
    shown = decode(SampleRecord(key=None, value=b'{"id":7}', schema_version=bytes(8)))
    assert json.loads(shown.value or b"") == {"key": None, "value": {"id": 7}}


UNION = ["null", "int", "string", {"type": "record", "name": "R", "fields": [{"name": "x", "type": "bytes"}]}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("null", None),
        ("7", 7),
        ('{"int": 7}', 7),
        ('{"string": "a"}', "a"),
        ('{"x": "\\u00ff"}', {"x": "\xff"}),
        ('{"R": {"x": ""}}', {"x": ""}),
    ],
)
def test_a_union_can_be_written_with_or_without_its_type(written: str, read: Any) -> None:
    codec = AvroCodec({"type": "record", "name": "A", "fields": [{"name": "u", "type": UNION}]})
    assert codec.decode(codec.encode(f'{{"u": {written}}}'.encode())) == {"u": read}


EVERYTHING = {
    "type": "record",
    "name": "All",
    "fields": [
        {"name": "i", "type": "int"},
        {"name": "s", "type": "string"},
        {"name": "d", "type": "double"},
        {"name": "b", "type": "bytes"},
        {"name": "f", "type": {"type": "fixed", "name": "F", "size": 2}},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["X", "Y"]}},
        {"name": "l", "type": {"type": "array", "items": "boolean"}},
        {"name": "m", "type": {"type": "map", "values": "long"}},
        {"name": "next", "type": ["null", "All"]},
    ],
}
LATIN = st.text(st.characters(max_codepoint=255))


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none(),
        lambda inner: st.fixed_dictionaries(
            {
                "i": st.integers(-(2**31), 2**31 - 1),
                "s": st.text(st.characters(exclude_categories=["Cs"])),
                "d": st.floats(allow_nan=False, allow_infinity=False),
                "b": LATIN,
                "f": st.text(st.characters(max_codepoint=255), min_size=2, max_size=2),
                "e": st.sampled_from(["X", "Y"]),
                "l": st.lists(st.booleans()),
                "m": st.dictionaries(st.text("abc"), st.integers(-(2**63), 2**63 - 1)),
                "next": inner,
            }
        ),
        max_leaves=3,
    ).filter(lambda value: value is not None)
)
def test_an_encoded_value_is_decoded_to_itself(value: Any) -> None:
    codec = AvroCodec(EVERYTHING)
    assert codec.decode(codec.encode(json.dumps(value).encode())) == value


PRICED = {
    "type": "record",
    "name": "Priced",
    "fields": [
        {"name": "amount", "type": "double"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "raw", "type": "bytes", "default": ""},
    ],
}


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ('{"amount":"no"}', "value.amount is 'no', not a number"),
        ('{"amount":1,"other":2}', "value has no field 'other'"),
        ("{}", "value.amount is missing"),
        ('{"amount":1,"note":{"string":"a"}}', "value.note is {'string': 'a'}, not one of null, string"),
        ('{"amount":NaN}', "it is not JSON: NaN is not a number in JSON"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[]", "value is [], not an object"),
    ],
)
@pytest.mark.parametrize("schema", ["json", "auto"])
def test_json_must_match_its_schema(
    cli: Cli, tmp_path: Path, topic: str, schema: str, message: str, problem: str
) -> None:
    definition = tmp_path / "order.avsc"
    definition.write_text(json.dumps(PRICED))
    if schema == "auto":
        made = cli("schemas", "upload", topic, "--type", "json", "--schema-file", str(definition))
        assert made.exit_code == 0, made.stderr
    words = ("--schema", "auto" if schema == "auto" else f"json:{definition}")
    outcome = cli("produce", topic, *words, "--quiet", stdin=message)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith(f"error: cannot send line 1 of stdin: it does not match the schema: {problem}")


def test_json_that_matches_is_sent_unchanged(cli: Cli, topic: str) -> None:
    message = '{ "amount": 1,  "note": "a", "raw": "AP8=" }'
    assert cli("produce", topic, "--schema", f"json:{json.dumps(PRICED)}", stdin=message).exit_code == 0
    assert cli("consume", topic, "-p", "Earliest", "-F", "%v").stdout == message


def test_invalid_protobuf_is_refused() -> None:
    descriptor = base64.b64encode(_file_set()).decode()
    info = {"fileDescriptorSet": descriptor, "rootMessageTypeName": "google.protobuf.Struct"}
    decode = decoder_of({"type": "PROTOBUF_NATIVE", "schema": info, "properties": {}})
    assert decode is not None
    with pytest.raises(DoesNotFit):
        decode(b"\xff")


@pytest.mark.parametrize("decoder", [decoder_of, shape_of])
def test_protobuf_files_that_import_each_other_describe_nothing(decoder: Callable[[dict[str, Any]], object]) -> None:
    files = [FileDescriptorProto(name=one, dependency=[other]) for one, other in (("a", "b"), ("b", "a"))]
    descriptor = base64.b64encode(FileDescriptorSet(file=files).SerializeToString()).decode()
    info = {"fileDescriptorSet": descriptor, "rootMessageTypeName": "a.A"}
    with pytest.raises(DoesNotFit, match="its files import each other"):
        decoder({"type": "PROTOBUF_NATIVE", "schema": info, "properties": {}})


@pytest.mark.parametrize("definition", [{}, {"fileDescriptorSet": "!", "rootMessageTypeName": "a"}, "text"])
def test_each_message_says_why_its_schema_describes_nothing(definition: Any) -> None:
    schema = {"type": "PROTOBUF_NATIVE", "schema": definition, "properties": {}}
    decode = SchemaDecoder(lambda topic, version: {"schemaInfo": schema})
    shown = decode(SampleRecord(schema_version=bytes(8)))
    assert str(shown.error).startswith("schema version 0: not a Protobuf schema (")


def _file_set() -> bytes:
    return FileDescriptorSet(
        file=[FileDescriptorProto.FromString(Struct.DESCRIPTOR.file.serialized_pb)]
    ).SerializeToString()


@pytest.mark.parametrize("logical", ["date", "timestamp-millis"])
def test_a_date_of_avro_that_python_cannot_have_does_not_fit(logical: str) -> None:
    kind = {"type": "int" if logical == "date" else "long", "logicalType": logical}
    codec = AvroCodec({"type": "record", "name": "R", "fields": [{"name": "at", "type": kind}]})
    largest = b"\xfe\xff\xff\xff\x0f" if logical == "date" else b"\xfe" + b"\xff" * 8 + b"\x01"
    with pytest.raises(DoesNotFit, match="do not match the schema"):
        codec.decode(largest)


@pytest.mark.parametrize("depth", [3_000, 300_000])
def test_an_avro_value_that_is_nested_too_deeply_does_not_fit(depth: int) -> None:
    chain = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
    with pytest.raises(DoesNotFit):
        AvroCodec(chain).decode(b"\x02" * depth + b"\x00")


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_value_of_json_that_is_nested_too_deeply_does_not_fit(depth: int, as_json: bool) -> None:
    chain = {"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}
    codec = AvroCodec(chain, as_json=as_json)
    with pytest.raises(DoesNotFit, match="it is nested too deeply"):
        (codec.checked if as_json else codec.encode)(b'{"next":' * depth + b"null" + b"}" * depth)


@pytest.mark.parametrize("depth", [300, 100_000])
def test_a_definition_that_is_nested_too_deeply_exits_with_2(cli: Cli, tmp_path: Path, depth: int) -> None:
    text = '{"type":' * depth + '"int"' + "}" * depth
    outcome = cli("produce", "t", "--schema", f"json:{text}", "-m", "1")
    assert (outcome.exit_code, outcome.stderr.partition(" levels")[0]) == (
        2,
        "error: the schema definition is not JSON (it is nested more than 200",
    )
    (tmp_path / "deep.json").write_text("[" * depth)
    outcome = cli("schemas", "upload", "t", "-f", str(tmp_path / "deep.json"))
    assert (outcome.exit_code, "it is neither JSON nor YAML" in outcome.stderr) == (2, True)


def test_an_avro_array_of_what_takes_no_bytes_is_not_read() -> None:
    with pytest.raises(DoesNotFit, match="without bytes"):
        AvroCodec({"type": "array", "items": "null"}).decode(b"\x80\x80\x80\x80\x80\x80\x02\x00")
