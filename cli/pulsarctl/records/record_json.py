"""A record as one line of JSON: what `-o jsonl` prints.

A key or value that is not UTF-8 becomes `keyBase64` or `valueBase64`, so that no byte is lost. A tombstone has
`"value": null`, and a value decoded by its schema is a JSON value. Fields that the source does not know are absent.
"""

import json
from base64 import b64encode
from typing import Any

from pulsarctl.records.decoded_record import DecodedRecord
from pulsarctl.records.record import Record, message_id
from pulsarctl.values.json_text import without_nan

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False, allow_nan=False).encode


def client_line(record: Record) -> bytes:
    """The line of a record that the official client delivered, without its newline."""
    return without_nan(_encode, _shown(record)).encode("utf-8", "replace")


def raw_line(record: Record) -> bytes:
    """The line of a record from a raw entry, including the fields that the official client hides."""
    fields = _shown(record)
    fields["index"] = record.index
    fields["sequenceId"] = record.sequence_id
    fields["deliverAt"] = record.deliver_at_ms or None
    fields["replicatedFrom"] = record.replicated_from
    fields["compression"] = record.compression
    return without_nan(_encode, fields).encode("utf-8", "replace")


def _shown(record: Record) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "messageId": message_id(record),
    }
    key, value = record.key, record.value
    _put_bytes(fields, "key", key)
    if record.ordering_key:
        _put_bytes(fields, "orderingKey", record.ordering_key)
    if isinstance(record, DecodedRecord) and record.content is not None:
        fields["value"] = record.content
    else:
        _put_bytes(fields, "value", value)
    fields["schemaVersion"] = record.schema_version.hex() or None
    fields["properties"] = dict(record.properties)
    fields["publishTime"] = record.publish_time_ms
    fields["eventTime"] = record.event_time_ms or None
    fields["producer"] = record.producer_name
    fields["redeliveryCount"] = record.redelivery_count
    fields["size"] = 0 if value is None else len(value)
    if record.error:
        fields["error"] = record.error
    return fields


def _put_bytes(fields: dict[str, Any], name: str, data: bytes | None) -> None:
    if data is None:
        fields[name] = None
        return
    try:
        fields[name] = data.decode()
    except UnicodeDecodeError:
        fields[name + "Base64"] = b64encode(data).decode("ascii")
