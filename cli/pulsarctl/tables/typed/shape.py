"""One schema as a table sees it: an Arrow type, and a decoder of payloads that gives values of this type."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from pulsarctl.errors import DoesNotFit

FIELDS_MAX = 5_000

Decode = Callable[[bytes], Any]
"""Raises `DoesNotFit`."""

Convert = Callable[[Any], Any]


class ColumnType(NamedTuple):
    arrow: pa.DataType
    decode: Decode
    is_raw: bool = False  # no schema: bytes stay bytes


class Fields:
    """Counts the fields of a type. Records that contain others twice have as many as memory, with a line for each."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, count: int) -> None:
        """Raises `DoesNotFit`."""
        self._count += count
        if self._count > FIELDS_MAX:
            raise DoesNotFit(f"its type has more than {FIELDS_MAX} fields")
