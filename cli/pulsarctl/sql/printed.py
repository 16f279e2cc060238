"""Results as values of JSON and as text, from both engines.

Times are ISO-8601 in UTC. Bytes are text if they are UTF-8, otherwise base64. Decimals without a fraction are integers,
and text if they have more digits than a double.
"""

import base64
import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

Plain = Callable[[Any], Any]


def with_names(table: pa.Table) -> pa.Table:
    """Adds numbers to repeated names of columns, because JSON and Parquet need different names."""
    names: list[str] = []
    for name in table.column_names:
        number, given = 2, name
        while given in names:
            given, number = f"{name}_{number}", number + 1
        names.append(given)
    return table.rename_columns(names)


def json_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    plain = [_plain(field.type) for field in table.schema]
    for row in _rows(table):
        yield dict(zip(table.column_names, (make(each) for make, each in zip(plain, row, strict=True)), strict=True))


def plain_values(array: pa.Array) -> Iterator[Any]:
    """The values of one column as JSON has them."""
    return map(_plain(array.type), array.to_pylist())


def text_rows(table: pa.Table) -> Iterator[list[str | None]]:
    """For a terminal and for CSV."""
    plain = [_plain(field.type) for field in table.schema]
    for row in _rows(table):
        yield [_text(make, each) for make, each in zip(plain, row, strict=True)]


def csv_text(table: pa.Table) -> Iterator[str]:
    """A heading and the rows; NULL is an empty cell."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in text_rows(table):
        writer.writerow(row)
        if file.tell() > 1 << 16:
            yield file.getvalue()
            file.seek(0)
            file.truncate()
    yield file.getvalue()


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _plain(kind: pa.DataType) -> Plain:
    """What makes a JSON value of a value that is not NULL."""
    of = _plain_of(kind)
    return lambda value: None if value is None else of(value)


def _plain_of(kind: pa.DataType) -> Plain:
    if pa.types.is_struct(kind):
        parts = {field.name: _plain(field.type) for field in kind}
        return lambda value: {name: make(value[name]) for name, make in parts.items()}
    if pa.types.is_map(kind):
        key, item = _plain(kind.key_type), _plain(kind.item_type)
        return lambda value: {str(key(name)): item(each) for name, each in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        item = _plain(kind.value_type)
        return lambda value: [item(each) for each in value]
    if pa.types.is_timestamp(kind):
        return lambda value: _time(value, "Z" if kind.tz else "")
    if pa.types.is_decimal(kind):
        return _decimal
    if pa.types.is_floating(kind):
        return lambda value: value if math.isfinite(value) else str(value)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_string(kind):
        return lambda value: value
    return _binary if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else str


def _decimal(value: Decimal) -> int | float | str:
    if value == value.to_integral_value():
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else format(value, "f")


def _time(value: datetime, zone: str) -> str:
    return value.replace(tzinfo=None).isoformat() + zone


def _binary(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _text(make: Plain, value: Any) -> str | None:
    if isinstance(value, Decimal):  # exact, and without the zeros that engines add
        return format(value.normalize(), "f")
    plain = make(value)
    if plain is None or isinstance(plain, str):
        return plain
    return json.dumps(plain, ensure_ascii=False)
