"""Arrow batches of messages -> the arguments of sends."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from pulsarctl.tables.writing.payloads import Payloads, payloads
from pulsarctl.tables.writing.send_times import milliseconds
from pulsarctl.transfer.column_types import UNDECODED


class MessageRow(NamedTuple):
    """`source` is the partition that the message was in, -1 for none. `fields` has no null."""

    value: bytes | None
    schema_version: int | None
    source: int
    fields: dict[str, Any]

    @property
    def key(self) -> str | None:
        return self.fields.get("partition_key")


def encoding(batch: pa.RecordBatch, record_schema: str) -> Payloads:
    """The encoding of values as payloads. Raises `UsageProblem` for a type that has no encoding."""
    kind = batch.schema.field("value").type
    return payloads(kind, record_schema if pa.types.is_struct(kind) else "")


def sources(batch: pa.RecordBatch) -> list[int]:
    """The partition of each row where it came from, -1 for none."""
    if "partition" not in batch.schema.names:
        return [-1] * batch.num_rows
    return [-1 if partition is None else partition for partition in batch.column("partition").to_pylist()]


def message_rows(batch: pa.RecordBatch, encoded: Payloads) -> Iterator[MessageRow]:
    names = batch.schema.names
    columns = {_ARGUMENTS[name]: _READERS.get(name, _as_is)(batch.column(name)) for name in _ARGUMENTS if name in names}
    versions = batch.column("schema_version").to_pylist() if "schema_version" in names else [None] * len(batch)
    values = _whole(encoded.encode(batch.column("value")), batch)
    for row, (value, version, source) in enumerate(zip(values, versions, sources(batch), strict=True)):
        fields = {name: found[row] for name, found in columns.items() if found[row] is not None}
        yield MessageRow(value, version, source, fields)


def _whole(values: Sequence[bytes | None], batch: pa.RecordBatch) -> Sequence[bytes | None]:
    """With the bytes of what the export could not decode; without them, it would delete its key."""
    if UNDECODED not in batch.schema.names:
        return values
    undecoded = batch.column(UNDECODED).to_pylist()
    return [value if raw is None else raw for value, raw in zip(values, undecoded, strict=True)]


def _as_is(column: pa.Array) -> Sequence[Any]:
    return column.to_pylist()  # type: ignore[no-any-return]  # pyarrow ships no types


def _texts(column: pa.Array) -> Sequence[str | None]:
    return [None if key is None else key.decode("utf-8", "surrogateescape") for key in column.to_pylist()]


def _properties(column: pa.Array) -> Sequence[dict[str, str] | None]:
    return [None if found is None else {key: value or "" for key, value in found} for found in column.to_pylist()]


_ARGUMENTS = {
    "key": "partition_key",
    "properties": "properties",
    "ordering_key": "ordering_key",
    "event_time": "event_timestamp",
    "deliver_at": "deliver_at",
}
_READERS: dict[str, Callable[[pa.Array], Sequence[Any]]] = {
    "properties": _properties,
    "ordering_key": _texts,
    "event_time": partial(milliseconds, name="event_time"),
    "deliver_at": partial(milliseconds, name="deliver_at"),
}
COLUMNS = ("value", "schema_version", "partition", *_ARGUMENTS)
"""What is read of a batch."""
