"""Numbers of JSON that msgspec refuses: 7.0 or 1e2 in a field of integers, and "NaN" or "Infinity" in one of floats.

Some clients write whole numbers with a point or an exponent. JSON has no number for NaN, so Java's clients write text.
The types here accept both, and keep all digits. They cost a call for each number, so they are only for messages that
were refused.
"""

import math
from decimal import Decimal
from typing import Any


class Digits(float):
    """A number with a point or an exponent. As a float it has lost digits that an integer keeps."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class Int32(int):
    limit = 1 << 31


class Int64(int):
    limit = 1 << 63


class Real(float):
    words = ("NaN", "Infinity", "-Infinity")


def number(kind: type[Int32 | Int64 | Real], value: Any) -> int | float:
    """A `dec_hook` of msgspec for the types above."""
    return _real(value) if issubclass(kind, Real) else _whole(kind, value)


def _real(value: Any) -> Real:
    fits = value in Real.words if isinstance(value, str) else isinstance(value, int | float) and math.isfinite(value)
    if isinstance(value, bool) or not fits:  # 1e999 is not finite as a float
        raise ValueError(f"Expected `float`, got `{value if isinstance(value, float) else type(value).__name__}`")
    return Real(value)


def _whole(kind: type[Int32 | Int64], value: Any) -> int:
    exact = Decimal(value.text) if isinstance(value, Digits) else value
    if isinstance(value, bool) or not isinstance(exact, int | Decimal):
        raise ValueError(f"Expected `int`, got `{type(value).__name__}`")
    if not -kind.limit <= exact < kind.limit or int(exact) != exact:  # in this order: 1e999999999 has many digits
        raise ValueError(f"Expected `int` of {kind.limit.bit_length()} bits, got {exact}")
    return kind(exact)
