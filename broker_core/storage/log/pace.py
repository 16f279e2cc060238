"""How long the sync thread collects records before it takes the next group.

A cycle (write, sync, receipts) costs nearly the same for one record and for a hundred, for the broker and for the
client that each receipt wakes. So a large group is followed by a pause. A message that comes alone never waits for it.

While a stream of batches keeps coming, the pause grows tenfold: no client waits for a single receipt then. Only what
arrives during a sync proves a stream, for a client that waits for each receipt sends nothing meanwhile, however large
its messages. Small entries never count as such a stream: a sender of single messages may be catching up.
"""

STREAM_BYTES_PER_SECOND = 20_000_000
STREAM_BYTES_PER_ENTRY = 8 << 10
GROWN = 10  # the longest pause, in multiples of the usual one
# A group with this number of entries or bytes is followed by the whole pause, a smaller one by a share: at moderate
# rates the share stays small, and so does the delay.
FULL_ENTRIES = 16
FULL_BYTES = 64 << 10
PACED_FILL = 0.25  # no pause for a smaller share
SHRINK = 0.9  # where nothing proves that the stream goes on


class Pace:
    """Times are in seconds."""

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self._usual = self._full = longest / GROWN
        self._last = 0.0

    def pause(self, entries: int, size: int, now: float, *, waiting: bool) -> float:
        """The pause after a group that was just synced; `waiting`: more arrived during its sync."""
        elapsed, self._last = now - self._last, now
        if size < STREAM_BYTES_PER_ENTRY * entries or size < STREAM_BYTES_PER_SECOND * elapsed:
            self._full = self._usual
        elif waiting:
            self._full = min(self._longest, 2 * self._full)
        else:
            self._full = max(self._usual, SHRINK * self._full)
        fill = max(entries / FULL_ENTRIES, size / FULL_BYTES)
        return self._full * min(fill, 1.0) if fill >= PACED_FILL else 0.0
