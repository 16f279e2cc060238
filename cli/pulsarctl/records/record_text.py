"""A record in the format of `pulsar-client consume` and `read`, so that scripts for them work unchanged.

The content is the original bytes, whereas pulsar-client replaces invalid UTF-8. Checked against pulsar-client 4.0:
properties are sorted by name, and an absent key or value is `null`.
"""

from datetime import UTC, datetime

from pulsarctl.output.terminal_text import one_line
from pulsarctl.records.record import Record

BOUNDARY = b"----- got message -----\n"


def text_block(record: Record) -> bytes:
    """A boundary line and one line of fields."""
    return _block(record, _content(record.value), b"")


def text_block_with_metadata(record: Record) -> bytes:
    """The format of `--print-metadata`. A field that the source does not know is `null`."""
    sequence = "null" if record.sequence_id is None else str(record.sequence_id)
    trailer = (
        f", event-time:{_instant(record.event_time_ms)}, message-id:{_short_id(record)}"
        f", producer-name:{record.producer_name}, sequence-id:{sequence}"
        f", replicated-from:{record.replicated_from or 'null'}, redelivery-count:{record.redelivery_count}"
        f", ordering-key:{(record.ordering_key or b'').decode('utf-8', 'replace')}"
        f", schema-version:{record.schema_version.hex()}"
    )
    return _block(record, _content(record.value), trailer.encode())


def hex_block(record: Record) -> bytes:
    """The content as a hex dump: offset, sixteen bytes, and their ASCII characters."""
    return _block(record, b"\n" + b"".join(_hex_lines(record.value or b"")), b"")


def _block(record: Record, content: bytes, trailer: bytes) -> bytes:
    properties = one_line(", ".join(f"{name}={value}" for name, value in sorted(record.properties.items())))
    head = f"publishTime:[{record.publish_time_ms}], eventTime:[{record.event_time_ms}], key:["
    key = b"null" if record.key is None else record.key.replace(b"\n", b"\\n")
    middle = f"], properties:[{properties}], content:".encode()
    return b"".join((BOUNDARY, head.encode(), key, middle, content, trailer, b"\n"))


def _content(value: bytes | None) -> bytes:
    return b"null" if value is None else value


def _short_id(record: Record) -> str:
    batch = "" if record.batch_index < 0 else f":{record.batch_index}"
    return f"{record.ledger_id}:{record.entry_id}:{record.partition}{batch}"


def _instant(time_ms: int) -> str:
    """ISO-8601 like Java's `Instant`, with milliseconds only if they are not zero."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{time_ms % 1000:03}Z" if time_ms % 1000 else f"{moment}Z"


def _hex_lines(value: bytes) -> list[bytes]:
    lines = []
    for offset in range(0, len(value), 16):
        row = value[offset : offset + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{offset:08x}  {row.hex(' '):<47}  {shown}\n".encode())
    return lines
