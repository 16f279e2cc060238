"""Messages that an official consumer receives."""

from collections.abc import Iterable

import pulsar

from tests.clients.conftest import TIMEOUT_MS


def receive(consumer: pulsar.Consumer, count: int = 1) -> list[pulsar.Message]:
    return [consumer.receive(timeout_millis=TIMEOUT_MS) for _ in range(count)]


def consume(consumer: pulsar.Consumer, count: int = 1) -> list[pulsar.Message]:
    """Receives messages and acknowledges each one."""
    messages = []
    for _ in range(count):
        message = consumer.receive(timeout_millis=TIMEOUT_MS)
        consumer.acknowledge(message)
        messages.append(message)
    return messages


def payloads(messages: Iterable[pulsar.Message]) -> list[bytes]:
    return [message.data() for message in messages]


def values(messages: Iterable[pulsar.Message]) -> list[int]:
    """The numbers that the messages contain."""
    return [int(message.data()) for message in messages]


def is_silent(consumer: pulsar.Consumer, milliseconds: int = 200) -> bool:
    """Whether the consumer receives nothing for that time."""
    try:
        consumer.receive(timeout_millis=milliseconds)
    except pulsar.Timeout:
        return True
    return False


def gets_only(consumer: pulsar.Consumer, *expected: int) -> bool:
    """Expects exactly these messages, in this order."""
    assert values(receive(consumer, len(expected))) == list(expected)
    return is_silent(consumer)
