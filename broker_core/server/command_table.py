"""Every command that a client may send, and how the connection treats it: one row each.

A command without a row is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from broker_core.server.handlers import ack, connect, consume, lookup, producer, schema, seek, topic_lists
from broker_core.server.session import Session
from broker_core.wire import commands, schema_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand

Failure = Callable[[Any, int, str], bytes]
"""The answer to a request that fails: from its command, a ServerError number, and the reason."""


def _of_request(answer: Callable[[int, int, str], bytes]) -> Failure:
    return lambda command, server_error, reason: answer(command.request_id, server_error, reason)


def _ack_failed(command: Any, server_error: int, reason: str) -> bytes:
    return commands.ack_response(command.consumer_id, command.request_id, server_error=server_error, text=reason)


error_of_request = _of_request(commands.error)


class Row(NamedTuple):
    """handle    returns the answer (bytes), None, or a coroutine that will
    patient   the answer takes a while, and a client may ask many times at once: the requests in flight are bounded
    large     the answer waits until the client has taken what was sent before (`Session.large_answer`)
    failed    makes the answer to a request that fails
    """

    handle: Callable[[Session, Any], Any]
    patient: bool = False
    large: bool = False
    failed: Failure = error_of_request


_T = BaseCommand
COMMANDS: dict[int, Row] = {
    _T.CONNECT: Row(connect.on_connect),
    _T.PING: Row(connect.on_ping),
    _T.PONG: Row(connect.on_pong),
    _T.LOOKUP: Row(lookup.on_lookup, patient=True, failed=_of_request(commands.lookup_failed)),
    _T.PARTITIONED_METADATA: Row(
        lookup.on_partitioned_metadata, patient=True, failed=_of_request(commands.partitioned_metadata_failed)
    ),
    _T.GET_TOPICS_OF_NAMESPACE: Row(topic_lists.on_get_topics_of_namespace, patient=True, large=True),
    _T.WATCH_TOPIC_LIST: Row(topic_lists.on_watch_topic_list, patient=True, large=True),
    _T.WATCH_TOPIC_LIST_CLOSE: Row(topic_lists.on_watch_topic_list_close),
    _T.PRODUCER: Row(producer.on_producer, patient=True),
    _T.CLOSE_PRODUCER: Row(producer.on_close_producer),
    _T.SUBSCRIBE: Row(consume.on_subscribe, patient=True),
    _T.FLOW: Row(consume.on_flow),
    _T.ACK: Row(ack.on_ack, failed=_ack_failed),
    _T.REDELIVER_UNACKNOWLEDGED_MESSAGES: Row(ack.on_redeliver),
    _T.SEEK: Row(seek.on_seek, patient=True),
    _T.GET_LAST_MESSAGE_ID: Row(seek.on_get_last_message_id, patient=True),
    _T.CONSUMER_STATS: Row(consume.on_consumer_stats),
    _T.UNSUBSCRIBE: Row(consume.on_unsubscribe),
    _T.CLOSE_CONSUMER: Row(consume.on_close_consumer),
    _T.GET_SCHEMA: Row(schema.on_get_schema, failed=_of_request(schema_commands.get_schema_failed)),
    _T.GET_OR_CREATE_SCHEMA: Row(
        schema.on_get_or_create_schema, patient=True, failed=_of_request(schema_commands.create_schema_failed)
    ),
}
