"""Immutable totals and rates, summed over several `Rate`s."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_core.rates.rate import Rate


class Traffic(NamedTuple):
    """Messages and bytes so far, and their rates. A sum of two adds each of these."""

    messages: int = 0
    bytes: int = 0
    message_rate: float = 0.0
    byte_rate: float = 0.0

    @property
    def average_size(self) -> float:
        """Bytes per message at the current rates; 0 if there is no traffic."""
        return self.byte_rate / self.message_rate if self.message_rate else 0.0

    @classmethod
    def of(cls, rates: Iterable[Rate]) -> Traffic:
        return cls(*summed(rates))

    def __add__(self, other: Traffic) -> Traffic:  # type: ignore[override]  # a tuple's would append
        return Traffic(
            self.messages + other.messages,
            self.bytes + other.bytes,
            self.message_rate + other.message_rate,
            self.byte_rate + other.byte_rate,
        )


def summed(rates: Iterable[Rate]) -> tuple[int, int, float, float]:
    """The fields of `Traffic.of`, for reports about thousands of topics."""
    messages, size, message_rate, byte_rate = 0, 0, 0.0, 0.0
    for rate in rates:
        if rate.messages or rate.bytes:
            messages, size = messages + rate.messages, size + rate.bytes
            each_second, bytes_each_second = rate.per_second()
            message_rate, byte_rate = message_rate + each_second, byte_rate + bytes_each_second
    return messages, size, message_rate, byte_rate


NOTHING = Traffic()
