"""Messages that an official consumer receives."""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice

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


def arrivals(consumers: Sequence[pulsar.Consumer]) -> Iterator[tuple[int, pulsar.Message]]:
    """What comes to any of the consumers, with the index of that consumer; fails when nothing comes for too long."""
    patience = time.monotonic() + TIMEOUT_MS / 1000
    for index in cycle(range(len(consumers))):
        try:
            yield index, consumers[index].receive(timeout_millis=10)
        except pulsar.Timeout:
            assert time.monotonic() < patience, "no message came to any of the consumers"
        else:
            patience = time.monotonic() + TIMEOUT_MS / 1000


def shares(consumers: Sequence[pulsar.Consumer], count: int) -> list[list[pulsar.Message]]:
    """What each consumer gets of the next `count` messages, acknowledged. Fails if more come."""
    found: list[list[pulsar.Message]] = [[] for _ in consumers]
    for index, message in islice(arrivals(consumers), count):
        consumers[index].acknowledge(message)
        found[index].append(message)
    assert all(map(is_silent, consumers)), "more messages than expected"
    return found


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
