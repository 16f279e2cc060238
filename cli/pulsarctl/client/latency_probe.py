"""The time that a message takes from a producer to a reader, measured with messages of its own."""

import secrets
import time
from typing import TYPE_CHECKING

from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.errors import TimedOut

if TYPE_CHECKING:
    from pulsarctl.client.messaging import Messaging

POLL_MS = 100


class LatencyProbe:
    """Reads without a subscription, so that it leaves nothing on the broker but its topic."""

    def __init__(self, client: "Messaging", topic: str, timeout_seconds: float) -> None:
        self._topic = topic
        self._timeout_seconds = timeout_seconds
        self._reader = client.reader(topic)
        options = PublishOptions(batching=False, send_timeout_ms=max(1, round(timeout_seconds * 1000)))
        self._publisher = client.publisher(topic, options)

    def round_trip_seconds(self) -> float:
        """Raises `TimedOut`, or what publishing raises."""
        mark = secrets.token_bytes(16)
        started = time.monotonic()
        self._publisher.send(mark)
        while time.monotonic() - started < self._timeout_seconds:
            if self._reader.payload(POLL_MS) == mark:  # other probes may use the topic
                return time.monotonic() - started
            if refusal := self._publisher.lanes.refusal:
                raise self._publisher.problem(refusal.result, f"produce to {self._topic}")
        raise TimedOut(f"no message returned from {self._topic} within {self._timeout_seconds:g} s")
