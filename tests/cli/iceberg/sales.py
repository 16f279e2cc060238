"""Records of several schema versions, published and read by the official client."""

from typing import Any

import pulsar
from pulsar.schema import Float, Integer, JsonSchema, Record, String


class Sale(Record):  # type: ignore[misc]  # the client ships no types
    number = Integer()
    amount = Float()


class SaleWithCity(Record):  # type: ignore[misc]  # the client ships no types
    number = Integer()
    amount = Float()
    city = String(default=None, required_default=True)


class SaleWithText(Record):  # type: ignore[misc]  # the client ships no types
    number = String()
    amount = Float()


SaleWithCity.__name__ = SaleWithText.__name__ = Sale.__name__  # later versions of the same record


def publish(client: pulsar.Client, topic: str, records: list[Any]) -> None:
    producer = client.create_producer(topic, schema=JsonSchema(type(records[0])))
    for record in records:
        producer.send_async(record, None, partition_key=f"{hash(record.number) % 3}")
    producer.flush()
    producer.close()


def seen_by_a_client(client: pulsar.Client, topic: str, count: int) -> tuple[int, float]:
    """Messages, and the sum of their amounts."""
    reader = client.create_reader(topic, pulsar.MessageId.earliest, schema=JsonSchema(Sale))
    amounts = [reader.read_next(20_000).value().amount for _ in range(count)]
    assert not reader.has_message_available()
    reader.close()
    return len(amounts), sum(amounts)
