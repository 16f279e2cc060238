"""Both sides of one run, which ends when all acknowledged messages have arrived, or at a deadline after the sending."""

import time
from collections.abc import Sequence
from typing import Any

from pulsarctl.perf.load import Load
from pulsarctl.perf.receiving import ConnectedSource, Quota, Receiver, by_stamp
from pulsarctl.perf.running import Side, Stop
from pulsarctl.perf.sending import Sender
from pulsarctl.perf.stamps import Stamps
from pulsarctl.perf.tally import Tally


class BothEnds:
    """The sender works for at most `send_seconds` (0: no limit), while the receivers go on."""

    def __init__(self, producers: Sequence[Any], load: Load, wait_seconds: float, send_seconds: float) -> None:
        """`producers` are the official client's."""
        self._load = load
        self._produced = Tally()
        self._consumed = Tally()
        self._sender = Sender(producers, load, self._produced)
        self._wait_seconds = wait_seconds
        self._send_seconds = send_seconds
        self._sent_at: float | None = None

    def sides(self, sources: Sequence[ConnectedSource], stamps: Stamps) -> list[Side]:
        """The two sides of the run."""
        count = by_stamp(self._consumed, stamps, time.perf_counter_ns() + round(self._load.warm_up_seconds * 1e9))
        receivers = [
            Receiver(source, count, Quota(0), 0, is_connected, self._consumed) for source, is_connected in sources
        ]
        return [
            Side("produce", [self._send], self._produced, self._load.rate),
            Side("consume", receivers, self._consumed, self._load.rate),
        ]

    def is_over(self) -> bool:
        if self._sent_at is None:
            return False
        has_all = self._consumed.messages >= self._produced.messages
        return has_all or time.monotonic() - self._sent_at > self._wait_seconds

    def _send(self, stop: Stop) -> None:
        try:
            self._sender(stop, self._send_seconds)
        finally:
            self._sent_at = time.monotonic()
