"""The sending side of a measurement: one thread publishes to all producers, one after the other, at a rate."""

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import pulsar

from pulsarctl.perf.load import Load
from pulsarctl.perf.pace import Pace
from pulsarctl.perf.running import Side, Stop
from pulsarctl.perf.tally import Tally

BURST = 256  # messages between two looks at the clock
NOT_ACKNOWLEDGED = "NotAcknowledged"


class Sender:
    """`producers` are the official client's, whose send timeout bounds each message."""

    def __init__(self, producers: Sequence[Any], load: Load, tally: Tally) -> None:
        self._channels = [(producer, threading.Semaphore(load.outstanding)) for producer in producers]
        self._load = load
        self._tally = tally
        self._measured_from_ns = 0
        self._is_over = threading.Event()
        self.sent = 0

    def __call__(self, stop: Stop, most_seconds: float = 0) -> None:
        """Sends for at most `most_seconds` (0: no limit), and waits for the last acknowledgment."""
        load, start = self._load, time.monotonic()
        self._measured_from_ns = time.perf_counter_ns() + round(load.warm_up_seconds * 1e9)
        pace = Pace(load.rate, start)
        while not (stop.is_set() or self._is_over.is_set()):
            most = BURST if not load.limit else min(BURST, load.limit - self.sent)
            if not most or (most_seconds and time.monotonic() - start >= most_seconds):
                break
            due = pace.due(time.monotonic(), self.sent, most)
            if not due:
                stop.wait(pace.pause_seconds(time.monotonic(), self.sent))
            for _ in range(due):
                if not self._send(stop):
                    break
        self._drain(stop)

    def _send(self, stop: Stop) -> bool:
        """Sends one message when its producer has a free slot; returns whether to go on."""
        producer, slots = self._channels[self.sent % len(self._channels)]
        while not slots.acquire(timeout=0.1):
            if stop.is_set():
                return False
        payload = self._load.payload()
        self.sent += 1
        done = partial(self._settled, slots, time.perf_counter_ns(), len(payload))
        try:
            producer.send_async(payload, done, partition_key=next(self._load.keys), deliver_after=self._load.delay)
        except pulsar.PulsarException as error:
            self._failed(slots, type(error).__name__)
        return not (stop.is_set() or self._is_over.is_set())

    def _settled(self, slots: threading.Semaphore, sent_ns: int, size: int, result: Any, _message_id: Any) -> None:
        """The answer to one message, on a thread of the client."""
        if result != pulsar.Result.Ok:
            self._failed(slots, result.name)
            return
        latency_us = (time.perf_counter_ns() - sent_ns) // 1000
        self._tally.add(size, latency_us if sent_ns >= self._measured_from_ns else None)
        slots.release()

    def _failed(self, slots: threading.Semaphore, reason: str) -> None:
        self._tally.fail(reason)
        slots.release()
        if self._load.exit_on_failure:
            self._is_over.set()

    def _drain(self, stop: Stop) -> None:
        """Takes all slots of all producers: then no answer is missing. One missing at the deadline is a failure."""
        start = time.monotonic()
        for _, slots in self._channels:
            for _ in range(self._load.outstanding):
                while not slots.acquire(timeout=0.1):
                    if time.monotonic() - start > stop.drain_seconds:
                        self._tally.fail(NOT_ACKNOWLEDGED)
                        break


def sending_side(producers: Sequence[Any], load: Load) -> Side:
    tally = Tally()
    return Side("produce", [Sender(producers, load, tally)], tally, load.rate)
