"""Avro files: ours, with the types of an export, and those of others, whose columns `column_types` fits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from pulsarctl.transfer.json_values import json_text
from pulsarctl.transfer.portable import TYPES
from pulsarctl.transfer.row_blocks import blocks, text_size


class AvroFile:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        from fastavro.write import Writer

        self._file = open(path, "wb")  # noqa: SIM115  # closed by `close`
        self._writer = Writer(self._file, _AVRO, codec="deflate")

    def write(self, batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist():
            row["properties"] = dict(row["properties"] or ())
            self._writer.write(row)

    def close(self) -> None:
        if not self._file.closed:
            self._writer.flush()
            self._file.close()


def _avro_type(kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        return {"type": "map", "values": "string"}
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros"}
    return {pa.string(): "string", pa.int32(): "int", pa.int64(): "long", pa.bool_(): "boolean", pa.binary(): "bytes"}[
        kind
    ]


_AVRO = {
    "type": "record",
    "name": "Message",
    "namespace": "pulsarctl",
    "fields": [
        {"name": name, "type": ["null", _avro_type(kind)], "default": None}
        if not pa.types.is_map(kind)
        else {"name": name, "type": _avro_type(kind)}
        for name, kind in TYPES.items()
    ],
}


def read_avro(path: Path) -> Iterator[pa.RecordBatch]:
    from pulsarctl.schemas.avro_reading import safe_records

    with open(path, "rb") as file:
        for rows in blocks(map(_with_bytes, safe_records(file)), text_size):
            yield _from_avro(rows)


def _with_bytes(row: Any) -> dict[str, Any]:
    """The value of ours is bytes; that of others may be text or a record."""
    if not isinstance(row, dict):
        raise TypeError("its schema is not a record")
    value = row.get("value")
    if value is not None and not isinstance(value, bytes):
        row["value"] = (value if isinstance(value, str) else json_text(value)).encode()
    return row


def _from_avro(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    names = [name for name in TYPES if any(name in row for row in rows)]
    return pa.RecordBatch.from_pydict({name: _avro_column(name, [row.get(name) for row in rows]) for name in names})


def _avro_column(name: str, values: list[Any]) -> pa.Array:
    """Left in its own type if it does not have ours, or is a number of a time: `column_types` decides what it is."""
    kind = TYPES[name]
    if pa.types.is_map(kind) and not any(isinstance(value, str) for value in values):
        values = [list((value or {}).items()) for value in values]
    if pa.types.is_timestamp(kind) and any(isinstance(value, int | float) for value in values):
        return pa.array(values)
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, TypeError):
        return pa.array(values)
