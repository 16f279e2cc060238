"""Transactions through kill -9: `python -m tests.long.soak_messaging.transactions --rounds 50`.

Loops receive a message, publish one in a transaction, acknowledge in it, and commit; some transactions are aborted. The
broker is killed at a random moment of each round. In the end, every message was transformed exactly once, no message of
an aborted transaction was ever delivered, and no transaction is open.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command, MessageFrame
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, end, publish
from tests.long.soak_messaging.command_line import run_rounds
from tests.support.broker_process import PULSARCTL, BrokerProcess
from tests.support.condition import holds_within
from tests.support.raw_client import Closed, RawClient
from tests.support.raw_consuming import subscribe
from tests.support.raw_publishing import producer, send

SETTINGS = ("managedLedgerMaxEntriesPerLedger=500", "flushInterval=300", "transactionCoordinatorEnabled=true")
STANDALONE = (str(PULSARCTL), "standalone")
PARTITIONS = 4
LOOPS = 8
MESSAGES = 500  # a round
ABORTED = 0.15  # the share of transactions that are aborted
TTL_MS = 5_000
LOAD_SECONDS = (0.05, 0.6)
RECOVERY_KILL_EVERY = 5
ANSWER_SECONDS = 10.0
STALLED_SECONDS = 30.0  # without a transformed message
SETTLE_SECONDS = 4 * TTL_MS / 1000 + ANSWER_SECONDS


@dataclass
class Tally:
    rounds: int = 0
    messages: int = 0
    committed: int = 0
    aborted: int = 0
    unknown: int = 0  # ends that were repeated after a kill
    lost: int = 0
    repeated: int = 0
    aborted_seen: int = 0
    left_open: int = 0
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        ended = f"{self.committed:,} commits and {self.aborted:,} aborts ({self.unknown} asked again after a kill)"
        faults = f"{self.lost} lost, {self.repeated} transformed twice, {self.aborted_seen} delivered after an abort"
        left = f"{self.left_open} transactions left open"
        lines = [f"{self.rounds} rounds, {self.messages:,} messages, {ended}: {faults}, {left}", *self.failures]
        return "\n".join(lines)

    @property
    def ok(self) -> bool:
        return not (self.lost or self.repeated or self.aborted_seen or self.left_open or self.failures)


def topic(name: str, partition: int) -> str:
    return f"persistent://public/default/{name}-partition-{partition}"


def may_be_refused(answer: pb.CommandEndTxnResponse, *, is_over: bool) -> bool:
    """Nothing of the transaction was on disk, or the broker aborted it or aborts it now because its time is over."""
    return answer.error == pb.TransactionNotFound or (is_over and answer.error == pb.InvalidTxnStatus)


class Loop(threading.Thread):
    """Transforms the messages of one partition; connects again whenever the broker is gone."""

    def __init__(self, number: int, broker: BrokerProcess, tally: Tally, seed: int) -> None:
        super().__init__(name=f"loop-{number}", daemon=True)
        self.stopping = False
        self._number = number
        self._broker = broker
        self._tally = tally
        self._chance = random.Random(f"{seed} {number}")
        self._sequence_id = 0

    def run(self) -> None:
        while not self.stopping:
            try:
                self._work()
            except (Closed, OSError, TimeoutError):
                time.sleep(0.02)  # the broker is being restarted
            except Exception as error:
                self._tally.failures.append(f"{self.name}: {error!r}")
                return

    def _work(self) -> None:
        with ExitStack() as stack:
            source, target, control = (
                stack.enter_context(RawClient(self._broker.service_url)) for _ in ("source", "target", "control")
            )
            subscribe(
                source,
                topic("in", self._number % PARTITIONS),
                name="s",
                permits=0,
                sub_type=pb.CommandSubscribe.Shared,
                initial_position=pb.CommandSubscribe.Earliest,
            )
            target.ask(producer(topic("out", self._chance.randrange(PARTITIONS))), BaseCommand.PRODUCER_SUCCESS)
            while not self.stopping:
                self._transform(source, target, control)

    def _transform(self, source: RawClient, target: RawClient, control: RawClient) -> None:
        source.send(client_commands.flow(1, 1))
        message = source.expect_entry(ANSWER_SECONDS)
        commit = self._chance.random() >= ABORTED
        deadline = time.monotonic() + TTL_MS / 1000
        transaction = begin(control, TTL_MS)
        outcome = b"commit" if commit else b"abort"
        self._sequence_id += 1
        sent = publish(target, self._sequence_id, parse_entry(message.entry)[1] + b" " + outcome, transaction)
        named = transaction["txnid_most_bits"], transaction["txnid_least_bits"]
        acked = client_commands.acknowledge(1, [message.message.message_id], request_id=1, transaction=named)
        source.send(acked)
        answer = source.expect(BaseCommand.ACK_RESPONSE)
        is_complete = isinstance(sent, pb.CommandSendReceipt) and not answer.HasField("error")
        self._end(control, transaction, deadline, commit=commit and is_complete)

    def _end(self, control: RawClient, transaction: dict[str, int], deadline: float, *, commit: bool) -> None:
        try:
            answer = end(control, transaction, commit=commit)
        except (Closed, OSError):
            answer = self._ask_again(transaction, commit=commit)
        if answer.HasField("error"):
            assert may_be_refused(answer, is_over=time.monotonic() > deadline), answer
        elif commit:
            self._tally.committed += 1
        else:
            self._tally.aborted += 1

    def _ask_again(self, transaction: dict[str, int], *, commit: bool) -> pb.CommandEndTxnResponse:
        """The broker was killed before it answered: the outcome is unknown, so the client repeats the command."""
        self._tally.unknown += 1
        while True:
            try:
                with RawClient(self._broker.service_url) as client:
                    answer: pb.CommandEndTxnResponse = end(client, transaction, commit=commit)
                    return answer
            except (Closed, OSError):
                time.sleep(0.02)


class TransactionSoak:
    def __init__(self, directory: Path, seed: int, program: Sequence[str]) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "data", *SETTINGS, program=program).start()
        self._keep_what_comes_out()
        self._loops = [Loop(number, self._broker, self.tally, seed) for number in range(LOOPS)]
        for loop in self._loops:
            loop.start()

    def _keep_what_comes_out(self) -> None:
        """Subscribes, because a topic without a subscription loses its messages after ten minutes."""
        for partition in range(PARTITIONS):
            with RawClient(self._broker.service_url) as reader:
                subscribe(reader, topic("out", partition), permits=0, initial_position=pb.CommandSubscribe.Earliest)

    def round(self) -> None:
        self.tally.rounds += 1
        self._publish()
        time.sleep(self._chance.uniform(*LOAD_SECONDS))
        self._broker.kill()
        if not self.tally.rounds % RECOVERY_KILL_EVERY:
            self._broker.start(wait=False)
            time.sleep(self._chance.uniform(0, 0.3))
            self._broker.kill()
        self._broker.start()

    def _publish(self) -> None:
        with ExitStack() as stack:
            clients = [stack.enter_context(RawClient(self._broker.service_url)) for _ in range(PARTITIONS)]
            for partition, client in enumerate(clients):
                client.ask(producer(topic("in", partition)), BaseCommand.PRODUCER_SUCCESS)
            numbers = range(self.tally.messages, self.tally.messages + MESSAGES)
            for partition, client in enumerate(clients):
                client.send(b"".join(send(n, b"%d" % n) for n in numbers if n % PARTITIONS == partition))
            for number in numbers:
                clients[number % PARTITIONS].expect(BaseCommand.SEND_RECEIPT)
        self.tally.messages += MESSAGES

    def finish(self) -> None:
        """Waits until every message is transformed, and compares."""
        delivered: Counter[bytes] = Counter()
        expected = {b"%d commit" % number for number in range(self.tally.messages)}
        with ExitStack() as stack:
            readers = [stack.enter_context(RawClient(self._broker.service_url)) for _ in range(PARTITIONS)]
            for partition, reader in enumerate(readers):
                earliest = pb.CommandSubscribe.Earliest
                subscribe(reader, topic("out", partition), permits=1_000_000, initial_position=earliest)
            self._drain(readers, delivered, expected)
            for loop in self._loops:
                loop.stopping = True
            holds_within(lambda: self._has_settled(readers, delivered), SETTLE_SECONDS)
        self.tally.lost = sum(message not in delivered for message in expected)
        self.tally.repeated = sum(count > 1 for count in delivered.values())
        self.tally.aborted_seen = sum(message not in expected for message in delivered)
        self.tally.left_open = self._open_transactions()
        self._broker.stop()

    def _drain(self, readers: Sequence[RawClient], delivered: Counter[bytes], expected: set[bytes]) -> None:
        """Takes messages until all have arrived, or none does for long."""
        deadline = time.monotonic() + STALLED_SECONDS
        while not expected <= delivered.keys() and time.monotonic() < deadline:
            if self._read(readers, delivered):
                deadline = time.monotonic() + STALLED_SECONDS

    def _read(self, readers: Sequence[RawClient], delivered: Counter[bytes]) -> int:
        """Takes what has arrived; returns the number of messages."""
        before = delivered.total()
        for reader in readers:
            with suppress(TimeoutError):
                self._take(reader, reader.next(0.05), delivered)
                for _ in range(reader.arrived):
                    self._take(reader, reader.next(), delivered)
        return delivered.total() - before

    def _take(self, reader: RawClient, item: Command | MessageFrame, delivered: Counter[bytes]) -> None:
        if isinstance(item, MessageFrame):
            delivered[parse_entry(item.entry)[1]] += 1
        elif item.type == BaseCommand.PING:
            reader.send(commands.pong())

    def _has_settled(self, readers: Sequence[RawClient], delivered: Counter[bytes]) -> bool:
        """Whether every loop and transaction has ended, and what they published has been read."""
        is_busy = any(loop.is_alive() for loop in self._loops) or self._open_transactions() > 0
        return not self._read(readers, delivered) and not is_busy

    def _open_transactions(self) -> int:
        """The number of the transactions that have not ended."""
        url = f"{self._broker.http_url}/admin/v3/transactions/coordinatorStats?coordinatorId=0"
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:
            return int(json.load(answer)["ongoingTxnSize"])


def run(directory: Path, rounds: int, seed: int, program: Sequence[str] = STANDALONE) -> Tally:
    soak = TransactionSoak(directory, seed, program)
    for _ in range(rounds):
        soak.round()
    soak.finish()
    return soak.tally


def main() -> int:
    return run_rounds("transactions", __doc__, run, held=lambda tally: tally.ok)


if __name__ == "__main__":
    sys.exit(main())
