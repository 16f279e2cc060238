"""Official clients that stay connected while their topic moves, and what they saw."""

import pulsar

from tests.support.worker import Worker

KEYS = 5
IDLE_MS = 200


class Publishing(Worker):
    """Numbers in order, each under one of a few keys. `pause_seconds` after each message."""

    def __init__(self, client: pulsar.Client, topic: str, *, pause_seconds: float = 0.0) -> None:
        super().__init__()
        self._producer = client.create_producer(topic, send_timeout_millis=0, batching_enabled=False)
        self._pause_seconds = pause_seconds
        self.sent = 0

    def turn(self) -> None:
        self._producer.send(b"live %d" % self.sent, partition_key=f"k{self.sent % KEYS}")
        self.sent += 1
        self.ended.wait(self._pause_seconds)


class Consuming(Worker):
    """Acknowledges everything. `found`: the live messages in the order of their first arrival."""

    def __init__(
        self, client: pulsar.Client, topic: str, kind: pulsar.ConsumerType, *, cumulatively: bool = False
    ) -> None:
        super().__init__()
        self._consumer = client.subscribe(
            topic, kind.name, consumer_type=kind, initial_position=pulsar.InitialPosition.Earliest
        )
        self._acknowledge = self._consumer.acknowledge_cumulative if cumulatively else self._consumer.acknowledge
        self.found: dict[int, None] = {}
        self.repeated = 0

    def turn(self) -> None:
        try:
            message = self._consumer.receive(IDLE_MS)
        except pulsar.Timeout:
            return
        if message.data().startswith(b"live "):
            number = int(message.data()[5:])
            self.repeated += number in self.found
            self.found.setdefault(number)
        self._acknowledge(message)


def check_nothing_is_lost(found: dict[int, None], sent: int) -> None:
    """Every message has arrived, and those of each key in order."""
    assert sorted(found) == list(range(sent))
    for key in range(KEYS):
        assert [number for number in found if number % KEYS == key] == list(range(key, sent, KEYS))
