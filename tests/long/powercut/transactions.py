"""Transactions under power cuts: each takes effect as a whole or not at all, and one that was answered is decided.

Each transaction publishes a message to two topics and acknowledges one of a third. The messages name the transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from broker_core.storage.engine import StorageEngine
from broker_core.storage.records.block import Block
from broker_core.storage.records.position import Position
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.transactions.commands import begin, end, publish
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import subscribe
from tests.support.raw_publishing import producer

SOURCE, TARGETS = "source", ("left", "right")
SUBSCRIPTION = "transactions"
ABORTED_EVERY = 3


@dataclass(frozen=True)
class Transaction:
    source: tuple[int, int]  # the position that it acknowledges
    commit: bool


def run_transactions(url: str, count: int) -> dict[int, Transaction]:
    """Runs them one after the other; by ID."""
    with RawClient(url) as source, RawClient(url) as left, RawClient(url) as right, RawClient(url) as control:
        subscribe(source, _topic(SOURCE), name=SUBSCRIPTION, permits=0)
        for client, topic in ((source, SOURCE), (left, TARGETS[0]), (right, TARGETS[1])):
            client.ask(producer(_topic(topic)), BaseCommand.PRODUCER_SUCCESS)
        made = {}
        for number in range(count):
            position = publish(source, number, b"in").message_id
            transaction = begin(control)
            text = str(transaction["txnid_least_bits"]).encode()
            for client in (left, right):
                publish(client, number, text, transaction)
            _acknowledge(source, position, transaction)
            commit = bool(number % ABORTED_EVERY)
            end(control, transaction, commit=commit)
            made[int(text)] = Transaction((position.ledgerId, position.entryId), commit)
        return made


def _topic(name: str) -> str:
    return f"persistent://public/default/{name}"


def _acknowledge(client: RawClient, position: pb.MessageIdData, transaction: dict[str, int]) -> None:
    named = transaction["txnid_most_bits"], transaction["txnid_least_bits"]
    client.send(client_commands.acknowledge(1, [position], request_id=1, transaction=named))
    answer = client.expect(BaseCommand.ACK_RESPONSE)
    assert not answer.HasField("error"), answer


@dataclass(frozen=True)
class Effects:
    """What consumers get: the transactions whose message each target shows, and the positions still open."""

    shown: tuple[frozenset[int], frozenset[int]]
    acknowledged: frozenset[tuple[int, int]]


async def read_effects(storage: StorageEngine, sources: Collection[tuple[int, int]]) -> Effects:
    left, right = [await _shown(storage, topic) for topic in TARGETS]
    name = _ledger(SOURCE)
    cursor = (await storage.open_ledger(name)).cursors.get(SUBSCRIPTION) if name in storage.catalog.names else None
    done = {at for at in sources if cursor is not None and cursor.is_acknowledged(Position(*at))}
    return Effects((left, right), frozenset(done))


def _ledger(topic: str) -> str:
    return f"public/default/persistent/{topic}"


async def _shown(storage: StorageEngine, topic: str) -> frozenset[int]:
    if _ledger(topic) not in storage.catalog.names:
        return frozenset()
    ledger = await storage.open_ledger(_ledger(topic))
    shown: set[int] = set()
    position = ledger.first_position
    while block := await ledger.read(position, 1000, 4 << 20):
        shown.update(_transactions(block))
        position = Position(block.ledger_id, block.last_entry_id + 1)
    return frozenset(shown)


def _transactions(block: Block) -> list[int]:
    return [int(parse_entry(block.entry(row))[1]) for row in range(len(block)) if block.counts[row]]


def problem_of(made: Mapping[int, Transaction], ended: Collection[int], effects: Effects) -> str:
    """Why the effects are not those of whole transactions; empty if they are."""
    left, right = effects.shown
    for number, transaction in made.items():
        parts = {number in left, number in right, transaction.source in effects.acknowledged}
        if len(parts) > 1:
            return f"transaction {number} took effect in part"
        if True in parts and not transaction.commit:
            return f"transaction {number} took effect, though it was aborted"
        if False in parts and transaction.commit and number in ended:
            return f"transaction {number} was committed, and has no effect"
    return ""
