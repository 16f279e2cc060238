"""One consumer on a segment, and what it remembers of messages."""

import tracemalloc

from broker_core.wire.frame import MessageFrame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import CommandMessage, MessageIdData, MessageMetadata
from pulsarctl.raw.scalable.membership import Assigned
from pulsarctl.raw.scalable.segment_consumer import ConsumerSettings, SegmentConsumer

ENTRY = build_entry(MessageMetadata(producer_name="p", sequence_id=1, publish_time=1000), b"x")


def message(entry_id: int) -> MessageFrame:
    return MessageFrame(CommandMessage(consumer_id=1, message_id=MessageIdData(ledgerId=1, entryId=entry_id)), ENTRY)


def test_messages_that_will_not_be_acknowledged_leave_nothing_in_memory() -> None:
    settings = ConsumerSettings("s", "c", is_shared=False, from_earliest=True, permits=1 << 20, acknowledges=False)
    consumer = SegmentConsumer(Assigned("segment"), 0, 1, settings)
    assert len(list(consumer.take(message(0)))) == 1
    tracemalloc.start()
    for entry_id in range(1, 2000):
        list(consumer.take(message(entry_id)))
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert left < 2000 * 20
