"""A record in the format of `pulsar-admin topics peek-messages`: ID, times, properties, and a hex dump or the text."""

from collections.abc import Iterator
from contextlib import suppress

from pulsarctl.output.terminal_text import escaped, one_line
from pulsarctl.records.record import Record

BETWEEN = b"-" * 73 + b"\n\n"
_EDGE = "+--------+-------------------------------------------------+----------------+"
_HEAD = (
    "         +-------------------------------------------------+\n"
    "         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n"
)


def peeked_block(record: Record) -> bytes:
    """The ID has no partition. Times are in milliseconds, 0 for none."""
    return _block(record, _hex_dump(record.value or b""))


def readable_block(record: Record) -> bytes:
    """The same with a value that is text as text."""
    value = record.value or b""
    return _block(record, _text(value) or _hex_dump(value))


def _block(record: Record, value: str) -> bytes:
    return "".join(f"{line}\n" for line in (*_head(record), value)).encode("utf-8", "replace")


def _text(value: bytes) -> str | None:
    """None for bytes that are not UTF-8 or have control characters other than tabs and line breaks."""
    with suppress(UnicodeDecodeError):
        text = value.decode()
        if escaped(text) == text:
            return text
    return None


def _head(record: Record) -> Iterator[str]:
    if record.batch_index >= 0:
        yield f"Batch Message ID: {record.ledger_id}:{record.entry_id}:{record.batch_index}"
    else:
        yield f"Message ID: {record.ledger_id}:{record.entry_id}"
    yield f"Publish time: {record.publish_time_ms}"
    yield f"Event time: {record.event_time_ms}"
    if record.deliver_at_ms:
        yield f"Deliver at time: {record.deliver_at_ms}"
    if record.properties:
        yield "Properties:"
        yield from (one_line(f"{name}    {value}") for name, value in sorted(record.properties.items()))


def _hex_dump(value: bytes) -> str:
    """Like Netty's `prettyHexDump`, and empty for an empty value."""
    if not value:
        return ""
    rows = [_HEAD + _EDGE]
    for offset in range(0, len(value), 16):
        row = value[offset : offset + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"|{offset:08x}| {row.hex(' '):<47} |{shown:<16}|")
    return "\n".join([*rows, _EDGE])
