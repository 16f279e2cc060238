"""The columns of rows that are written, the payloads of `value`, and the schema that the producer announces.

A struct becomes a record: in JSON, or in Avro's binary encoding. Both announce an Avro definition, as Pulsar does.
"""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import fastavro
import msgspec
import pyarrow as pa

from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import UsageProblem
from pulsarctl.tables.writing.struct_rows import struct_rows

COLUMNS = {
    "value": "binary, string, or a struct; the only required column",
    "key": "string or binary",
    "ordering_key": "binary or string",
    "properties": "map of string to string",
    "event_time": "timestamp",
    "deliver_at": "timestamp",
}
Encode = Callable[[pa.Array], Sequence[bytes | None]]


class Payloads(NamedTuple):
    """`schema_type` and `definition` as in Pulsar; BYTES: the producer announces none."""

    schema_type: str
    definition: Any
    encode: Encode

    @property
    def schema(self) -> SchemaInfo | None:
        """What a producer of ours announces: the text of the official client, since another one is another version."""
        if self.schema_type == "BYTES":
            return None
        return SchemaInfo(self.schema_type, json.dumps(self.definition, indent=True))


def check_columns(schema: pa.Schema, option: str) -> None:
    """Raises `UsageProblem` for a table that cannot be written."""
    unknown = [name for name in schema.names if name not in COLUMNS]
    if unknown or "value" not in schema.names:
        raise UsageProblem(
            f"cannot write column {unknown[0]}" if unknown else "cannot write rows without a column value",
            hint=f"select only {', '.join(COLUMNS)}",
        )
    payloads(schema.field("value").type, option)


def payloads(kind: pa.DataType, schema: str) -> Payloads:
    """`schema` is the option. Raises `UsageProblem` for a type that it cannot encode."""
    if pa.types.is_struct(kind):
        return _records(kind, schema or "json")
    if pa.types.is_binary(kind) and schema in ("", "none"):
        return Payloads("BYTES", None, lambda column: column.to_pylist())
    if pa.types.is_string(kind) and schema in ("", "none", "string"):
        name = "STRING" if schema == "string" else "BYTES"
        return Payloads(name, None, lambda column: column.cast(pa.binary()).to_pylist())
    raise UsageProblem(
        f"cannot write the column value: its type is {kind}, and the option schema is {schema or 'not set'}",
        hint="make it binary or string, for example with to_json, or a struct with schema=json or schema=avro",
    )


def _records(kind: pa.DataType, schema: str) -> Payloads:
    if schema not in ("json", "avro"):
        raise UsageProblem(f"cannot write a struct with schema={schema}", hint="use schema=json or schema=avro")
    definition, rows = struct_rows(kind, as_json=schema == "json")
    if schema == "json":
        return Payloads("JSON", definition, lambda column: _encoded(msgspec.json.encode, rows(column)))
    parsed = fastavro.parse_schema(definition)
    return Payloads("AVRO", definition, lambda column: _encoded(lambda row: _avro(parsed, row), rows(column)))


def _encoded(encode: Callable[[Any], bytes], rows: Sequence[Any]) -> Sequence[bytes | None]:
    return [None if row is None else encode(row) for row in rows]


def _avro(parsed: Any, row: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, row)
    return out.getvalue()
