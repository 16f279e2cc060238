"""Two clusters that replicate to each other, with an official client of each."""

from itertools import count

import pulsar

from broker_core.testing import EmbeddedBroker
from tests.support import official_client
from tests.support.clusters import new_namespace

NAMES = count()


class Pair:
    """The clusters `west` and `east`, with a client for each."""

    def __init__(self, west: EmbeddedBroker, east: EmbeddedBroker) -> None:
        self.west, self.east = west, east
        self.of_west, self.of_east = (official_client.connect(one.service_url) for one in (west, east))

    def topic(self) -> str:
        """A new topic in a namespace that is replicated between both."""
        namespace = new_namespace((self.west, self.east), f"ns{next(NAMES)}", ["west", "east"])
        return f"persistent://{namespace}/t"

    def one_way_topic(self) -> str:
        """As `topic`, but only the west replicates."""
        name = f"ns{next(NAMES)}"
        new_namespace((self.east,), name, ["east"])
        return f"persistent://{new_namespace((self.west,), name, ['west', 'east'])}/t"

    def close(self) -> None:
        self.of_west.close()
        self.of_east.close()


def publish(client: pulsar.Client, topic: str, payloads: list[bytes], **options: object) -> None:
    """Returns when all of them are on disk."""
    producer = client.create_producer(topic, block_if_queue_full=True, **options)
    for payload in payloads:
        producer.send_async(payload, None)
    producer.flush()
    producer.close()


def received(consumer: pulsar.Consumer, number: int) -> list[bytes]:
    return [consumer.receive(20_000).data() for _ in range(number)]


def is_empty(consumer: pulsar.Consumer, millis: int = 300) -> bool:
    try:
        consumer.receive(millis)
    except pulsar.Timeout:
        return True
    return False
