"""One schema as a table sees it: an Arrow type, and a decoder of payloads that gives values of this type."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

Decode = Callable[[bytes], Any]
"""Raises `DoesNotFit`."""

Convert = Callable[[Any], Any]


class ColumnType(NamedTuple):
    arrow: pa.DataType
    decode: Decode
    is_raw: bool = False  # no schema: bytes stay bytes
