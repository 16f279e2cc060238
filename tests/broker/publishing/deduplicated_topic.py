"""A topic that is deduplicated: its producers, the receipts for their messages, and what is stored."""

from collections.abc import Callable

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.names import parse_topic
from broker_core.publishing.deduplication_snapshot import CURSOR
from broker_core.storage.records.position import EARLIEST
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import close_producer, producer, send

TOPIC = "persistent://public/default/t"
NAME = parse_topic(TOPIC)
NOWHERE = (1 << 64) - 1  # -1 in a receipt
RECEIPT = BaseCommand.SEND_RECEIPT


def config(**deduplication: int) -> BrokerConfig:
    return BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True, **deduplication))


def create(client: RawClient, name: str = "p", **fields: int) -> int:
    """The last sequence ID that the broker knows for that producer."""
    return int(client.ask(producer(TOPIC, producer_name=name, **fields), BaseCommand.PRODUCER_SUCCESS).last_sequence_id)


def receipts(client: RawClient, count: int) -> list[tuple[int, bool]]:
    """(sequence ID, whether the message was stored) of the next receipts."""
    found = [client.expect(RECEIPT) for _ in range(count)]
    return [(receipt.sequence_id, receipt.message_id.entryId != NOWHERE) for receipt in found]


def stored(broker: EmbeddedBroker) -> list[tuple[str, int]]:
    """(producer, sequence id) of the topic's entries."""

    async def read() -> list[tuple[str, int]]:
        ledger = (await broker.broker.topics.get(NAME)).ledger
        block = await ledger.read(EARLIEST, 1000, 1 << 20)
        found = [parse_metadata(block.entry(index)) for index in range(len(block))]
        return [(metadata.producer_name, metadata.sequence_id) for metadata in found]

    return broker.call(read())


def snapshot_of(broker: EmbeddedBroker) -> dict[str, str]:
    return loaded(broker, NAME).ledger.cursors[CURSOR].properties


def leave(client: RawClient, producer_id: int = 1) -> None:
    client.send(close_producer(producer_id))
    client.expect(BaseCommand.SUCCESS)


def publish_and_leave(client: RawClient, *names: str) -> None:
    for name in names:
        create(client, name)
        client.send(send(5, name=name))
        receipts(client, 1)
        leave(client)


def on_loop(broker: EmbeddedBroker, work: Callable[[], None]) -> None:
    async def run() -> None:
        work()

    broker.call(run())
