"""An embedded broker, its admin API, a topic for each test, and producers for it."""

from collections.abc import Callable, Iterator

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.raw.outgoing_entry import ProducerSettings
from pulsarctl.raw.scalable.segment_consumer import ConsumerSettings
from pulsarctl.raw.scalable.segments_consumer import SegmentsConsumer
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from pulsarctl.raw.topic_lookup import TopicLookup
from tests.broker.scalable.requests import Requests

SECONDS = 10.0
Open = Callable[..., SegmentsConsumer]


@pytest.fixture
def admin(pulsar_broker: EmbeddedBroker) -> Requests:
    return Requests(pulsar_broker)


@pytest.fixture
def scalable(admin: Requests, topic: str) -> str:
    """A topic with two segments, 0 and 1."""
    assert admin("PUT", f"scalable/public/default/{topic}?numInitialSegments=2").status == 204
    return f"topic://public/default/{topic}"


@pytest.fixture
def change(admin: Requests, scalable: str) -> Callable[[str], None]:
    """`change("split/0")` and `change("merge/1/2")`."""

    def post(path: str) -> None:
        reply = admin("POST", f"scalable/public/default/{scalable.rpartition('/')[2]}/{path}")
        assert reply.status == 204, reply

    return post


@pytest.fixture
def producer(pulsar_broker: EmbeddedBroker, scalable: str) -> Iterator[SegmentsProducer]:
    def lookup() -> TopicLookup:
        return TopicLookup(pulsar_broker.service_url, timeout_seconds=SECONDS)

    opened = SegmentsProducer(lookup, scalable, ProducerSettings("p"), SECONDS)
    yield opened
    opened.close()


@pytest.fixture
def consumer_of(pulsar_broker: EmbeddedBroker, scalable: str) -> Open:
    def lookup() -> TopicLookup:
        return TopicLookup(pulsar_broker.service_url, timeout_seconds=SECONDS)

    def opened(name: str = "c", *, is_shared: bool = False, from_earliest: bool = True) -> SegmentsConsumer:
        settings = ConsumerSettings("s", name, is_shared, from_earliest, permits=100)
        return SegmentsConsumer(lookup, scalable, settings, SECONDS)

    return opened
