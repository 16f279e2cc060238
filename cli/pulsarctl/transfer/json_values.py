"""Values in JSON lines: valid JSON, whatever Python and Arrow make of them.

Maps are objects, times are ISO-8601, bytes are text of the same code points, and decimals are text. JSON has no number
for NaN and the infinities, which are text as in messages of JSON schemas.
"""

import json
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pulsarctl.values.json_text import without_nan


def json_text(value: Any) -> str:
    """The value as one line of JSON."""
    return without_nan(_dumped, value)


def json_values(column: pa.Array) -> Sequence[Any]:
    """What `json_text` takes. Arrow shows a map as a list of pairs, which only the type tells from a list."""
    return [_with_objects(value, column.type) for value in column.to_pylist()]


def _with_objects(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {part.name: _with_objects(value[part.name], part.type) for part in kind}
    if pa.types.is_list(kind):
        return [_with_objects(item, kind.value_type) for item in value]
    if pa.types.is_map(kind):
        return {_name(key): _with_objects(item, kind.item_type) for key, item in value}
    return value


def _name(key: Any) -> str:
    """A key of Protobuf may be a number or a truth value."""
    return key if isinstance(key, str) else json.dumps(key)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
