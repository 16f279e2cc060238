"""Numbers of JSON that msgspec refuses: 7.0 or 1e2 in a field of integers, and "NaN" or "Infinity" in one of floats.

Some clients write whole numbers with a point or an exponent. JSON has no number for NaN, so Java's clients write text.
The types here accept both, and keep all digits. They cost a call for each number, so they are only for messages that
were refused, as those with a bare NaN of Python's clients are.
"""

import math
import re
from decimal import Decimal
from typing import Any

_WORDS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?(?:NaN|Infinity)')


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
    limit = math.inf


class Real32(Real):
    limit = 3.4028235677973366e38  # rounds to infinity


def number(kind: type[Int32 | Int64 | Real], value: Any) -> int | float:
    """A `dec_hook` of msgspec for the types above."""
    return _real(kind, value) if issubclass(kind, Real) else _whole(kind, value)


def _real(kind: type[Real], value: Any) -> Real:
    fits = value in Real.words if isinstance(value, str) else isinstance(value, int | float) and abs(value) < kind.limit
    if isinstance(value, bool) or not fits:  # 1e999 is infinite as a float
        raise ValueError(f"Expected `float`, got `{value if isinstance(value, float) else type(value).__name__}`")
    return kind(value)


def _whole(kind: type[Int32 | Int64], value: Any) -> int:
    exact = Decimal(value.text) if isinstance(value, Digits) else value
    if isinstance(value, bool) or not isinstance(exact, int | Decimal):
        raise ValueError(f"Expected `int`, got `{type(value).__name__}`")
    if not -kind.limit <= exact < kind.limit or int(exact) != exact:  # in this order: 1e999999999 has many digits
        raise ValueError(f"Expected `int` of {kind.limit.bit_length()} bits, got {exact}")
    return kind(exact)


def with_words(data: bytes) -> bytes:
    """JSON with quotes around each NaN or Infinity that has none."""
    return _WORDS.sub(lambda found: found[0] if found[0].startswith(b'"') else b'"%b"' % found[0], data)
