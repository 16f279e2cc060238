"""A record as the text of pulsar-client and as a line of JSON."""

import json
import math
import struct

import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.output.render import Output
from pulsarctl.records.record import HIDDEN_FROM_CLIENT
from pulsarctl.records.record_output import decoded, record_output
from pulsarctl.values.names import partition_index
from tests.support.sample_record import SampleRecord

BOUNDARY = b"----- got message -----\n"


def shown(output: Output, record: SampleRecord, **details: bool) -> bytes:
    show = record_output(output, None, frozenset(), **details)
    assert show is not None
    return show(record)


def test_text_is_what_pulsar_client_prints() -> None:
    assert shown(Output.TEXT, SampleRecord()) == BOUNDARY + (
        b"publishTime:[1700000000123], eventTime:[0], key:[k], properties:[a=1, b=2], content:hello\n"
    )


def test_in_text_no_key_and_a_tombstone_are_null() -> None:
    assert shown(Output.TEXT, SampleRecord(key=None, value=None, properties={})) == BOUNDARY + (
        b"publishTime:[1700000000123], eventTime:[0], key:[null], properties:[], content:null\n"
    )


def test_text_with_metadata_is_what_pulsar_client_prints() -> None:
    record = SampleRecord(batch_index=-1, event_time_ms=1_700_000_000_123)
    assert shown(Output.TEXT, record, metadata=True) == BOUNDARY + (
        b"publishTime:[1700000000123], eventTime:[1700000000123], key:[k], properties:[a=1, b=2], content:hello, "
        b"event-time:2023-11-14T22:13:20.123Z, message-id:12:34:3, producer-name:standalone-0-1, sequence-id:7, "
        b"replicated-from:null, redelivery-count:2, ordering-key:o, schema-version:\n"
    )


def test_hex_shows_offsets_bytes_and_text() -> None:
    assert shown(Output.TEXT, SampleRecord(value=b"0123456789abcdef\x00\xff"), hexadecimal=True).endswith(
        b"content:\n"
        b"00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef\n"
        b"00000010  00 ff                                            ..\n\n"
    )


def test_json_is_one_line_with_every_field() -> None:
    line = shown(Output.JSONL, SampleRecord())
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert json.loads(line) == {
        "topic": "persistent://public/default/orders-partition-3",
        "partition": 3,
        "messageId": "12:34:3:5",
        "key": "k",
        "orderingKey": "o",
        "value": "hello",
        "schemaVersion": None,
        "properties": {"a": "1", "b": "2"},
        "publishTime": 1_700_000_000_123,
        "eventTime": None,
        "producer": "standalone-0-1",
        "redeliveryCount": 2,
        "size": 5,
        "index": 99,
        "sequenceId": 7,
        "deliverAt": None,
        "replicatedFrom": None,
        "compression": "lz4",
    }


def test_json_keeps_bytes_that_are_not_text() -> None:
    fields = json.loads(shown(Output.JSONL, SampleRecord(key=b"\xff", value=b"\xfe\x00")))
    assert (fields["keyBase64"], fields["valueBase64"]) == ("/w==", "/gA=")
    assert "key" not in fields and "value" not in fields


def test_json_writes_a_tombstone_as_null_and_an_empty_value_as_empty() -> None:
    assert json.loads(shown(Output.JSONL, SampleRecord(value=None)))["value"] is None
    assert json.loads(shown(Output.JSONL, SampleRecord(value=b"")))["value"] == ""


def test_json_writes_text_as_text() -> None:
    assert 'ключ 🔑"'.encode().replace(b'"', b'\\"') in shown(Output.JSONL, SampleRecord(value='ключ 🔑"'.encode()))


def test_json_of_the_official_client_leaves_out_what_it_hides() -> None:
    show = record_output(Output.JSONL, None, HIDDEN_FROM_CLIENT)
    assert show is not None
    assert not {"index", "sequenceId", "compression"} & set(json.loads(show(SampleRecord())))


def test_json_says_what_could_not_be_decoded() -> None:
    assert json.loads(shown(Output.JSONL, SampleRecord(error="odd")))["error"] == "odd"


@pytest.mark.parametrize("output", [Output.TABLE, Output.YAML, Output.NAME])
def test_messages_cannot_be_printed_as_a_table(output: Output) -> None:
    with pytest.raises(UsageProblem, match=f"cannot print messages as {output}"):
        record_output(output, None, frozenset())


def test_hidden_content_prints_nothing() -> None:
    assert record_output(Output.TEXT, None, frozenset(), hide_content=True) is None


@pytest.mark.parametrize(
    ("topic", "partition"),
    [("persistent://a/b/t-partition-12", 12), ("persistent://a/b/t", -1), ("persistent://a/b/t-partition-01", -1)],
)
def test_the_partition_is_in_the_name(topic: str, partition: int) -> None:
    assert partition_index(topic) == partition


@pytest.mark.parametrize(
    ("kind", "data"),
    [("DOUBLE", struct.pack(">d", math.nan)), ("JSON", b"NaN"), ("AVRO", struct.pack("<d", math.nan))],
)
def test_json_has_no_number_for_nan(kind: str, data: bytes) -> None:
    info = {"type": kind, "schema": "double", "properties": {}}
    record = SampleRecord(value=data, schema_version=bytes(8))
    for output, wanted in ((Output.JSONL, b'"value":"NaN"'), (Output.TEXT, b'content:"NaN"')):
        plain = record_output(output, None, frozenset())
        show = decoded(plain, "auto", lambda topic, version: {"schemaInfo": info})
        assert show is not None
        assert wanted in show(record)


def test_half_of_a_character_in_json_is_printed() -> None:
    info = {"type": "JSON", "schema": "", "properties": {}}
    show = decoded(record_output(Output.TEXT, None, frozenset()), "auto", lambda topic, version: {"schemaInfo": info})
    assert show is not None
    for value in (b'"\\ud800"', b'{"a":"\\ud800"}'):
        assert b"?" in show(SampleRecord(value=value, schema_version=bytes(8)))
