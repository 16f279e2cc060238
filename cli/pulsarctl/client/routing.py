"""The partition of a message, as Pulsar's Java tools choose it. Pure.

A key always maps to the same partition, which is that of `pulsar-client produce` and of every Java producer
(`JavaStringHash`). The official Python client uses the hash of its C++ library instead, and a key on two partitions has
neither an order nor a last value. Messages without a key go to one partition after the other, one batch each.
docs/reference/protocol.md "Partition routing" states the rule.
"""

import struct
from functools import lru_cache


@lru_cache(maxsize=10_000)
def java_string_hash(text: str) -> int:
    """`String.hashCode() & Integer.MAX_VALUE`, over UTF-16 code units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for unit in struct.unpack(f">{len(units) // 2}H", units):
        value = (31 * value + unit) & 0xFFFF_FFFF
    return value & 0x7FFF_FFFF


class Router:
    """`turn_messages` is the number of messages without a key that go to a partition before the next one."""

    def __init__(self, partitions: int, turn_messages: int, first: int = 0) -> None:
        self._partitions = partitions
        self._turn_messages = turn_messages
        self._current = first % partitions
        self._left = turn_messages

    def partition_for(self, key: str | None) -> int:
        if key:
            return java_string_hash(key) % self._partitions
        if self._left == 0:
            self._left = self._turn_messages
            self._current = (self._current + 1) % self._partitions
        self._left -= 1
        return self._current
