"""The index of a ledger: one point per span of 64 KiB or 1,024 entries, whichever comes first.

Records carry their own tables, so an index point only has to say where a span begins and what lies before it.
A ledger of 50,000 small entries needs about 130 points of 40 bytes: thousands of open ledgers fit into memory,
and a cold read brings in whole spans anyway.

The index of a ledger that is read from its copy in tiered storage has one point per row group; there `offset` counts
the bytes of the entries before it.

`newest` is the newest publish time up to and including the span (a running maximum): the first span whose
`newest` reaches t holds the first entry published at or after t, although publish times need not be in order.
"""

from array import array
from bisect import bisect_left, bisect_right

from broker_core.storage.records.block import column

SPAN_BYTES = 64 << 10
SPAN_ENTRIES = 1024
POINT_SIZE = 5 * 8


class Spans:
    __slots__ = ("bytes_before", "first", "messages_before", "newest", "offset")

    def __init__(self) -> None:
        self.first: array[int] = array("Q")
        self.offset: array[int] = array("Q")
        self.messages_before: array[int] = array("Q")
        self.bytes_before: array[int] = array("Q")
        self.newest: array[int] = array("Q")

    def __len__(self) -> int:
        return len(self.first)

    def add(self, first: int, offset: int, messages_before: int, bytes_before: int, newest_ms: int) -> None:
        """Adds a record at `offset`, with the totals before it in the ledger. Opens a new span if the last is full."""
        newest = self.newest
        if newest and offset - self.offset[-1] < SPAN_BYTES and first - self.first[-1] < SPAN_ENTRIES:
            if newest_ms > newest[-1]:
                newest[-1] = newest_ms
            return
        self.first.append(first)
        self.offset.append(offset)
        self.messages_before.append(messages_before)
        self.bytes_before.append(bytes_before)
        newest.append(newest_ms if not newest or newest_ms > newest[-1] else newest[-1])

    def find(self, entry_id: int) -> int:
        """The span that holds the entry."""
        return bisect_right(self.first, entry_id) - 1

    def at_time(self, publish_time_ms: int) -> int:
        """The first span that holds an entry published at or after the time; `len(self)` when none does."""
        return bisect_left(self.newest, publish_time_ms)

    def at_message(self, number: int) -> int:
        """The span that holds the message with this number, counted from 0 in the ledger."""
        return bisect_right(self.messages_before, number) - 1

    def until(self, start: int, wanted_bytes: int) -> int:
        """The span to stop before, so that [start, stop) is about `wanted_bytes` and at least one span."""
        return max(start + 1, bisect_right(self.offset, self.offset[start] + wanted_bytes) - 1)

    def encode(self) -> bytes:
        columns = (self.first, self.offset, self.messages_before, self.bytes_before, self.newest)
        return b"".join(column("Q", values.tobytes()).tobytes() for values in columns)

    @classmethod
    def decode(cls, data: bytes | memoryview, count: int) -> "Spans":
        spans = cls()
        parts = [column("Q", data[8 * count * i : 8 * count * (i + 1)]) for i in range(5)]
        spans.first, spans.offset, spans.messages_before, spans.bytes_before, spans.newest = parts
        return spans

    @property
    def memory(self) -> int:
        return 400 + POINT_SIZE * len(self.first)
