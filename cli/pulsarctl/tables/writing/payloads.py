"""The columns of rows that are written, the payloads of `value`, and the schema that the producer announces.

A struct becomes a record: in JSON, or in Avro's binary encoding. Both announce an Avro definition, as Pulsar does.
"""

import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa

from pulsarctl.errors import UsageProblem

COLUMNS = {
    "value": "binary, string, or a struct; the only required column",
    "key": "string or binary",
    "ordering_key": "binary or string",
    "properties": "map of string to string",
    "event_time": "timestamp",
    "deliver_at": "timestamp",
}
_PRIMITIVES: dict[pa.DataType, Any] = {
    pa.bool_(): "boolean",
    pa.int8(): "int",
    pa.int16(): "int",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
}
_EPOCH_DAY = date(1970, 1, 1)

Encode = Callable[[pa.Array], Sequence[bytes | None]]


class Payloads(NamedTuple):
    """`schema_type` and `definition` as in Pulsar; BYTES: the producer announces none."""

    schema_type: str
    definition: Any
    encode: Encode


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
    definition = _definition(kind, "value", is_root=True)
    if schema == "json":
        return Payloads("JSON", definition, _as_json)
    if schema != "avro":
        raise UsageProblem(f"cannot write a struct with schema={schema}", hint="use schema=json or schema=avro")
    parsed = fastavro.parse_schema(definition)

    def encode(column: pa.Array) -> Sequence[bytes | None]:
        rows = (_nested(row, column.type, _as_it_is) for row in column.to_pylist())
        return [None if row is None else _avro(parsed, row) for row in rows]

    return Payloads("AVRO", definition, encode)


def _avro(parsed: Any, row: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, row)
    return out.getvalue()


def _as_json(column: pa.Array) -> Sequence[bytes | None]:
    rows = (_nested(row, column.type, _plain) for row in column.to_pylist())
    return [None if row is None else json.dumps(row, ensure_ascii=False).encode() for row in rows]


def _nested(value: Any, kind: pa.DataType, leaf: Callable[[Any], Any]) -> Any:
    """Arrow shows a map as a list of pairs, which only the type tells from a list."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {part.name: _nested(value[part.name], part.type, leaf) for part in kind}
    if pa.types.is_list(kind):
        return [_nested(one, kind.value_type, leaf) for one in value]
    if pa.types.is_map(kind):
        return {key: _nested(one, kind.item_type, leaf) for key, one in value}
    return leaf(value)


def _as_it_is(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """As Pulsar's JSON schemas have it: times are numbers, and bytes are text of the same code points."""
    if isinstance(value, datetime):  # without a zone, it is not that of this machine
        return round((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(value, date):
        return (value - _EPOCH_DAY).days
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _definition(kind: pa.DataType, path: str, *, is_root: bool = False) -> Any:
    """Every field but the root may be null."""
    found = _type(kind, path)
    return found if is_root else ["null", found]


def _type(kind: pa.DataType, path: str) -> Any:
    if pa.types.is_struct(kind):
        fields = [
            {"name": part.name, "type": _definition(part.type, f"{path}_{part.name}"), "default": None} for part in kind
        ]
        return {"type": "record", "name": path, "fields": fields}
    if pa.types.is_list(kind):
        return {"type": "array", "items": _definition(kind.value_type, f"{path}_item")}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": _definition(kind.item_type, f"{path}_item")}
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-millis" if kind.tz else "local-timestamp-millis"}
    if kind not in _PRIMITIVES:
        raise UsageProblem(f"cannot write {path.replace('_', '.')}: {kind} has no Avro type", hint="cast it to string")
    return _PRIMITIVES[kind]
