"""Hostile commands: the error that they get, and that the broker keeps working."""

import contextlib
import json
import logging
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig, TransactionConfig
from broker_core.server.command_table import COMMANDS
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands, commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.frame import Command, MessageFrame
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.fields import is_repeated
from tests.support.raw_client import RawClient

TOPIC = "persistent://public/default/hostile"
NOT_UTF8 = b"\xc3\x28\xff\xfe"

EXTREMES = {
    FieldDescriptor.TYPE_INT32: (-(1 << 31), -1, 0, (1 << 31) - 1),
    FieldDescriptor.TYPE_INT64: (-(1 << 63), -1, 0, (1 << 63) - 1),
    FieldDescriptor.TYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.TYPE_UINT64: (0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
}


@pytest.fixture(autouse=True)
def _fresh_topic(pulsar_broker: EmbeddedBroker) -> Iterator[None]:
    yield
    url = f"{pulsar_broker.http_url}/admin/v2/persistent/public/default/hostile?force=true"
    with contextlib.suppress(urllib.error.HTTPError):  # not every test makes it
        urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=10).close()


def named(text: str, replaced_by: bytes, encoded: bytes) -> bytes:
    assert len(text) == len(replaced_by)
    assert text.encode() in encoded
    return encoded.replace(text.encode(), replaced_by)


def producer(producer_id: int = 1, **fields: Any) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.PRODUCER)
    command.producer.CopyFrom(pb.CommandProducer(topic=TOPIC, producer_id=producer_id, request_id=1, **fields))
    return command


def subscribe(**fields: Any) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.SUBSCRIBE)
    given = {"topic": TOPIC, "subscription": "s", "subType": pb.CommandSubscribe.Shared, "consumer_id": 1}
    command.subscribe.CopyFrom(pb.CommandSubscribe(request_id=1, **{**given, **fields}))
    return command


def send(sequence_id: int, **fields: Any) -> bytes:
    metadata = pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=1)
    command = BaseCommand(type=BaseCommand.SEND)
    command.send.CopyFrom(pb.CommandSend(producer_id=1, sequence_id=sequence_id, **fields))
    return frame(command, build_entry(metadata, b"x"))


def get(broker: EmbeddedBroker, path: str) -> bytes:
    with urllib.request.urlopen(f"{broker.http_url}{path}", timeout=10) as answer:
        found: bytes = answer.read()
        return found


def assert_well(broker: EmbeddedBroker) -> dict[str, Any]:
    get(broker, "/metrics")
    found: dict[str, Any] = json.loads(get(broker, "/admin/v2/persistent/public/default/hostile/stats"))
    return found


def test_a_producer_name_that_is_not_text_is_refused(pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.ask(producer(), BaseCommand.PRODUCER_SUCCESS)
    raw.send(named("name", NOT_UTF8, frame(producer(2, producer_name="name"))))
    assert raw.expect(BaseCommand.ERROR).error == pb.NotAllowedError
    assert len(assert_well(pulsar_broker)["publishers"]) == 1


def test_subscription_properties_that_are_not_text_are_refused(pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.ask(producer(), BaseCommand.PRODUCER_SUCCESS)
    properties = [pb.KeyValue(key="k", value="prop")]
    raw.send(named("prop", NOT_UTF8, frame(subscribe(subscription_properties=properties))))
    refused = raw.expect(BaseCommand.ERROR)
    assert (refused.error, refused.message) == (pb.NotAllowedError, "subscription_properties is not valid UTF-8")
    assert assert_well(pulsar_broker)["subscriptions"] == {}


def test_messages_before_a_broken_frame_in_one_chunk_are_stored(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as first:
        first.ask(producer(), BaseCommand.PRODUCER_SUCCESS)
        first.send(send(0) + send(1) + b"\x00\x00\x00\x01\x00\x00\x00\x00")
        assert first.is_closed()
    with RawClient(pulsar_broker.service_url) as second:
        second.ask(subscribe(initialPosition=pb.CommandSubscribe.Earliest), BaseCommand.SUCCESS)
        second.send(client_commands.flow(1, 10))
        assert [second.expect(BaseCommand.MESSAGE).message_id.entryId for _ in range(2)] == [0, 1]


def test_an_entry_that_claims_two_billion_messages_is_refused(pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.ask(producer(), BaseCommand.PRODUCER_SUCCESS)
    raw.send(send(7, num_messages=(1 << 31) - 1))
    refused = raw.expect(BaseCommand.SEND_ERROR)
    assert (refused.sequence_id, refused.error) == (7, pb.NotAllowedError)
    raw.send(send(8))
    assert raw.expect(BaseCommand.SEND_RECEIPT).sequence_id == 8
    assert assert_well(pulsar_broker)["msgInCounter"] == 1


@pytest.mark.parametrize("field", ["sequence_id", "highest_sequence_id"])
def test_a_sequence_id_beyond_what_a_receipt_of_pulsar_holds_is_refused(field: str) -> None:
    """With deduplication, it returns in the next PRODUCER_SUCCESS as a signed number."""
    config = BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True))
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        client.ask(producer(producer_name="p"), BaseCommand.PRODUCER_SUCCESS)
        client.send(send(**{"sequence_id": 0, field: 1 << 63}))
        assert client.expect(BaseCommand.SEND_ERROR).error == pb.NotAllowedError
        client.send(commands.close_producer(1, 2))
        client.expect(BaseCommand.SUCCESS)
        with RawClient(broker.service_url) as second:
            assert second.ask(producer(producer_name="p"), BaseCommand.PRODUCER_SUCCESS).last_sequence_id == -1


def test_too_many_message_ids_in_an_acknowledgment_are_refused(raw: RawClient) -> None:
    raw.ask(subscribe(), BaseCommand.SUCCESS)
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.CopyFrom(pb.CommandAck(consumer_id=1, ack_type=pb.CommandAck.Individual, request_id=9))
    command.ack.message_id.extend([pb.MessageIdData(ledgerId=1, entryId=1)] * 20_001)
    answer = raw.ask(command, BaseCommand.ACK_RESPONSE)
    assert (answer.consumer_id, answer.request_id, answer.error) == (1, 9, pb.NotAllowedError)
    assert "maxMessageIdsPerCommand" in answer.message


def test_huge_permits_stay_a_number_that_clients_can_read(pulsar_broker: EmbeddedBroker, raw: RawClient) -> None:
    raw.ask(producer(), BaseCommand.PRODUCER_SUCCESS)
    raw.ask(subscribe(), BaseCommand.SUCCESS)
    for _ in range(3):
        raw.send(client_commands.flow(1, (1 << 32) - 1))
    raw.send(commands.ping())
    raw.expect(BaseCommand.PONG)
    (consumer,) = assert_well(pulsar_broker)["subscriptions"]["s"]["consumers"]
    assert consumer["availablePermits"] == (1 << 31) - 1


def extreme_commands() -> Iterator[tuple[str, BaseCommand]]:
    """Sets every number in every command to the ends of its range, with valid values elsewhere."""
    for kind, name in ((kind, BaseCommand.DESCRIPTOR.fields_by_number[kind].name) for kind in COMMANDS):
        for path, field in numbers(sensible(kind, name)):
            for value in EXTREMES.get(field.type, ()):
                base = BaseCommand(type=kind)  # type: ignore[arg-type]  # enum values are ints here
                message = sensible(kind, name)
                getattr(base, name).CopyFrom(message)
                owner = getattr(base, name)
                for parent in path:
                    owner = getattr(owner, parent)
                    owner = owner[0] if not hasattr(owner, "DESCRIPTOR") else owner
                if is_repeated(field):
                    getattr(owner, field.name).append(value)
                else:
                    setattr(owner, field.name, value)
                yield f"{name}.{'.'.join((*path, field.name))}={value}", base


def numbers(message: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], FieldDescriptor]]:
    for field in message.DESCRIPTOR.fields:
        if field.type in EXTREMES:
            yield path, field
        elif field.message_type is not None and message.ListFields():
            part = getattr(message, field.name)
            present = list(part)[:1] if is_repeated(field) else [part] if message.HasField(field.name) else []
            for one in present:
                yield from numbers(one, (*path, field.name))


def sensible(kind: int, name: str) -> Any:
    here = pb.MessageIdData(ledgerId=1, entryId=0)
    schema = pb.Schema(name="s", schema_data=b"", type=pb.Schema.String)
    ranges = pb.KeySharedMeta(keySharedMode=pb.STICKY, hashRanges=[pb.IntRange(start=0, end=9)])
    bodies: dict[int, Any] = {
        BaseCommand.CONNECT: pb.CommandConnect(client_version="c", protocol_version=21),
        BaseCommand.LOOKUP: pb.CommandLookupTopic(topic=TOPIC, request_id=1),
        BaseCommand.PARTITIONED_METADATA: pb.CommandPartitionedTopicMetadata(topic=TOPIC, request_id=1),
        BaseCommand.GET_TOPICS_OF_NAMESPACE: pb.CommandGetTopicsOfNamespace(namespace="public/default", request_id=1),
        BaseCommand.WATCH_TOPIC_LIST: pb.CommandWatchTopicList(
            request_id=1, watcher_id=5, namespace="public/default", topics_pattern=".*"
        ),
        BaseCommand.WATCH_TOPIC_LIST_CLOSE: pb.CommandWatchTopicListClose(request_id=1, watcher_id=5),
        BaseCommand.PRODUCER: pb.CommandProducer(topic=TOPIC, producer_id=77, request_id=1, epoch=0, topic_epoch=0),
        BaseCommand.CLOSE_PRODUCER: pb.CommandCloseProducer(producer_id=77, request_id=1),
        BaseCommand.SUBSCRIBE: pb.CommandSubscribe(
            topic=TOPIC,
            subscription="keyed",
            subType=pb.CommandSubscribe.Key_Shared,
            consumer_id=77,
            request_id=1,
            durable=False,
            start_message_id=here,
            keySharedMeta=ranges,
            schema=schema,
        ),
        BaseCommand.FLOW: pb.CommandFlow(consumer_id=1, messagePermits=1),
        BaseCommand.ACK: pb.CommandAck(
            consumer_id=1, ack_type=pb.CommandAck.Individual, message_id=[here], request_id=1
        ),
        BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES: pb.CommandRedeliverUnacknowledgedMessages(
            consumer_id=1, message_ids=[here]
        ),
        BaseCommand.SEEK: pb.CommandSeek(consumer_id=1, request_id=1, message_id=here),
        BaseCommand.GET_LAST_MESSAGE_ID: pb.CommandGetLastMessageId(consumer_id=1, request_id=1),
        BaseCommand.CONSUMER_STATS: pb.CommandConsumerStats(consumer_id=1, request_id=1),
        BaseCommand.UNSUBSCRIBE: pb.CommandUnsubscribe(consumer_id=1, request_id=1),
        BaseCommand.CLOSE_CONSUMER: pb.CommandCloseConsumer(consumer_id=1, request_id=1),
        BaseCommand.GET_SCHEMA: pb.CommandGetSchema(topic=TOPIC, request_id=1, schema_version=b"\xff" * 8),
        BaseCommand.GET_OR_CREATE_SCHEMA: pb.CommandGetOrCreateSchema(topic=TOPIC, request_id=1, schema=schema),
        BaseCommand.SCALABLE_TOPIC_LOOKUP: pb.CommandScalableTopicLookup(session_id=1, topic=TOPIC),
        BaseCommand.SCALABLE_TOPIC_CLOSE: pb.CommandScalableTopicClose(session_id=1),
        BaseCommand.SCALABLE_TOPIC_SUBSCRIBE: pb.CommandScalableTopicSubscribe(
            request_id=1, topic=TOPIC, subscription="s", consumer_name="c", consumer_id=3, consumer_type=pb.STREAM
        ),
        BaseCommand.SCALABLE_TOPIC_UNSUBSCRIBE: pb.CommandScalableTopicUnsubscribe(request_id=1, consumer_id=3),
        BaseCommand.WATCH_SCALABLE_TOPICS: pb.CommandWatchScalableTopics(watch_id=1, namespace="public/default"),
        BaseCommand.WATCH_SCALABLE_TOPICS_CLOSE: pb.CommandWatchScalableTopicsClose(watch_id=1),
        BaseCommand.WATCH_TC_ASSIGNMENTS: pb.CommandWatchTcAssignments(watch_id=1),
        BaseCommand.WATCH_TC_ASSIGNMENTS_CLOSE: pb.CommandWatchTcAssignmentsClose(watch_id=1),
        BaseCommand.TC_CLIENT_CONNECT_REQUEST: pb.CommandTcClientConnectRequest(request_id=1, tc_id=0),
        BaseCommand.NEW_TXN: pb.CommandNewTxn(request_id=1, txn_ttl_millis=1000),
        BaseCommand.ADD_PARTITION_TO_TXN: pb.CommandAddPartitionToTxn(request_id=1, partitions=[TOPIC]),
        BaseCommand.ADD_SUBSCRIPTION_TO_TXN: pb.CommandAddSubscriptionToTxn(
            request_id=1, subscription=[pb.Subscription(topic=TOPIC, subscription="s")]
        ),
        BaseCommand.END_TXN: pb.CommandEndTxn(request_id=1, txn_action=pb.COMMIT),
    }
    body = bodies.get(kind)
    if body is None:
        body = getattr(BaseCommand(), name)
    return body


@pytest.fixture
def transactional() -> Iterator[EmbeddedBroker]:
    config = replace(BrokerConfig(server=FREE_PORTS), transactions=TransactionConfig(enabled=True))
    with EmbeddedBroker(config=config) as broker:
        yield broker


def test_no_number_in_any_command_surprises_the_broker(
    transactional: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "broker_core")
    cases = list(extreme_commands())
    assert len(cases) > 150
    for number, (what, command) in enumerate(cases):
        with RawClient(transactional.service_url) as client:
            client.ask(producer(), BaseCommand.PRODUCER_SUCCESS)
            # Each case has its own subscription: an UNSUBSCRIBE of the last case may still be on its way to the disk.
            client.ask(subscribe(subscription=f"s-{number}"), BaseCommand.SUCCESS)
            client.send(send(0) + client_commands.flow(1, 10) + frame(command) + commands.ping())
            for item in until_pong(client):
                if isinstance(item, Command) and item.type == BaseCommand.ERROR:
                    assert item.message.error != pb.UnknownError, (what, item)
        assert not [record for record in caplog.records if record.exc_info], what
    assert_well(transactional)


def until_pong(client: RawClient) -> Iterator[Command | MessageFrame]:
    while True:
        try:
            item = client.next()
        except Exception as error:
            assert type(error).__name__ == "Closed"
            return
        if isinstance(item, Command) and item.type == BaseCommand.PONG:
            return
        yield item


def test_a_topic_name_of_a_megabyte_is_refused(raw: RawClient) -> None:
    raw.send(client_commands.lookup(1, "persistent://public/default/" + "x" * (1 << 20)))
    assert raw.expect(BaseCommand.LOOKUP_RESPONSE).error == pb.InvalidTopicName


def test_connect_with_a_version_that_is_not_text_closes_the_connection(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url, handshake=False) as client:
        client.send(named("vers", NOT_UTF8, client_commands.connect("vers")))
        assert client.is_closed()


def test_messages_that_cannot_be_decrypted_do_not_flood_the_log(
    raw: RawClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "broker_core")
    raw.ask(subscribe(), BaseCommand.SUCCESS)
    command = BaseCommand(type=BaseCommand.ACK)
    failed = pb.CommandAck.ValidationError.DecryptionError
    command.ack.CopyFrom(
        pb.CommandAck(consumer_id=1, ack_type=pb.CommandAck.Individual, validation_error=failed, request_id=1)
    )
    raw.send(frame(command) * 1000)
    for _ in range(1000):
        raw.expect(BaseCommand.ACK_RESPONSE)
    assert 1 <= len([record for record in caplog.records if "could not read" in record.getMessage()]) <= 5


class Unlistable(dict[str, Any]):
    """Subscriptions that may be looked up, but not all looked at."""

    def values(self) -> Any:
        raise AssertionError("all subscriptions were looked at")


def test_a_consumer_joins_without_a_look_at_all_others_of_the_topic(
    pulsar_broker: EmbeddedBroker, raw: RawClient
) -> None:
    raw.ask(subscribe(), BaseCommand.SUCCESS)
    subscriptions = pulsar_broker.broker.topics.loaded[TOPIC].subscriptions
    whole, subscriptions.by_name = subscriptions.by_name, Unlistable(subscriptions.by_name)
    try:
        raw.ask(subscribe(consumer_id=2), BaseCommand.SUCCESS)
    finally:
        subscriptions.by_name = whole
