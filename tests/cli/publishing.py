"""Messages for a command to read."""

import pulsar


def publish(client: pulsar.Client, topic: str, *values: str | bytes | None, **fields: object) -> list[pulsar.MessageId]:
    """Publishes each value as one entry; returns their IDs."""
    producer = client.create_producer(topic)
    ids = [producer.send(value.encode() if isinstance(value, str) else value, **fields) for value in values]
    producer.close()
    return ids


def publish_batch(client: pulsar.Client, topic: str, *values: str) -> None:
    """Publishes the values as one entry."""
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=60_000)
    for value in values:
        producer.send_async(value.encode(), callback=None)
    producer.flush()
    producer.close()
