"""Layouts and assignments as clients get them."""

from typing import Any

from broker_core.names import parse_topic
from broker_core.scalable.layout import Layout, Segment
from broker_core.scalable.layout_message import assignment_message, layout_message
from broker_core.scalable.synthetic import synthetic_layout
from broker_core.wire import scalable_commands
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand, ScalableTopicDAG
from tests.unit.broker_core.wire.sessions import TO_CLIENT, stream

PLAIN, TLS = "pulsar://broker:6650", "pulsar+ssl://broker:6651"
TOPIC = parse_topic("topic://public/default/a")
LAYOUT = synthetic_layout(parse_topic("x"), 0)


def test_a_client_gets_both_addresses_of_the_controller() -> None:
    message = layout_message(LAYOUT, PLAIN, TLS)
    assert (message.controller_broker_url, message.controller_broker_url_tls) == (PLAIN, TLS)


def test_a_client_with_tls_gets_no_plain_address_of_the_controller() -> None:
    message = layout_message(LAYOUT, PLAIN, TLS, over_tls=True)
    assert not message.HasField("controller_broker_url")
    assert message.controller_broker_url_tls == TLS


def test_a_producer_gets_the_first_hashes_of_the_entry_buckets() -> None:
    message = layout_message(Layout.initial(1, 0, 4), PLAIN, "")
    assert list(message.segments[0].entry_bucket_splits) == [0x4000, 0x8000, 0xC000]


def test_a_consumer_that_shares_a_segment_gets_all_its_buckets() -> None:
    layout = Layout.initial(2, 0, 2)
    message = assignment_message(TOPIC, 0, layout.active, {1})
    ranges = [[(one.start, one.end) for one in segment.bucket_ranges] for segment in message.segments]
    assert ranges == [[], [(0, 0x7FFF), (0x8000, 0xFFFF)]]


def answers(kind: int) -> list[Any]:
    """What a broker of Pulsar 5.0.0-M1 told a client of the V5 API about `topic://public/default/a`."""
    items = FrameDecoder(30_000).feed(stream("java_v5_segments", TO_CLIENT))
    return [item.message for item in items if isinstance(item, Command) and item.type == kind]


def layout_in(dag: ScalableTopicDAG) -> Layout:
    segments = [
        Segment(one.segment_id, one.hash_start, one.hash_end, one.created_at_epoch, one.created_at_ms)
        for one in dag.segments
    ]
    return Layout(dag.epoch, 4, {segment.id: segment for segment in segments})


def test_our_layouts_equal_those_of_a_real_broker() -> None:
    for update in answers(BaseCommand.SCALABLE_TOPIC_UPDATE):
        theirs, url = update.dag, update.dag.segment_brokers[0].broker_url
        ours = layout_message(layout_in(theirs), url, "")
        for dag in (ours, theirs):
            dag.segment_brokers.sort(key=lambda one: one.segment_id)  # theirs have no order
        assert ours == theirs
        command = BaseCommand(type=BaseCommand.SCALABLE_TOPIC_UPDATE, scalableTopicUpdate=update)
        assert scalable_commands.topic_update(update.session_id, ours, str(TOPIC)) == frame(command)


def test_our_assignments_equal_those_of_a_real_broker() -> None:
    [response] = answers(BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE)
    [update] = answers(BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE)
    layout = layout_in(answers(BaseCommand.SCALABLE_TOPIC_UPDATE)[0].dag)
    ours = assignment_message(TOPIC, layout.epoch, layout.ready({}))
    assert response.assignment == update.assignment == ours
    recorded = stream("java_v5_segments", TO_CLIENT)
    assert scalable_commands.subscribed(response.request_id, ours) in recorded
    assert scalable_commands.assignment_update(update.consumer_id, ours) in recorded
