"""Deduplicated publishing through kill -9: `python -m tests.long.soak_messaging.dedup --rounds 50`.

Prints a report and exits with 0 if every sequence ID of every producer is in the log once, in order. Each round kills
the broker under four producers on one topic. Three survive and send unacknowledged messages again: single ones,
batches, and chunks. The fourth is an application that dies with the broker and resumes from an earlier position.
"""

import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pulsar

from tests.long.soak_messaging.command_line import run_rounds
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within
from tests.support.official_client import connect

TOPIC = "persistent://public/default/dedup"
MESSAGE_SIZE = 10_000  # bytes; a chunked message has four chunks
SETTINGS = (
    "brokerDeduplicationEnabled=true",
    "brokerDeduplicationEntriesInterval=200",
    "brokerDeduplicationSnapshotIntervalSeconds=1",
    "managedLedgerMaxEntriesPerLedger=1000",
    "flushInterval=1000",
    f"maxMessageSize={MESSAGE_SIZE}",
)
LOAD_SECONDS = (0.2, 1.2)
TICK_SECONDS = 0.05
RATES = {"single": 2000, "batched": 2000, "chunked": 100, "restarted": 1000}  # messages a second
UNHEARD_MAX = 1_000_000  # a thread that waits for space in a client's queue cannot restart the broker
OVERLAP = 300  # messages that the restarted application sends again
RECONNECT_SECONDS = 30.0
READ_MS = 10_000
REPORT_EVERY = 10
RECOVERY_KILL_EVERY = 5


@dataclass
class Tally:
    rounds: int = 0
    messages: int = 0
    repeated: int = 0
    missing: int = 0
    out_of_order: int = 0
    refused: int = 0
    sent_again: int = 0
    failures: list[str] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {self.messages:,} messages ({self.sent_again:,} sent again by the application), "
            f"{self.repeated} stored twice, {self.missing} missing, {self.out_of_order} out of order, "
            f"{self.refused} refused"
        )

    @property
    def ok(self) -> bool:
        return not (self.repeated or self.missing or self.out_of_order or self.refused)


class Publisher:
    """A producer with a fixed name; its messages carry the name and their sequence IDs, from 1 without gaps."""

    def __init__(self, client: pulsar.Client, name: str, tally: Tally) -> None:
        self.name = name
        self._tally = tally
        self.next = 1
        self.acknowledged = 0
        self._chunked = name == "chunked"
        self._producer = client.create_producer(
            TOPIC,
            producer_name=name,
            batching_enabled=name == "batched",
            batching_max_messages=10,
            chunking_enabled=self._chunked,
            max_pending_messages=UNHEARD_MAX,
            send_timeout_millis=0,  # keep trying until the broker is back
        )

    def send_some(self) -> None:
        for _ in range(int(RATES[self.name] * TICK_SECONDS)):
            size = 3 * MESSAGE_SIZE if self._chunked else 20
            message = f"{self.name}:{self.next}:".encode() + bytes(size)
            self._producer.send_async(message, self._answered(self.next), sequence_id=self.next)
            self.next += 1

    def _answered(self, number: int) -> Callable[[pulsar.Result, object], None]:
        def answered(result: pulsar.Result, _: object) -> None:
            if result == pulsar.Result.Ok:
                self.acknowledged = number
            elif result != pulsar.Result.AlreadyClosed:
                self._tally.refused += 1

        return answered

    def await_receipt(self) -> None:
        """Waits until the client has found the broker; otherwise the kill would hit an idle one."""
        before = self.acknowledged
        self.send_some()
        holds_within(lambda: self.acknowledged != before, RECONNECT_SECONDS)

    def flush(self) -> None:
        self._producer.flush()


class DedupSoak:
    def __init__(self, directory: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "data", *SETTINGS).start()
        self._client = connect(self._broker.service_url)
        self._client.subscribe(TOPIC, "keep").close()  # nothing is trimmed
        self._living = [Publisher(self._client, name, self.tally) for name in ("single", "batched", "chunked")]
        self._sent: dict[str, int] = {}
        self._resume_at = 1

    def round(self) -> None:
        self.tally.rounds += 1
        application = connect(self._broker.service_url)
        restarted = Publisher(application, "restarted", self.tally)
        restarted.next = self._resume_at
        publishers = [*self._living, restarted]
        for publisher in publishers:
            publisher.await_receipt()
        self._kill_under(publishers)
        application.shutdown()  # with all unacknowledged messages
        self._begin_again(restarted)
        self._restart()

    def _kill_under(self, publishers: list[Publisher]) -> None:
        killer = threading.Timer(self._chance.uniform(*LOAD_SECONDS), self._broker.kill)
        killer.start()
        while killer.is_alive():
            for publisher in publishers:
                publisher.send_some()
            killer.join(TICK_SECONDS)

    def _begin_again(self, restarted: Publisher) -> None:
        """Resumes before the last stored message, like an application that saves its position now and then."""
        self._sent["restarted"] = max(self._sent.get("restarted", 0), restarted.acknowledged)
        self._resume_at = max(1, restarted.acknowledged - self._chance.randrange(OVERLAP))
        self.tally.sent_again += restarted.next - self._resume_at

    def _restart(self) -> None:
        if self.tally.rounds % RECOVERY_KILL_EVERY == 0:
            self._broker.start(wait=False)
            time.sleep(self._chance.uniform(0, 0.3))  # killed at a random moment of its start
            self._broker.kill()
        self._broker.start()

    def read_everything(self) -> None:
        """Reads the whole log: each producer's messages once, in order, up to the last acknowledged one."""
        for publisher in self._living:
            publisher.flush()
            self._sent[publisher.name] = publisher.next - 1
        reader = self._client.create_reader(TOPIC, pulsar.MessageId.earliest)
        while reader.has_message_available():
            name, number = reader.read_next(READ_MS).data().split(b":")[:2]
            self._see(name.decode(), int(number))
        reader.close()
        for name, sent in self._sent.items():
            self.tally.missing += max(0, sent - self.tally.read.get(name, 0))
        self.tally.messages = sum(self.tally.read.values())

    def _see(self, name: str, number: int) -> None:
        last = self.tally.read.get(name, 0)
        if number != last + 1:
            self.tally.failures.append(f"{name}: {number} after {last}")
            self.tally.repeated += number <= last
            self.tally.out_of_order += number > last
        self.tally.read[name] = max(last, number)

    def close(self) -> None:
        self._client.close()
        self._broker.stop()


def run(directory: Path, rounds: int, seed: int) -> Tally:
    soak = DedupSoak(directory, seed)
    try:
        for number in range(1, rounds + 1):
            soak.round()
            if number % REPORT_EVERY == 0:
                print(f"{number} rounds", flush=True)
        soak.read_everything()
    finally:
        soak.close()
    return soak.tally


def report(tally: Tally) -> str:
    return "\n".join([*tally.failures, str(tally), str(tally.read)])


def main() -> int:
    return run_rounds("dedup", __doc__, run, held=lambda tally: tally.ok, report=report)


if __name__ == "__main__":
    sys.exit(main())
