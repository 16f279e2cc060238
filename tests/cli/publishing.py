"""Messages for a command to read."""

import pulsar


def publish(client: pulsar.Client, topic: str, *values: str | bytes | None, **fields: object) -> list[pulsar.MessageId]:
    """Publishes each value as one entry; returns their IDs."""
    producer = client.create_producer(topic)
    ids = [producer.send(value.encode() if isinstance(value, str) else value, **fields) for value in values]
    producer.close()
    return ids
