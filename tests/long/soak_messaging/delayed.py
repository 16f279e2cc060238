"""Delayed delivery through kill -9: `python -m tests.long.soak_messaging.delayed --rounds 50`.

Prints a report and exits with 0 if no message arrived early and no acknowledged message was lost. Each message carries
its number and delivery time. Most are due within two seconds, so that the broker dies with some due, some nearly due,
and some in transit. The others are due tomorrow and must still be held back at the end.
"""

import json
import random
import sys
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pulsar

from tests.long.soak_messaging.command_line import run_rounds
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within
from tests.support.official_client import connect

TOPIC = "persistent://public/default/delayed"
SUBSCRIPTION = "s"
SETTINGS = (
    "isDelayedDeliveryDeliverAtTimeStrict=true",
    "delayedDeliveryMinIndexCountPerBucket=200",  # much of the index goes to disk
    "delayedDeliveryMaxIndexesPerBucketSnapshotSegment=50",
    "managedLedgerMaxEntriesPerLedger=1000",
    "flushInterval=1000",
)
LOAD_SECONDS = (0.2, 1.2)
RATE = 400  # messages a second
TICK_SECONDS = 0.05
SOON_MS = 2000
FAR = timedelta(days=1)
FAR_SHARE = 0.2
RECONNECT_SECONDS = 30.0
CATCH_UP_SECONDS = 60.0
REPORT_EVERY = 10
RECOVERY_KILL_EVERY = 5


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Tally:
    rounds: int = 0
    acknowledged: int = 0
    far: int = 0
    early: int = 0
    lost: int = 0
    refused: int = 0
    repeated: int = 0
    late_ms: list[int] = field(default_factory=list)

    def __str__(self) -> str:
        late = sorted(self.late_ms) or [0]
        return (
            f"{self.rounds} rounds, {self.acknowledged:,} messages ({self.far:,} of them due tomorrow), "
            f"{self.early} early, {self.lost} lost, {self.refused} refused, {self.repeated:,} repeated; "
            f"late by {late[len(late) // 2]} ms (median) to {late[-1]} ms (the broker was dead, or the client away)"
        )

    @property
    def ok(self) -> bool:
        return not (self.early or self.lost or self.refused)


class Received:
    """Records a delivery; called from the client's thread."""

    def __init__(self, tally: Tally) -> None:
        self.numbers: set[int] = set()
        self._tally = tally
        self._lock = threading.Lock()

    def __call__(self, consumer: pulsar.Consumer, message: pulsar.Message) -> None:
        came = now_ms()
        number, due = map(int, message.data().split(b":"))
        with self._lock:
            self._tally.early += came < due
            if number in self.numbers:
                self._tally.repeated += 1  # a crash loses the last second of acknowledgments
            else:
                self._tally.late_ms.append(came - due)
                self.numbers.add(number)
        consumer.acknowledge(message)


class DelayedSoak:
    def __init__(self, directory: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "data", *SETTINGS).start()
        self._client = connect(self._broker.service_url)
        self._received = Received(self.tally)
        self._soon: set[int] = set()
        self._far: set[int] = set()
        self._sent = 0
        self._client.subscribe(TOPIC, SUBSCRIPTION, pulsar.ConsumerType.Shared, message_listener=self._received)
        self._producer = self._client.create_producer(
            TOPIC,
            batching_enabled=False,
            max_pending_messages=1_000_000,  # must not block: this thread restarts the broker
            send_timeout_millis=0,
        )

    def round(self) -> None:
        self.tally.rounds += 1
        self._await_receipt()
        killer = threading.Timer(self._chance.uniform(*LOAD_SECONDS), self._broker.kill)
        killer.start()
        while killer.is_alive():
            self._send_some()
            killer.join(TICK_SECONDS)
        if self.tally.rounds % RECOVERY_KILL_EVERY == 0:
            self._broker.start(wait=False)
            time.sleep(self._chance.uniform(0, 0.3))  # killed at a random moment of its start
            self._broker.kill()
        self._broker.start()

    def _await_receipt(self) -> None:
        """The client has found the broker: otherwise it would be killed with nothing going on."""
        before = self.tally.acknowledged
        self._send_some()
        holds_within(lambda: self.tally.acknowledged != before, RECONNECT_SECONDS)

    def _send_some(self) -> None:
        for _ in range(int(RATE * TICK_SECONDS)):
            number, self._sent = self._sent, self._sent + 1
            far = self._chance.random() < FAR_SHARE
            due = now_ms() + (int(FAR.total_seconds() * 1000) if far else self._chance.randrange(SOON_MS))
            (self._far if far else self._soon).add(number)
            self._producer.send_async(b"%d:%d" % (number, due), self._on_receipt, deliver_at=due)

    def _on_receipt(self, result: pulsar.Result, _: object) -> None:
        if result == pulsar.Result.Ok:
            self.tally.acknowledged += 1
        else:
            self.tally.refused += 1

    def finish(self) -> None:
        """All due messages have arrived, and all others are held back."""
        self._producer.flush()
        far = self._far_in_the_log()
        self.tally.far = len(far)
        holds_within(lambda: self._missing == 0 and self._held_back() == len(far), CATCH_UP_SECONDS, interval=0.1)
        self.tally.lost = self._missing + len(self._far - set(far)) + abs(len(far) - self._held_back())

    @property
    def _missing(self) -> int:
        return len(self._soon - self._received.numbers)

    def _far_in_the_log(self) -> list[int]:
        """The messages due tomorrow, which a reader gets at once; one whose receipt was lost is there twice."""
        reader = self._client.create_reader(TOPIC, pulsar.MessageId.earliest)
        numbers, tomorrow = [], now_ms() + int(FAR.total_seconds() * 500)
        while reader.has_message_available():
            number, due = map(int, reader.read_next(10_000).data().split(b":"))
            if due > tomorrow:
                numbers.append(number)
        reader.close()
        return numbers

    def _held_back(self) -> int:
        with urlopen(f"{self._broker.http_url}/admin/v2/{TOPIC.replace('://', '/')}/stats") as response:
            stats: dict[str, Any] = json.load(response)
        return int(stats["subscriptions"][SUBSCRIPTION]["msgDelayed"])

    def close(self) -> None:
        self._client.close()
        self._broker.stop()


def run(directory: Path, rounds: int, seed: int) -> Tally:
    soak = DelayedSoak(directory, seed)
    try:
        for number in range(1, rounds + 1):
            soak.round()
            if number % REPORT_EVERY == 0:
                print(soak.tally, flush=True)
        soak.finish()
    finally:
        soak.close()
    return soak.tally


def main() -> int:
    return run_rounds("delayed", __doc__, run, held=lambda tally: tally.ok)


if __name__ == "__main__":
    sys.exit(main())
