"""Every constructor returns a frame with its arguments."""

from typing import Any

import pytest

from broker_core.wire import client_commands, commands, schema_commands
from broker_core.wire.frame import Command, FrameDecoder
from broker_core.wire.pulsar_api_pb2 import BaseCommand, KeyValue, Schema

ID = commands.message_id(1, 2, 3, 4)
U64_MAX = (1 << 64) - 1


def sent(frame: bytes) -> Command:
    (command,) = FrameDecoder(1 << 20).feed(frame)
    assert isinstance(command, Command)
    return command


@pytest.mark.parametrize(
    ("frame", "command_type", "fields"),
    [
        (
            commands.connected("ours 1", 19, 5 << 20, {"supports_broker_entry_metadata": True}),
            "CONNECTED",
            {"server_version": "ours 1", "protocol_version": 19, "max_message_size": 5 << 20},
        ),
        (commands.auth_challenge(19, "token", b""), "AUTH_CHALLENGE", {"protocol_version": 19}),
        (commands.success(5), "SUCCESS", {"request_id": 5}),
        (commands.error(5, 11, "no topic"), "ERROR", {"request_id": 5, "error": 11, "message": "no topic"}),
        (
            commands.send_error(1, 2, 9, "bad"),
            "SEND_ERROR",
            {"producer_id": 1, "sequence_id": 2, "error": 9, "message": "bad"},
        ),
        (
            commands.send_receipt(1, 2, 3, 4, highest_sequence_id=9),
            "SEND_RECEIPT",
            {"producer_id": 1, "sequence_id": 2, "highest_sequence_id": 9},
        ),
        (
            commands.producer_success(5, "p", last_sequence_id=7, schema_version=b"12345678", topic_epoch=1),
            "PRODUCER_SUCCESS",
            {"request_id": 5, "producer_name": "p", "last_sequence_id": 7, "topic_epoch": 1, "producer_ready": True},
        ),
        (
            commands.lookup_connect(5, "pulsar://localhost:6650"),
            "LOOKUP_RESPONSE",
            {"response": 1, "brokerServiceUrl": "pulsar://localhost:6650", "authoritative": True},
        ),
        (commands.lookup_failed(5, 11, "no"), "LOOKUP_RESPONSE", {"response": 2, "error": 11, "message": "no"}),
        (
            commands.partitioned_metadata(5, 4),
            "PARTITIONED_METADATA_RESPONSE",
            {"request_id": 5, "response": 0, "partitions": 4},
        ),
        (
            commands.partitioned_metadata_failed(5, 11, "no"),
            "PARTITIONED_METADATA_RESPONSE",
            {"response": 1, "error": 11, "message": "no"},
        ),
        (commands.ack_response(1, 5), "ACK_RESPONSE", {"consumer_id": 1, "request_id": 5}),
        (commands.ack_response(1, 5, server_error=13, text="gone"), "ACK_RESPONSE", {"error": 13, "message": "gone"}),
        (commands.last_message_id(5, ID, ID), "GET_LAST_MESSAGE_ID_RESPONSE", {"last_message_id": ID}),
        (
            commands.topics_of_namespace(5, ["a", "b"], topics_hash="h", filtered=True),
            "GET_TOPICS_OF_NAMESPACE_RESPONSE",
            {"topics": ["a", "b"], "topics_hash": "h", "filtered": True, "changed": True},
        ),
        (
            commands.consumer_stats(5, msgBacklog=3, type="Shared"),
            "CONSUMER_STATS_RESPONSE",
            {"request_id": 5, "msgBacklog": 3, "type": "Shared"},
        ),
        (
            schema_commands.schema_found(5, "t/n/t", 4, b"{}", {"a": "b"}, 1),
            "GET_SCHEMA_RESPONSE",
            {
                "schema": Schema(
                    name="t/n/t", schema_data=b"{}", type=Schema.Avro, properties=[KeyValue(key="a", value="b")]
                ),
                "schema_version": b"\0\0\0\0\0\0\0\1",
            },
        ),
        (
            schema_commands.get_schema_failed(5, 11, "none"),
            "GET_SCHEMA_RESPONSE",
            {"error_code": 11, "error_message": "none"},
        ),
        (schema_commands.schema_created(5, 0), "GET_OR_CREATE_SCHEMA_RESPONSE", {"schema_version": bytes(8)}),
        (
            schema_commands.create_schema_failed(5, 18, "no"),
            "GET_OR_CREATE_SCHEMA_RESPONSE",
            {"error_code": 18, "error_message": "no"},
        ),
        (commands.active_consumer_change(1, True), "ACTIVE_CONSUMER_CHANGE", {"consumer_id": 1, "is_active": True}),
        (commands.reached_end_of_topic(1), "REACHED_END_OF_TOPIC", {"consumer_id": 1}),
        (commands.close_producer(1), "CLOSE_PRODUCER", {"producer_id": 1, "request_id": U64_MAX}),
        (commands.close_consumer(1, 5), "CLOSE_CONSUMER", {"consumer_id": 1, "request_id": 5}),
        (commands.ping(), "PING", {}),
        (commands.pong(), "PONG", {}),
        (
            client_commands.connect("reader 1", auth_method_name="token", auth_data=b"secret"),
            "CONNECT",
            {"client_version": "reader 1", "protocol_version": 21, "auth_data": b"secret"},
        ),
        (client_commands.auth_response("reader 1", "token", b"s"), "AUTH_RESPONSE", {"client_version": "reader 1"}),
        (client_commands.lookup(5, "t", authoritative=True), "LOOKUP", {"topic": "t", "authoritative": True}),
        (
            client_commands.partitioned_metadata(5, "t", auto_creation=False),
            "PARTITIONED_METADATA",
            {"topic": "t", "metadata_auto_creation_enabled": False},
        ),
        (client_commands.topics_of_namespace(5, "a/b"), "GET_TOPICS_OF_NAMESPACE", {"namespace": "a/b"}),
        (
            client_commands.subscribe(5, "t", "s", 1, durable=False, start_message_id=ID, read_compacted=True),
            "SUBSCRIBE",
            {"topic": "t", "subscription": "s", "durable": False, "start_message_id": ID, "read_compacted": True},
        ),
        (client_commands.flow(1, 1000), "FLOW", {"consumer_id": 1, "messagePermits": 1000}),
        (
            client_commands.acknowledge(1, [ID], cumulative=True, request_id=5),
            "ACK",
            {"consumer_id": 1, "ack_type": 1, "message_id": [ID], "request_id": 5},
        ),
        (client_commands.seek(1, 5, position=ID), "SEEK", {"message_id": ID}),
        (client_commands.seek(1, 5, publish_time_ms=9), "SEEK", {"message_publish_time": 9}),
        (client_commands.get_last_message_id(1, 5), "GET_LAST_MESSAGE_ID", {"consumer_id": 1, "request_id": 5}),
        (client_commands.unsubscribe(1, 5), "UNSUBSCRIBE", {"consumer_id": 1, "request_id": 5}),
    ],
)
def test_a_command_carries_its_arguments(frame: bytes, command_type: str, fields: dict[str, Any]) -> None:
    command = sent(frame)
    assert BaseCommand.Type.Name(command.type) == command_type  # type: ignore[arg-type] # a plain number
    assert {name: getattr(command.message, name) for name in fields} == fields


def test_the_golden_ping_and_pong() -> None:
    assert commands.ping().hex() == "00000009000000050812920100"
    assert commands.pong().hex() == "000000090000000508139a0100"


def test_minus_one_in_an_id_is_sent_as_the_largest_u64() -> None:
    earliest = commands.message_id(-1, -1)
    assert (earliest.ledgerId, earliest.entryId) == (U64_MAX, U64_MAX)
    assert not earliest.HasField("partition")


def test_missing_arguments_are_omitted() -> None:
    subscribe = sent(client_commands.subscribe(5, "t", "s", 1)).message
    assert not subscribe.HasField("consumer_name")
    assert not subscribe.HasField("start_message_id")
    assert not sent(commands.ack_response(1, 5)).message.HasField("error")
