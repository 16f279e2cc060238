"""Records from the messages that the admin API shows without consuming them.

The response is an entry's payload, with the fields of its metadata in `X-Pulsar-*` headers. So the entry is rebuilt and
then split like any other.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from datetime import datetime
from email.message import Message

from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from pulsarctl.errors import CliError
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.entry_record import EntryRecord
from pulsarctl.values.json_text import parse_json
from pulsarctl.values.names import partition_index

# The header after `X-Pulsar-`, and the field of the metadata.
TEXTS = {
    "producer-name": "producer_name",
    "partition-key": "partition_key",
    "replicated-from": "replicated_from",
    "uuid": "uuid",
}
NUMBERS = {
    "sequence-id": "sequence_id",
    "num-batch-message": "num_messages_in_batch",
    "num-chunks-from-msg": "num_chunks_from_msg",
    "total-chunk-msg-size": "total_chunk_msg_size",
    "chunk-id": "chunk_id",
}
TRUTHS = {
    "partition-key-b64-encoded": "partition_key_b64_encoded",
    "null-partition-key": "null_partition_key",
    "null-value": "null_value",
}
TIMES = {"publish-time": "publish_time", "event-time": "event_time", "deliver-at-time": "deliver_at_time"}
BYTES = {
    "Base64-ordering-key": "ordering_key",
    "Base64-schema-version": "schema_version",
    "Base64-schema-version-b64encoded": "schema_version",
}
PROPERTIES = "PROPERTY"


def peeked_records(topic: str, payload: bytes, headers: Message) -> Iterator[EntryRecord]:
    """The messages of one entry of `topic` (a full name). Raises `DamagedEntry`, or `CliError` for invalid headers."""
    try:
        metadata = _metadata(headers)
        ledger_id, entry_id = (int(part) for part in (_text(headers, "Message-ID") or "").split(":")[:2])
    except (ValueError, Base64Error, AttributeError) as error:
        raise CliError(f"cannot parse the broker's description of a message of {topic}: {error}") from error
    entry = Entry(topic, ledger_id, entry_id, build_entry(metadata, payload), partition=partition_index(topic))
    compression = _text(headers, "compression") or "NONE"  # the broker has decompressed the payload
    for message in entry.messages():
        yield EntryRecord(message._replace(compression=compression), ())


def _metadata(headers: Message) -> MessageMetadata:
    metadata = MessageMetadata(producer_name="", sequence_id=0, publish_time=0)
    for names, value_of in ((TEXTS, str), (NUMBERS, int), (TRUTHS, _truth), (TIMES, _time_ms), (BYTES, b64decode)):
        for name, field in names.items():
            if (text := _text(headers, name)) is not None:
                setattr(metadata, field, value_of(text))
    properties = parse_json(_text(headers, PROPERTIES) or "{}")
    for name, value in properties.items():
        metadata.properties.add(key=name, value=value)
    if _text(headers, "Is-Encrypted") == "true":
        metadata.encryption_keys.add(key="", value=b"")  # the broker does not name the key
    return metadata


def _text(headers: Message, name: str) -> str | None:
    """The text of a header. HTTP uses Latin-1, but brokers send UTF-8."""
    text = headers.get(f"X-Pulsar-{name}")
    return None if text is None else text.encode("latin-1").decode("utf-8", "replace")


def _truth(text: str) -> bool:
    return text == "true"


def _time_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
