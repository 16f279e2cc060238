"""Immutable totals and rates, summed over several `Rate`s."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.rates.rate import Rate


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages and bytes so far, and their rates."""

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
        total = cls()
        for rate in rates:
            message_rate, byte_rate = rate.per_second()
            total += cls(rate.messages, rate.bytes, message_rate, byte_rate)
        return total

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.messages + other.messages,
            self.bytes + other.bytes,
            self.message_rate + other.message_rate,
            self.byte_rate + other.byte_rate,
        )


NOTHING = Traffic()
