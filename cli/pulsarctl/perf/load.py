"""What a measurement sends, and how fast."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from pulsarctl.perf.payloads import Payload


@dataclass(frozen=True, slots=True)
class Load:
    """The load: `limit` messages (0: no limit) at `rate` per second (0: no limit).

    A producer has at most `outstanding` messages without an answer. Latencies count after `warm_up_seconds`.
    """

    payload: Payload
    keys: Iterator[str | None]
    rate: float
    limit: int
    outstanding: int
    warm_up_seconds: float
    exit_on_failure: bool = False
    delay: timedelta | None = None  # until a message is delivered
