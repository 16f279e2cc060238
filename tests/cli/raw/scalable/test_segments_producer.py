"""Publishing to a scalable topic while its segments are split and merged."""

from collections.abc import Callable
from contextlib import closing
from functools import partial

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from pulsarctl.errors import NotFound
from pulsarctl.raw.outgoing_entry import ProducerSettings
from pulsarctl.raw.scalable.layout import bucket_hash
from pulsarctl.raw.scalable.segment_reader import SegmentReader
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from pulsarctl.raw.topic_lookup import TopicLookup
from tests.broker.scalable.requests import Requests
from tests.cli.raw.scalable.conftest import SECONDS
from tests.cli.raw.scalable.numbered import Numbers, by_key

Change = Callable[[str], None]


@pytest.mark.parametrize("count", [1600, 5000])
def test_messages_without_a_receipt_follow_in_order_when_their_segment_is_sealed(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, change: Change, count: int
) -> None:
    numbers = Numbers()
    for path in ("split/0", "split/1", "merge/2/3", "merge/4/5", "merge/6/7", "split/8"):
        numbers.send(producer, count)
        change(path)
    numbers.send(producer, count)
    producer.flush()
    assert producer.sent == producer.acknowledged == producer.acknowledged_in_order == 7 * count
    with SegmentReader(pulsar_broker.service_url, scalable) as reader:
        assert by_key(reader.to(reader.last_ids())) == numbers.expected


def test_messages_without_a_receipt_are_sent_again_when_the_broker_unloads_their_segment(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, admin: Requests
) -> None:
    numbers = Numbers()
    numbers.send(producer, 2000)
    assert admin("PUT", "namespaces/public/default/unload").status == 204
    numbers.send(producer, 2000)
    producer.flush()
    with SegmentReader(pulsar_broker.service_url, scalable) as reader:
        stored = by_key(reader.to(reader.last_ids()))
    assert {key: list(dict.fromkeys(repeated)) for key, repeated in stored.items()} == numbers.expected


def test_a_topic_that_is_deleted_takes_no_messages(producer: SegmentsProducer, admin: Requests, scalable: str) -> None:
    Numbers().send(producer, 100)
    assert admin("DELETE", f"scalable/public/default/{scalable.rpartition('/')[2]}?force=true").status == 204
    with pytest.raises(NotFound, match="Scalable topic not found"):
        producer.flush()


def test_an_entry_has_keys_of_one_bucket_and_their_hashes(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer
) -> None:
    Numbers().send(producer, 1600)
    producer.flush()
    with SegmentReader(pulsar_broker.service_url, scalable) as reader:
        entries = list(reader.to(reader.last_ids()))
    assert len(entries) < 100
    for entry in entries:
        hashes = [bucket_hash(message.key or "") for message in entry.messages()]
        metadata = entry.metadata
        assert (metadata.entry_hash_min, metadata.entry_hash_max) == (min(hashes), max(hashes))
        assert min(hashes) // 0x8000 == max(hashes) // 0x8000  # two buckets in each of the two segments


def test_a_batch_that_is_larger_than_the_broker_allows_goes_in_several_entries() -> None:
    topic, numbers = "topic://public/default/t", Numbers()
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_message_size=4000))
    with EmbeddedBroker(config=config) as broker:
        lookup = partial(TopicLookup, broker.service_url, timeout_seconds=SECONDS)
        with closing(SegmentsProducer(lookup, topic, ProducerSettings("p"), SECONDS)) as producer:
            numbers.send(producer, 3200)
            producer.flush()
        with SegmentReader(broker.service_url, topic) as reader:
            assert by_key(reader.to(reader.last_ids())) == numbers.expected
