"""A consumer of the order checker: an official client in a separate process that can be killed.

It imports everything, prints `ready`, and subscribes when a line arrives on stdin, so that a join does not wait for
Python. SIGTERM closes it cleanly. Payloads start with the number of the message (u32).
"""

import argparse
import heapq
import os
import random
import signal
import struct
import sys
import time

import pulsar

from tests.long.soak_messaging.key_events import ACKNOWLEDGED, GIVEN_BACK, LEFT, MOVED, RECEIVED, RECEIVER_QUEUE, RECORD
from tests.support.official_client import connect

NUMBER = struct.Struct("<I")
GIVE_BACK_DELAY_MS = 100
GIVE_BACK_EVERY_SECONDS = (
    0.2  # each call restarts the client's timer, so with a call every few milliseconds it never fires
)
IDLE_MS = 50
SUBSCRIBE_SECONDS = 10.0


class Journal:
    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, kind: int, message: int = 0) -> None:
        os.write(self._file, RECORD.pack(kind, message, time.monotonic()))


class Worker:
    """Acknowledges each message after up to `delay_ms`, or nacks some of them."""

    def __init__(self, consumer: pulsar.Consumer, journal: Journal, delay_ms: int, give_back: float) -> None:
        self._consumer = consumer
        self._journal = journal
        self._delay_seconds = delay_ms / 1000
        self._give_back = give_back
        self._due: list[tuple[float, int, pulsar.Message]] = []
        self._refused: list[tuple[int, pulsar.Message]] = []
        self._held: dict[int, set[int]] = {}  # entry -> numbers of its messages that are not settled
        self._next_return = 0.0
        self.leaving = False

    def run(self) -> None:
        while not self.leaving:
            try:
                message = self._consumer.receive(timeout_millis=self._patience_ms())
            except pulsar.Timeout:
                pass
            else:
                self._received(message)
            while self._due and self._due[0][0] <= time.monotonic():
                _, number, message = heapq.heappop(self._due)
                self._settle(number, message)
            if self._refused and self._next_return <= time.monotonic():
                self._return_refused()

    def _patience_ms(self) -> int:
        if not self._due:
            return IDLE_MS
        return min(IDLE_MS, max(1, int((self._due[0][0] - time.monotonic()) * 1000)))

    def _received(self, message: pulsar.Message) -> None:
        number = NUMBER.unpack_from(message.data())[0]
        self._journal.note(RECEIVED, number)
        self._held.setdefault(message.message_id().entry_id(), set()).add(number)
        if self._delay_seconds:
            due = time.monotonic() + random.random() * self._delay_seconds
            heapq.heappush(self._due, (due, number, message))
        else:
            self._settle(number, message)

    def _settle(self, number: int, message: pulsar.Message) -> None:
        if self._give_back and random.random() < self._give_back:
            self._refused.append((number, message))
        else:
            self._journal.note(ACKNOWLEDGED, number)
            self._consumer.acknowledge(message)
            entry = message.message_id().entry_id()
            held = self._held.get(entry, set())
            held.discard(number)
            if not held:
                self._held.pop(entry, None)

    def _return_refused(self) -> None:
        """Nacks a whole batch, including its messages that are still to be acknowledged here."""
        for number, message in self._refused:
            for one in self._held.pop(message.message_id().entry_id(), set()) | {number}:
                self._journal.note(GIVEN_BACK, one)
            self._consumer.negative_acknowledge(message)
        self._refused.clear()
        self._next_return = time.monotonic() + GIVE_BACK_EVERY_SECONDS


def subscribe(client: pulsar.Client, options: argparse.Namespace, ranges: list[tuple[int, int]]) -> pulsar.Consumer:
    """Retries until the broker notices that the previous owner of the ranges is gone."""
    mode = pulsar.KeySharedMode.Sticky if ranges else pulsar.KeySharedMode.AutoSplit
    deadline = time.monotonic() + SUBSCRIBE_SECONDS
    while True:
        try:
            return client.subscribe(
                options.topic,
                "s",
                pulsar.ConsumerType.KeyShared,
                consumer_name=options.name,
                receiver_queue_size=RECEIVER_QUEUE,
                negative_ack_redelivery_delay_ms=GIVE_BACK_DELAY_MS,
                key_shared_policy=pulsar.ConsumerKeySharedPolicy(mode, False, ranges or None),
            )
        except pulsar.PulsarException:
            if time.monotonic() > deadline:
                raise


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("url", "topic", "name", "journal"):
        parser.add_argument(name)
    parser.add_argument("--delay-ms", type=int, default=0)
    parser.add_argument("--give-back", type=float, default=0.0)
    options = parser.parse_args()
    client = connect(options.url)
    print("ready", flush=True)
    first, last = (int(one) for one in sys.stdin.readline().split())
    journal = Journal(options.journal)
    consumer = subscribe(client, options, [(first, last)] if last else [])
    worker = Worker(consumer, journal, options.delay_ms, options.give_back)
    signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "leaving", True))
    journal.note(MOVED)
    print("joined", flush=True)
    worker.run()
    journal.note(LEFT)
    consumer.close()
    journal.note(MOVED)
    client.close()


if __name__ == "__main__":
    main()
