"""Holds back what a producer sends above the publish rates of its topic or the broker, in order, until it may go.

The connection is not read while anything is held, so the held data is smaller than one chunk of the socket. A client
only notices slower receipts (Pulsar docs, "Publish rate limiting"). CLOSE_PRODUCER releases everything at once and
leaves the debt to the producers that follow.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_core.client import Outbound
    from broker_core.limits.rate_limit import RateLimit
    from broker_core.wire.send import SendRun

TICK_SECONDS = 0.01  # minimum time between attempts, so that held messages go in runs


class Limited(Protocol):
    """The topic whose publish rates apply."""

    publish_limit: RateLimit | None

    def publish_held(self) -> None:
        """Counts that the limit stopped reading from a connection."""


class PublishThrottle:
    __slots__ = ("_holding", "_outbound", "_publish_now", "_runs", "_timer", "_topic")

    def __init__(self, topic: Limited, outbound: Outbound, publish_now: Callable[[SendRun], None]) -> None:
        self._topic = topic
        self._outbound = outbound
        self._publish_now = publish_now
        self._runs: list[SendRun] = []
        self._timer: asyncio.TimerHandle | None = None
        self._holding = False  # whether this throttle stopped reading from the connection

    def publish(self, run: SendRun) -> None:
        self._runs.append(run)
        if self._timer is None:
            self._advance()

    def renewed(self) -> None:
        """The rates have changed: held messages may be due earlier, or at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._advance()

    def flush(self) -> None:
        """Releases everything, whatever the rates say."""
        while self._runs:
            self._publish(self._runs.pop(0))
        self._free()

    def close(self) -> None:
        """The producer is gone: drops the messages that are still held, and the reference to the producer."""
        self._runs.clear()
        self._free()
        self._publish_now = _dropped

    def _advance(self) -> None:
        self._timer = None
        while self._runs:
            limit = self._topic.publish_limit
            run = self._runs.pop(0)
            sizes = [end - start for start, end in zip(run.starts, run.ends, strict=True)]
            count = len(run) if limit is None else limit.entries_allowed(run.counts, sizes)
            if count < len(run):
                self._runs.insert(0, run.slice(count, len(run)))
            if count:
                self._publish(run.slice(0, count))
            if limit is not None and count < len(run) and self._runs:  # a failure may have closed the producer
                self._hold(limit.wait_seconds())
                return
        self._free()

    def _publish(self, run: SendRun) -> None:
        limit = self._topic.publish_limit
        if limit is not None:
            limit.take(run.messages, run.size)
        self._publish_now(run)

    def _hold(self, seconds: float) -> None:
        if not self._holding:
            self._holding = True
            self._topic.publish_held()
            self._outbound.hold_reading()
        self._timer = asyncio.get_running_loop().call_later(max(seconds, TICK_SECONDS), self._advance)

    def _free(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._holding:
            self._holding = False
            self._outbound.release_reading()


def _dropped(run: SendRun) -> None:
    """Drops the run, because the producer is gone."""
