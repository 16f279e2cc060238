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


def number(kind: type[Int32 | Int64 | Real], found: Any) -> int | float:
    """A `dec_hook` of msgspec for the types above."""
    return _real(found) if issubclass(kind, Real) else _whole(kind, found)


def _real(found: Any) -> Real:
    fits = found in Real.words if isinstance(found, str) else isinstance(found, int | float) and math.isfinite(found)
    if isinstance(found, bool) or not fits:  # 1e999 is not finite as a float
        raise ValueError(f"Expected `float`, got `{found if isinstance(found, float) else type(found).__name__}`")
    return Real(found)


def _whole(kind: type[Int32 | Int64], found: Any) -> int:
    exact = Decimal(found.text) if isinstance(found, Digits) else found
    if isinstance(found, bool) or not isinstance(exact, int | Decimal):
        raise ValueError(f"Expected `int`, got `{type(found).__name__}`")
    if not -kind.limit <= exact < kind.limit or int(exact) != exact:  # in this order: 1e999999999 has many digits
        raise ValueError(f"Expected `int` of {kind.limit.bit_length()} bits, got {exact}")
    return kind(exact)
