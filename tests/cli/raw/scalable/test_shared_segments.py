"""Stream consumers that share a segment by its entry buckets."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.config.scaling import ScalingConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from tests.cli.raw.scalable.conftest import SECONDS, Open
from tests.cli.raw.scalable.numbered import KEYS, Numbers, consumed_by_key


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    """It never splits a segment by itself."""
    sharing, scaling = ScalableConfig(shares_buckets=True), ScalingConfig(enabled=False)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, scalable=sharing, scaling=scaling)) as broker:
        yield broker


def test_consumers_that_share_a_segment_have_different_keys_in_order(
    consumer_of: Open, producer: SegmentsProducer
) -> None:
    numbers = Numbers()
    with closing(consumer_of("a")) as first, closing(consumer_of("b")) as second, closing(consumer_of("c")) as third:
        consumers = [first, second, third]
        for consumer in consumers * 3:  # each one learns what the others have done
            assert consumer.receive(100, 1) == []
        numbers.send(producer, 160)
        producer.flush()
        keys: list[str] = []
        for consumer in consumers:
            records = consumer.receive(int(SECONDS * 1000), 160)
            while more := consumer.receive(200, 160):
                records = [*records, *more]
            consumer.settle(records)
            by_key = consumed_by_key(list(records))
            assert by_key == {key: numbers.expected[key] for key in by_key}
            keys += by_key
        assert sorted(keys) == sorted(KEYS)
