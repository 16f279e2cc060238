"""The protocol, command by command: answers, errors, and what closes the connection."""

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.metadata.policies.values import DelayedDelivery
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import Closed, RawClient

PUBLISHED_MS = 1_700_000_000_000


def producer(topic: str, **fields: object) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.PRODUCER)
    command.producer.CopyFrom(pb.CommandProducer(topic=topic, producer_id=1, request_id=1, **fields))  # type: ignore[arg-type]  # by name
    return command


def send(sequence_id: int, payload: bytes = b"x", *, deliver_at: int | None = None, **fields: object) -> bytes:
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=sequence_id, publish_time=PUBLISHED_MS)
    if deliver_at is not None:
        metadata.deliver_at_time = deliver_at
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=1, sequence_id=sequence_id, **fields))  # type: ignore[arg-type]  # by name
    return frame(command, build_entry(metadata, payload))


def test_the_handshake_announces_only_supported_features(raw: RawClient) -> None:
    assert raw.connected.server_version.startswith("pulsarctl")
    assert raw.connected.protocol_version == 21
    assert raw.connected.max_message_size == 5 * 1024 * 1024
    flags = [field.name for field, value in raw.connected.feature_flags.ListFields() if value]
    assert flags == [
        "supports_topic_watchers",
        "supports_get_partitioned_metadata_without_auto_creation",
        "supports_repl_dedup_by_lid_and_eid",
        "supports_scalable_topics",
        "supports_tc_metadata_discovery",
    ]


def test_an_older_client_gets_its_own_version_back(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url, handshake=False) as client:
        client.send(client_commands.connect("old", protocol_version=11))
        assert client.expect(BaseCommand.CONNECTED).protocol_version == 11


def test_ping_is_answered(raw: RawClient) -> None:
    raw.send(commands.ping())
    raw.expect(BaseCommand.PONG)


@pytest.mark.parametrize(
    "first",
    [
        commands.ping(),
        client_commands.lookup(1, "persistent://public/default/t"),
        b"\x00\x00\x00\x01",
        b"\x7f\xff\xff\xff\x00\x00\x00\x05",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["ping", "lookup", "short", "oversized", "http"],
)
def test_another_command_before_connect_closes_the_connection(pulsar_broker: EmbeddedBroker, first: bytes) -> None:
    with RawClient(pulsar_broker.service_url, handshake=False) as client:
        client.send(first)
        assert client.is_closed()


def test_a_second_connect_closes_the_connection(raw: RawClient) -> None:
    raw.send(client_commands.connect("again"))
    assert raw.is_closed()


def test_a_send_without_a_producer_closes_the_connection(raw: RawClient) -> None:
    raw.send(send(0))
    assert raw.is_closed()


def test_flow_without_permits_closes_the_connection(raw: RawClient) -> None:
    raw.send(client_commands.flow(1, 0))
    assert raw.is_closed()


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (BaseCommand.END_TXN_ON_SUBSCRIPTION, "endTxnOnSubscription"),
        (BaseCommand.END_TXN_ON_PARTITION, "endTxnOnPartition"),
    ],
)
def test_an_unsupported_command_is_refused_by_name(raw: RawClient, kind: int, field: str) -> None:
    command = BaseCommand(type=kind)  # type: ignore[arg-type]  # enum values are ints here
    body = getattr(command, field)
    for descriptor in body.DESCRIPTOR.fields:
        if descriptor.name in ("request_id", "watcher_id", "tc_id"):
            setattr(body, descriptor.name, 9)
        elif descriptor.name in ("namespace", "topics_pattern"):
            setattr(body, descriptor.name, "public/default")
    refused = raw.ask(command, BaseCommand.ERROR)
    assert (refused.error, refused.request_id) == (pb.NotAllowedError, 9)
    assert BaseCommand.Type.Name(kind) in refused.message  # type: ignore[arg-type]  # enum values are ints here


def test_a_missing_schema_is_not_found(raw: RawClient) -> None:
    command = BaseCommand(type=BaseCommand.GET_SCHEMA)
    command.getSchema.request_id = 4
    command.getSchema.topic = "persistent://public/default/t"
    refused = raw.ask(command, BaseCommand.GET_SCHEMA_RESPONSE)
    assert refused.request_id == 4
    assert refused.HasField("error_code")


def test_a_wrong_checksum_is_refused_and_the_connection_stays(raw: RawClient) -> None:
    raw.ask(producer("persistent://public/default/checksum"), BaseCommand.PRODUCER_SUCCESS)
    broken = bytearray(send(5))
    broken[-1] ^= 1
    raw.send(bytes(broken))
    refused = raw.expect(BaseCommand.SEND_ERROR)
    assert (refused.sequence_id, refused.error) == (5, pb.ChecksumError)
    raw.send(send(6))
    assert raw.expect(BaseCommand.SEND_RECEIPT).sequence_id == 6


def test_a_delayed_message_is_accepted_among_others(raw: RawClient) -> None:
    raw.ask(producer("persistent://public/default/delayed"), BaseCommand.PRODUCER_SUCCESS)
    raw.send(send(0) + send(1) + send(2, deliver_at=1_800_000_000_000) + send(3))
    answers = [raw.next() for _ in range(4)]
    found = {item.message.sequence_id: item.type for item in answers if isinstance(item, Command)}
    assert found == dict.fromkeys(range(4), BaseCommand.SEND_RECEIPT)


def test_a_delay_over_the_limit_is_refused(raw: RawClient, pulsar_broker: EmbeddedBroker) -> None:
    topic = "persistent://public/default/long-delay"
    raw.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
    policy = DelayedDelivery(tick_ms=1000, active=True, max_delay_ms=10_000)
    tenancy = pulsar_broker.broker.tenancy
    pulsar_broker.call(tenancy.topic_policies.set(parse_topic(topic), delayed_delivery=policy))
    raw.send(send(0, deliver_at=PUBLISHED_MS + 10_000))
    raw.expect(BaseCommand.SEND_RECEIPT)
    raw.send(send(1, deliver_at=PUBLISHED_MS + 10_001))
    refused = raw.expect(BaseCommand.SEND_ERROR)
    assert (refused.sequence_id, refused.error) == (1, pb.NotAllowedError)
    assert refused.message == "Exceeds max allowed delivery delay of 10000 milliseconds"
    raw.send(send(2))
    assert raw.expect(BaseCommand.SEND_RECEIPT).sequence_id == 2


def test_a_property_that_looks_like_a_delivery_time_is_ignored(raw: RawClient) -> None:
    raw.ask(producer("persistent://public/default/looks-delayed"), BaseCommand.PRODUCER_SUCCESS)
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=1, ordering_key=b"\x98\x01\x05")
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=1, sequence_id=0))
    raw.send(frame(command, build_entry(metadata, b"x")))
    assert raw.expect(BaseCommand.SEND_RECEIPT).sequence_id == 0


def test_receipts_stay_in_order_around_a_refusal(raw: RawClient) -> None:
    raw.ask(producer("persistent://public/default/order"), BaseCommand.PRODUCER_SUCCESS)
    broken = bytearray(send(1))
    broken[-1] ^= 1
    raw.send(send(0) + bytes(broken) + send(2) + send(3, txnid_least_bits=1))
    answers = [raw.next() for _ in range(4)]
    receipts = [item.message.sequence_id for item in answers if item.type == BaseCommand.SEND_RECEIPT]  # type: ignore[union-attr]  # a producer gets commands only
    refused = {item.message.sequence_id for item in answers if item.type == BaseCommand.SEND_ERROR}  # type: ignore[union-attr]  # a producer gets commands only
    assert receipts == [0, 2]
    assert refused == {1, 3}


def test_an_ack_with_a_request_id_is_answered(raw: RawClient) -> None:
    topic = "persistent://public/default/ack-receipt"
    raw.send(client_commands.subscribe(1, topic, "s", 1))
    raw.expect(BaseCommand.SUCCESS)
    raw.ask(producer(topic), BaseCommand.PRODUCER_SUCCESS)
    raw.send(send(0))
    receipt = raw.expect(BaseCommand.SEND_RECEIPT)
    raw.send(client_commands.flow(1, 10))
    message_id = raw.expect(BaseCommand.MESSAGE).message_id
    assert (message_id.ledgerId, message_id.entryId) == (receipt.message_id.ledgerId, receipt.message_id.entryId)
    raw.send(client_commands.acknowledge(1, [message_id], request_id=77))
    answer = raw.expect(BaseCommand.ACK_RESPONSE)
    assert (answer.request_id, answer.HasField("error")) == (77, False)


def test_an_ack_of_an_unknown_consumer_is_answered_with_the_reason(raw: RawClient) -> None:
    raw.send(client_commands.acknowledge(5, [commands.message_id(1, 1)], request_id=78))
    answer = raw.expect(BaseCommand.ACK_RESPONSE)
    assert (answer.request_id, answer.error) == (78, pb.ConsumerNotFound)


def test_a_topic_name_of_four_parts_is_looked_up(raw: RawClient) -> None:
    raw.send(client_commands.lookup(8, "persistent://property/cluster/namespace/topic"))
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).response == pb.CommandLookupTopicResponse.Connect


def test_a_global_namespace_must_be_created_first(raw: RawClient) -> None:
    raw.send(client_commands.partitioned_metadata(8, "persistent://property/global/namespace/topic"))
    assert raw.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE).error == pb.TopicNotFound


def test_a_lookup_of_an_unknown_listener_fails(raw: RawClient) -> None:
    raw.send(client_commands.lookup(8, "persistent://public/default/t", listener="test"))
    refused = raw.expect(BaseCommand.LOOKUP_RESPONSE)
    assert (refused.request_id, refused.error) == (8, pb.ServiceNotReady)
    assert refused.message == "the broker do not have test listener"


def test_a_lookup_of_the_empty_listener_name_is_answered(raw: RawClient) -> None:
    raw.send(client_commands.lookup(8, "persistent://public/default/t", listener=""))
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).response == pb.CommandLookupTopicResponse.Connect


def test_a_missing_namespace_is_not_found(raw: RawClient) -> None:
    raw.send(client_commands.partitioned_metadata(9, "persistent://missing/missing/t"))
    refused = raw.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE)
    assert (refused.request_id, refused.error) == (9, pb.TopicNotFound)


def test_a_silent_connection_is_pinged_and_then_closed() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(keep_alive_seconds=0.2))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        client.expect(BaseCommand.PING)
        assert client.is_closed(seconds=5)


def test_a_connection_that_answers_pings_stays_open() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(keep_alive_seconds=0.2))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        for _ in range(5):
            client.expect(BaseCommand.PING)
            client.send(commands.pong())


def test_a_request_over_the_limit_is_refused() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_lookups=2))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        topic = "persistent://public/default/many"
        client.send(b"".join(client_commands.partitioned_metadata(number, topic) for number in range(3)))
        answers = [client.expect(BaseCommand.PARTITIONED_METADATA_RESPONSE) for _ in range(3)]
        refused = {answer.request_id: answer.error for answer in answers if answer.HasField("error")}
        assert refused == {2: pb.TooManyRequests}


def test_a_connection_over_the_limit_gets_an_error_and_is_closed() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_connections=1))
    with (
        EmbeddedBroker(config=config) as broker,
        RawClient(broker.service_url),
        RawClient(broker.service_url, handshake=False) as second,
    ):
        refused = second.expect(BaseCommand.ERROR)
        assert refused.error == pb.NotAllowedError
        assert refused.message == "Reached the maximum number of connections"
        assert second.is_closed()


MANY_PINGS = commands.ping() * 5_000  # in one read, and more than one iteration of the loop handles


def test_thousands_of_commands_in_one_read_are_answered_in_order(raw: RawClient) -> None:
    raw.send(MANY_PINGS + client_commands.lookup(7, "persistent://public/default/t"))
    for _ in range(5_000):
        raw.expect(BaseCommand.PONG)
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).request_id == 7


def test_thousands_of_commands_before_a_broken_frame_are_answered(raw: RawClient) -> None:
    raw.send(MANY_PINGS + b"\x00\x00\x00\x01")
    for _ in range(4_000):  # the last answers may go with the connection
        raw.expect(BaseCommand.PONG)
    with pytest.raises(Closed):
        while True:
            raw.next()
