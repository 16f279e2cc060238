"""Sends orders with a key for each customer, and bills each customer's orders in order.

Usage: python examples/client.py [SERVICE_URL]
"""

import sys

import pulsar

TOPIC = "persistent://public/default/example-orders"
ORDERS = [("ada", 12.50), ("bob", 3.20), ("ada", 7.99)]


def main(service_url: str) -> None:
    client = pulsar.Client(service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    try:
        # Subscribe first: a new subscription starts with the next message.
        consumer = client.subscribe(TOPIC, "billing", consumer_type=pulsar.ConsumerType.KeyShared)
        send(client)
        bill(consumer)
    finally:
        client.close()


def send(client: pulsar.Client) -> None:
    # Batches by key keep a customer's messages together, as Key_Shared needs.
    producer = client.create_producer(TOPIC, batching_enabled=True, batching_type=pulsar.BatchingType.KeyBased)
    for customer, amount in ORDERS:
        producer.send_async(f"{amount:.2f}".encode(), callback=report, partition_key=customer)
    producer.flush()
    producer.close()


def report(result: pulsar.Result, _message_id: pulsar.MessageId) -> None:
    """The broker has stored the message if the result is Ok."""
    if result != pulsar.Result.Ok:
        print(f"cannot send: {result}", file=sys.stderr)


def bill(consumer: pulsar.Consumer) -> None:
    for _ in ORDERS:
        message = consumer.receive(timeout_millis=10_000)
        print(f"{message.partition_key()} pays {message.data().decode()}")
        # Without this, the broker delivers the message again to the next consumer.
        consumer.acknowledge(message)
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650")
