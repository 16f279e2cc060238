"""Acknowledging inside batches through kill -9: `python -m tests.long.soak_messaging.batch_acks --rounds 50`.

The client acknowledges single messages, whole batches, and cumulatively, each with a receipt, until the broker is
killed. After the restart it receives all open messages: none with a receipt for its acknowledgment, and every one that
was never acknowledged.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from broker_core.storage.records.open_batches import bits_of, words_of
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.batch import BatchMessage, join_batch
from broker_core.wire.commands import frame
from broker_core.wire.frame import MessageFrame
from broker_core.wire.message import build_entry, parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.long.soak_messaging.command_line import run_rounds
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import Closed, RawClient

TOPIC = "persistent://public/default/batch-acks"
SETTINGS = ("managedLedgerMaxEntriesPerLedger=100", "flushInterval=150")
BATCHES = 1000  # publish when fewer than half of them are open
SIZES = (1, 2, 5, 64, 65, 130)
LOAD_SECONDS = (0.05, 0.4)
IN_FLIGHT = 20
Entry = tuple[int, int]


@dataclass
class Batch:
    """Bit sets of its messages: all, possibly acknowledged, certainly acknowledged."""

    all: int
    asked: int = 0
    confirmed: int = 0


@dataclass
class Tally:
    rounds: int = 0
    receipts: int = 0
    came_back: int = 0
    lost: int = 0
    entries: dict[Entry, Batch] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.rounds} rounds, {len(self.entries):,} batches, {self.receipts:,} acknowledgements with a receipt; "
            f"{self.came_back} messages came again after theirs, {self.lost} were lost"
        )

    @property
    def ok(self) -> bool:
        return not (self.came_back or self.lost)


class BatchAckSoak:
    def __init__(self, directory: Path, seed: int) -> None:
        self.tally = Tally()
        self._chance = random.Random(seed)
        self._broker = BrokerProcess(directory / "data", *SETTINGS)

    def round(self) -> None:
        self.tally.rounds += 1
        self._broker.start()
        with RawClient(self._broker.service_url) as client:
            client.send(client_commands.subscribe(1, TOPIC, "s", 1))
            client.expect(BaseCommand.SUCCESS)
            with RawClient(self._broker.service_url) as producer:
                last = self._publish(producer)
            self._compare(dict(received(client, last)))
            killer = threading.Timer(self._chance.uniform(*LOAD_SECONDS), self._broker.kill)
            killer.start()
            self._acknowledge(client)
            killer.join()

    def _publish(self, client: RawClient) -> Entry:
        """Publishes new batches if few are open, and always one more; returns the position of the last one."""
        command = BaseCommand(type=BaseCommand.PRODUCER)
        command.producer.CopyFrom(pb.CommandProducer(topic=TOPIC, producer_id=1, request_id=1))
        client.ask(command, BaseCommand.PRODUCER_SUCCESS)
        open_batches = sum(batch.all != batch.confirmed for batch in self.tally.entries.values())
        sizes = self._chance.choices(SIZES, k=BATCHES if 2 * open_batches < BATCHES else 1)
        client.send(b"".join(batch_of(sequence_id, size) for sequence_id, size in enumerate(sizes)))
        for size in sizes:
            at = client.expect(BaseCommand.SEND_RECEIPT).message_id
            last = at.ledgerId, at.entryId
            self.tally.entries[last] = Batch((1 << size) - 1)
        return last

    def _compare(self, found: dict[Entry, int]) -> None:
        for entry, batch in self.tally.entries.items():
            still_open = found.get(entry, 0)
            self.tally.came_back += (still_open & batch.confirmed).bit_count()
            self.tally.lost += (batch.all & ~batch.asked & ~still_open).bit_count()
            batch.asked = batch.confirmed = batch.all & ~still_open

    def _acknowledge(self, client: RawClient) -> None:
        """Runs until the broker is gone."""
        waiting: deque[dict[Entry, int]] = deque()
        try:
            while True:
                acknowledged, command = self._some()
                for entry, bits in acknowledged.items():
                    self.tally.entries[entry].asked |= bits
                waiting.append(acknowledged)
                client.send(command)
                if len(waiting) > IN_FLIGHT:
                    client.expect(BaseCommand.ACK_RESPONSE)
                    self.tally.receipts += 1
                    for entry, bits in waiting.popleft().items():
                        self.tally.entries[entry].confirmed |= bits
        except (Closed, OSError):
            return

    def _some(self) -> tuple[dict[Entry, int], bytes]:
        """The next acknowledgment and its messages by entry."""
        entries, chance = self.tally.entries, self._chance
        ids = list(entries)[-BATCHES:]
        cumulative = chance.random() < 0.01
        chosen = [chance.choice(ids[: BATCHES // 50])] if cumulative else chance.sample(ids, min(len(ids), 3))
        said = {entry: entries[entry].all & chance.getrandbits(130) & chance.getrandbits(130) for entry in chosen}
        if chance.random() < 0.05:
            said = {entry: entries[entry].all for entry in chosen}
        message_ids = [marked(entry, entries[entry].all & ~bits) for entry, bits in said.items()]
        if cumulative:
            said |= {entry: batch.all for entry, batch in entries.items() if entry < chosen[0]}
        return said, client_commands.acknowledge(1, message_ids, cumulative=cumulative, request_id=1)


def marked(entry: Entry, open_bits: int) -> pb.MessageIdData:
    return pb.MessageIdData(ledgerId=entry[0], entryId=entry[1], ack_set=words_of(open_bits))


def batch_of(sequence_id: int, size: int) -> bytes:
    metadata = pb.MessageMetadata(
        producer_name="p", sequence_id=sequence_id, publish_time=1000, num_messages_in_batch=size
    )
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=1, sequence_id=sequence_id, num_messages=size))
    return frame(command, build_entry(metadata, join_batch([BatchMessage(pb.SingleMessageMetadata(), b"")] * size)))


def received(client: RawClient, last: Entry) -> Iterator[tuple[Entry, int]]:
    """Every open entry up to the last one, with the bit set of its open messages."""
    client.send(client_commands.flow(1, 1_000_000))
    entry = (-1, -1)
    while entry != last:
        item = client.next()
        if isinstance(item, MessageFrame):
            entry = item.message.message_id.ledgerId, item.message.message_id.entryId
            yield entry, bits_of(item.message.ack_set) or (1 << parse_metadata(item.entry).num_messages_in_batch) - 1


def run(directory: Path, rounds: int, seed: int) -> Tally:
    soak = BatchAckSoak(directory, seed)
    for _ in range(rounds):
        soak.round()
    return soak.tally


def main() -> int:
    return run_rounds("batch_acks", __doc__, run, held=lambda tally: tally.ok)


if __name__ == "__main__":
    sys.exit(main())
