"""Reading a scalable topic, segment after segment."""

from collections.abc import Callable

from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import CannotConnect
from pulsarctl.raw.entry import Entry
from pulsarctl.raw.partition_consumer import PartitionConsumer
from pulsarctl.raw.scalable.segment_reader import SegmentReader
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from pulsarctl.values.message_ids import LATEST
from tests.broker.scalable.requests import Requests
from tests.cli.raw.scalable.conftest import SECONDS
from tests.cli.raw.scalable.numbered import Numbers, by_key
from tests.support.cutting_relay import CuttingRelay

Change = Callable[[str], None]


def read(reader: SegmentReader, messages: int) -> list[Entry]:
    entries: list[Entry] = []
    while sum(entry.message_count for entry in entries) < messages:
        entry = reader.read(SECONDS)
        assert entry is not None
        entries.append(entry)
    return entries


def test_a_reader_follows_splits_and_merges(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, change: Change
) -> None:
    numbers = Numbers()
    with SegmentReader(pulsar_broker.service_url, scalable, start=LATEST) as reader:
        entries: list[Entry] = []
        for path in ("split/0", "merge/3/1", "split/4"):
            numbers.send(producer, 320)
            producer.flush()
            entries += read(reader, 160)
            change(path)
        numbers.send(producer, 320)
        producer.flush()
        entries += read(reader, 1280 - sum(entry.message_count for entry in entries))
        assert by_key(entries) == numbers.expected
        assert reader.read(0.1) is None


def test_a_reader_goes_on_after_the_broker_unloads_the_segments(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, admin: Requests
) -> None:
    numbers = Numbers()
    with SegmentReader(pulsar_broker.service_url, scalable) as reader:
        numbers.send(producer, 320)
        producer.flush()
        entries = read(reader, 160)
        assert admin("PUT", "namespaces/public/default/unload").status == 204
        numbers.send(producer, 320)
        producer.flush()
        entries += read(reader, 640 - sum(entry.message_count for entry in entries))
        assert by_key(entries) == numbers.expected


def test_a_reader_asks_again_for_the_last_message_if_the_segment_is_unloaded_meanwhile(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, admin: Requests
) -> None:
    class UnloadedMeanwhile(SegmentReader):
        """The segments are unloaded once, between a subscription and its question."""

        unloads = 0

        def _subscribe(self, consumer: PartitionConsumer) -> None:
            super()._subscribe(consumer)
            if self.unloads:
                self.unloads -= 1
                assert admin("PUT", "namespaces/public/default/unload").status == 204

    Numbers().send(producer, 16)
    producer.flush()
    with UnloadedMeanwhile(pulsar_broker.service_url, scalable) as reader:
        before = reader.last_ids()
        reader.unloads = 1
        assert reader.last_ids() == before


def test_a_reader_leaves_no_subscription(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, admin: Requests
) -> None:
    Numbers().send(producer, 16)
    producer.flush()
    with SegmentReader(pulsar_broker.service_url, scalable) as reader:
        read(reader, 16)
    assert '"subscriptions":{}' in admin("GET", f"scalable/public/default/{scalable.rpartition('/')[2]}/stats").text


def test_a_reader_gets_each_message_once_wherever_its_connection_is_cut(
    pulsar_broker: EmbeddedBroker, scalable: str, producer: SegmentsProducer, change: Change
) -> None:
    numbers, cuts = Numbers(), 0
    for path in ("split/0", "split/1"):
        numbers.send(producer, 80)
        producer.flush()
        change(path)
    numbers.send(producer, 80)
    producer.flush()
    for size in range(2500, 7500, 200):
        with CuttingRelay(pulsar_broker, iter([size])) as relay:
            try:
                reader = SegmentReader(relay.url, scalable, timeout_seconds=SECONDS)
            except CannotConnect:
                continue  # the cut came before the reader was open
            with reader:
                assert by_key(reader.to(reader.last_ids())) == numbers.expected, size
            cuts += relay.cuts
    assert cuts > 10
