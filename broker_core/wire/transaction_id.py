"""The ID of a transaction, as commands and entries name it."""

from __future__ import annotations

from typing import Any, NamedTuple


class TransactionId(NamedTuple):
    """`most` is the transaction coordinator, `least` the transaction among its own."""

    most: int
    least: int

    def __str__(self) -> str:
        return f"({self.most},{self.least})"

    @classmethod
    def of(cls, command: Any) -> TransactionId | None:
        """The transaction of a SEND, or None without one: no transaction of this broker has an ID of zeros."""
        if command.txnid_most_bits or command.txnid_least_bits:
            return cls(command.txnid_most_bits, command.txnid_least_bits)
        return None
