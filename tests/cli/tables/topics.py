"""What the tests of tables share: a table of a topic, its rows, and what an official reader sees."""

from typing import Any

import pulsar

from broker_core.testing import EmbeddedBroker
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable

RECEIVE_MS = 20_000


def table(broker: EmbeddedBroker, topic: str, **options: str) -> TopicTable:
    where = {"service_url": broker.service_url, "admin_url": broker.http_url, "topic": topic}
    return TopicTable.open(TableOptions.parse(where | options))


def rows(read: TopicTable) -> list[dict[str, Any]]:
    """The rows of all parts, in the order of the plan."""
    return [row for part in read.plan() for batch in read.read(part) for row in batch.to_pylist()]


def values(read: TopicTable) -> list[bytes]:
    return [row["value"] for row in rows(read)]


def seen_by_official_reader(client: pulsar.Client, topic: str) -> list[tuple[str, bytes]]:
    """(message ID, value) of all messages from the first to the last."""
    reader = client.create_reader(topic, pulsar.MessageId.earliest)
    found = []
    while reader.has_message_available():
        message = reader.read_next(RECEIVE_MS)
        place = message.message_id()
        batch = f":{place.batch_index()}" if place.batch_index() >= 0 else ""
        found.append((f"{place.ledger_id()}:{place.entry_id()}:{place.partition()}{batch}", message.data()))
    reader.close()
    return found
