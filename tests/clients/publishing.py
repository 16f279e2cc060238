"""Messages that an official producer publishes."""

from collections.abc import Sequence

import pulsar


def publish(client: pulsar.Client, topic: str, *values: int, batched: bool = False) -> list[pulsar.MessageId]:
    """Publishes numbers; `batched` sends them in one batch."""
    ids: list[pulsar.MessageId] = []
    producer = client.create_producer(
        topic,
        batching_enabled=batched,
        batching_max_publish_delay_ms=60_000,
        batching_max_messages=len(values) + 1,
        block_if_queue_full=True,
    )
    for value in values:
        producer.send_async(b"%d" % value, lambda _, message_id: ids.append(message_id))
    producer.flush()
    producer.close()
    return ids


def publish_keyed(
    client: pulsar.Client, topic: str, messages: Sequence[tuple[str | None, bytes]], *, batched: bool = False
) -> None:
    """Publishes (key, value)."""
    producer = client.create_producer(topic, batching_enabled=batched, block_if_queue_full=True)
    for key, value in messages:
        producer.send_async(value, None, partition_key=key)
    producer.flush()
    producer.close()
