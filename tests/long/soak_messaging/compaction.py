"""Compaction through kill -9: `python -m tests.long.soak_messaging.compaction --rounds 50`.

Prints a report and exits with 0 if a compacted reader finds the last value of each key after every kill, and no key
whose last message is empty. The broker compacts the topic continuously, and the log is consumed and trimmed, so that
much of the data is only in the compacted ledger. The kills come at any moment, every fifth time in the recovery too.
"""

import random
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pulsar

from tests.long.soak_messaging.command_line import run_rounds
from tests.support.broker_process import BrokerProcess
from tests.support.official_client import connect

TOPIC = "persistent://public/default/compacted"
SETTINGS = (
    "brokerServiceCompactionThresholdInBytes=20000",
    "brokerServiceCompactionMonitorIntervalInSeconds=0",
    "managedLedgerMaxEntriesPerLedger=300",
    "flushInterval=1000",
)
KEYS = 200
TOMBSTONES = 0.1  # share of the messages that delete their key
LOAD_SECONDS = (0.2, 1.5)
RATE = 3000  # messages a second
TICK_SECONDS = 0.05
READ_MS = 20_000
ATTEMPTS = 4
SETTLE_SECONDS = 1.0  # a pending compaction ends in the meantime
REPORT_EVERY = 10
RECOVERY_KILL_EVERY = 5


@dataclass
class Tally:
    rounds: int = 0
    messages: int = 0
    compactions: int = 0
    wrong: int = 0
    missing: int = 0
    risen: int = 0
    refused: int = 0
    overtaken: int = 0

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {self.messages:,} messages, {self.compactions} reads of a compacted topic, "
            f"{self.overtaken} of them overtaken by a compaction; "
            f"{self.wrong} keys with an old value, {self.missing} missing, {self.risen} risen from deletion, "
            f"{self.refused} messages refused"
        )

    @property
    def ok(self) -> bool:
        return not (self.wrong or self.missing or self.risen or self.refused)


class CompactionSoak:
    def __init__(self, directory: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "data", *SETTINGS).start()
        self._client = connect(self._broker.service_url)
        self._client.subscribe(TOPIC, "consumes", message_listener=lambda one, message: one.acknowledge(message))
        self._producer = self._client.create_producer(
            TOPIC, batching_enabled=True, batching_max_messages=20, block_if_queue_full=True, send_timeout_millis=0
        )
        self._last: dict[str, bytes] = {}

    def round(self) -> None:
        self.tally.rounds += 1
        self._send_some()
        self._producer.flush()  # the client has found the broker; otherwise the kill would hit an idle one
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
        self._producer.flush()
        self.check()

    def _send_some(self) -> None:
        for _ in range(int(RATE * TICK_SECONDS)):
            self.tally.messages += 1
            key = str(self._chance.randrange(KEYS))
            deleted = self._chance.random() < TOMBSTONES
            self._last[key] = b"" if deleted else b"%d" % self.tally.messages
            self._producer.send_async(self._last[key], self._on_receipt, partition_key=key)

    def _on_receipt(self, result: pulsar.Result, _: object) -> None:
        self.tally.refused += result != pulsar.Result.Ok

    def check(self) -> None:
        """A compacted reader sees the published state.

        A reader that runs while a compaction ends may have read a value and then miss its deletion, which is gone by
        then (as in Pulsar). So an error counts only if a second reader sees it too.
        """
        for _ in range(ATTEMPTS):
            wrong = self._compare(self._read())
            if not any(wrong):
                return
            self.tally.overtaken += 1
            time.sleep(SETTLE_SECONDS)  # the next compaction may start at any time, so no state says that it is over
        self.tally.wrong += wrong[0]
        self.tally.missing += wrong[1]
        self.tally.risen += wrong[2]

    def _read(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        entries = 0
        reader = self._client.create_reader(TOPIC, pulsar.MessageId.earliest, is_read_compacted=True)
        while reader.has_message_available():
            message = reader.read_next(READ_MS)
            entries += 1
            if message.partition_key():  # this client returns empty slots of a compacted batch as messages
                found[message.partition_key()] = message.data()
        reader.close()
        self.tally.compactions += entries < self.tally.messages
        return found

    def _compare(self, found: dict[str, bytes]) -> tuple[int, int, int]:
        """Counts keys that have an old value, are missing, or exist although they were deleted."""
        pairs = [(found.get(key, b""), wanted) for key, wanted in self._last.items()]
        wrong = sum(bool(value and wanted and value != wanted) for value, wanted in pairs)
        return (
            wrong,
            sum(not value and bool(wanted) for value, wanted in pairs),
            sum(bool(value) and not wanted for value, wanted in pairs),
        )

    def close(self) -> None:
        self._client.close()
        self._broker.stop()


def run(directory: Path, rounds: int, seed: int) -> Tally:
    soak = CompactionSoak(directory, seed)
    try:
        for number in range(1, rounds + 1):
            soak.round()
            if number % REPORT_EVERY == 0:
                print(soak.tally, flush=True)
    finally:
        soak.close()
    return soak.tally


def main() -> int:
    return run_rounds("compaction", __doc__, run, held=lambda tally: tally.ok)


if __name__ == "__main__":
    sys.exit(main())
