"""Whole numbers of JSON that are written with a point or an exponent, as some clients do: 7.0 or 1e2.

msgspec refuses them in a field of integers. The types here accept them, with all their digits. They cost a call for
each number, so they are only for messages that were refused.
"""

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


def whole(kind: type[Int32 | Int64], found: Any) -> int:
    """A `dec_hook` of msgspec for the types above."""
    number = Decimal(found.text) if isinstance(found, Digits) else found
    if isinstance(found, bool) or not isinstance(number, int | Decimal):
        raise ValueError(f"Expected `int`, got `{type(found).__name__}`")
    if not -kind.limit <= number < kind.limit or int(number) != number:  # in this order: 1e999999999 has many digits
        raise ValueError(f"Expected `int` of {kind.limit.bit_length()} bits, got {number}")
    return kind(number)
