"""What is known about the values of one column. Tallies of parts merge."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pulsarctl.backlog.heavy_hitters import DistinctCount, HeavyHitters
from pulsarctl.profiling.quantiles import QuantileSketch
from pulsarctl.sql.printed import plain_values

SHOWN_CHARACTERS = 200  # of a frequent value; longer ones are told apart by their beginning


@dataclass(slots=True)
class ColumnTally:
    """`low` and `high` are values of JSON. `numbers` are those of numbers, and milliseconds of times."""

    type: pa.DataType
    rows: int = 0
    nulls: int = 0
    low: Any = None
    high: Any = None
    total: float = 0.0
    numbers: QuantileSketch = field(default_factory=QuantileSketch)
    frequent: HeavyHitters = field(default_factory=HeavyHitters)
    distinct: DistinctCount = field(default_factory=DistinctCount)

    @property
    def values(self) -> int:
        return self.rows - self.nulls

    def add(self, array: pa.Array) -> None:
        self.rows += len(array)
        self.nulls += array.null_count
        known = array.drop_null()
        if not len(known):
            return
        self._add_texts(known)
        if is_ordered(self.type):
            self._add_span(known)
        if is_number(self.type) or pa.types.is_timestamp(self.type):
            self._add_numbers(known)

    def merge(self, other: "ColumnTally") -> None:
        self.rows += other.rows
        self.nulls += other.nulls
        self._extend(other.low, other.high)
        self.total += other.total
        self.numbers.merge(other.numbers)
        self.frequent.merge(other.frequent)
        self.distinct.merge(other.distinct)

    def _add_texts(self, known: pa.Array) -> None:
        counted = pc.value_counts(known)
        texts = [_text(value) for value in plain_values(counted.field("values"))]
        self.distinct.add(texts)
        shown = [text[:SHOWN_CHARACTERS] for text in texts]
        self.frequent.add(zip(shown, counted.field("counts").to_pylist(), strict=True))

    def _add_span(self, known: pa.Array) -> None:
        span = pc.min_max(known.filter(pc.is_finite(known)) if pa.types.is_floating(self.type) else known)
        low, high = (next(plain_values(pa.array([span[end].as_py()], self.type))) for end in ("min", "max"))
        self._extend(low, high)

    def _extend(self, low: Any, high: Any) -> None:
        if low is not None:
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    def _add_numbers(self, known: pa.Array) -> None:
        if pa.types.is_timestamp(self.type):
            known = pc.divide(known.cast(pa.int64()), 1000)  # from microseconds
        if not pa.types.is_integer(known.type):
            known = known.cast(pa.float64(), safe=False)
        numbers = known.to_numpy(zero_copy_only=False)
        finite = numbers[np.isfinite(numbers)]
        self.total += math.fsum(finite)
        self.numbers.add(finite)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_ordered(kind: pa.DataType) -> bool:
    return is_number(kind) or pa.types.is_temporal(kind) or bool(pa.types.is_string(kind))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
