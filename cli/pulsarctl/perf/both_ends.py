"""The end of a run with both sides: when all acknowledged messages have arrived, or a deadline after the sending."""

import time

from pulsarctl.perf.running import Stop
from pulsarctl.perf.sending import Sender
from pulsarctl.perf.tally import Tally


class BothEnds:
    """`send` is the sender's work for at most `send_seconds` (0: no limit), while the receivers go on."""

    def __init__(
        self, sender: Sender, produced: Tally, consumed: Tally, wait_seconds: float, send_seconds: float
    ) -> None:
        self._sender = sender
        self._produced = produced
        self._consumed = consumed
        self._wait_seconds = wait_seconds
        self._send_seconds = send_seconds
        self._sent_at: float | None = None

    def send(self, stop: Stop) -> None:
        try:
            self._sender(stop, self._send_seconds)
        finally:
            self._sent_at = time.monotonic()

    def is_over(self) -> bool:
        if self._sent_at is None:
            return False
        has_all = self._consumed.messages >= self._produced.messages
        return has_all or time.monotonic() - self._sent_at > self._wait_seconds
