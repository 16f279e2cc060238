"""Every command that a client may send, and how the connection treats it: one row each.

A command without a row is refused by name. With authorization, `secured` checks what a row needs before its handler
runs; without it, a command costs no more than without security.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from broker_core.server import needs
from broker_core.server.handlers import (
    ack,
    authenticate,
    connect,
    consume,
    lookup,
    producer,
    scalable,
    schema,
    seek,
    topic_lists,
    transactions,
)
from broker_core.server.needs import Need
from broker_core.server.session import Session
from broker_core.wire import commands, scalable_commands, schema_commands
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
    need      what the client's role must be allowed to do
    bounded   the answer takes a while, and a client may ask many times at once: the requests in flight are bounded
    large     the answer waits until the client has taken what was sent before (`Session.large_answer`)
    failed    makes the answer to a request that fails
    """

    handle: Callable[[Session, Any], Any]
    need: Need
    bounded: bool = False
    large: bool = False
    failed: Failure = error_of_request


_T = BaseCommand
COMMANDS: dict[int, Row] = {
    _T.CONNECT: Row(connect.on_connect, needs.HANDSHAKE),
    _T.PING: Row(connect.on_ping, needs.HANDSHAKE),
    _T.PONG: Row(connect.on_pong, needs.HANDSHAKE),
    _T.AUTH_RESPONSE: Row(authenticate.on_auth_response, needs.HANDSHAKE),
    _T.LOOKUP: Row(lookup.on_lookup, needs.LOOKUP, bounded=True, failed=_of_request(commands.lookup_failed)),
    _T.PARTITIONED_METADATA: Row(
        lookup.on_partitioned_metadata,
        needs.PARTITIONS,
        bounded=True,
        failed=_of_request(commands.partitioned_metadata_failed),
    ),
    _T.GET_TOPICS_OF_NAMESPACE: Row(
        topic_lists.on_get_topics_of_namespace, needs.LIST_TOPICS, bounded=True, large=True
    ),
    _T.WATCH_TOPIC_LIST: Row(topic_lists.on_watch_topic_list, needs.WATCH_TOPICS, bounded=True, large=True),
    _T.WATCH_TOPIC_LIST_CLOSE: Row(topic_lists.on_watch_topic_list_close, needs.OWN),
    _T.PRODUCER: Row(producer.on_producer, needs.TO_PRODUCE, bounded=True),
    _T.CLOSE_PRODUCER: Row(producer.on_close_producer, needs.OWN),
    _T.SUBSCRIBE: Row(consume.on_subscribe, needs.TO_SUBSCRIBE, bounded=True),
    _T.FLOW: Row(consume.on_flow, needs.OWN),
    _T.ACK: Row(ack.on_ack, needs.OWN, failed=_ack_failed),
    _T.REDELIVER_UNACKNOWLEDGED_MESSAGES: Row(ack.on_redeliver, needs.OWN),
    _T.SEEK: Row(seek.on_seek, needs.OWN, bounded=True),
    _T.GET_LAST_MESSAGE_ID: Row(seek.on_get_last_message_id, needs.OWN, bounded=True),
    _T.CONSUMER_STATS: Row(consume.on_consumer_stats, needs.OWN),
    _T.UNSUBSCRIBE: Row(consume.on_unsubscribe, needs.OWN),
    _T.CLOSE_CONSUMER: Row(consume.on_close_consumer, needs.OWN),
    _T.TC_CLIENT_CONNECT_REQUEST: Row(
        transactions.on_tc_client_connect,
        needs.TRANSACTION,
        failed=transactions.failed(_T.TC_CLIENT_CONNECT_REQUEST),
    ),
    _T.WATCH_TC_ASSIGNMENTS: Row(
        transactions.on_watch_tc_assignments, needs.TRANSACTION, failed=transactions.watch_failed
    ),
    _T.WATCH_TC_ASSIGNMENTS_CLOSE: Row(transactions.on_watch_tc_assignments_close, needs.OWN),
    _T.NEW_TXN: Row(transactions.on_new_txn, needs.TRANSACTION, bounded=True, failed=transactions.failed(_T.NEW_TXN)),
    _T.ADD_PARTITION_TO_TXN: Row(
        transactions.on_add_partition_to_txn, needs.TRANSACTION, failed=transactions.failed(_T.ADD_PARTITION_TO_TXN)
    ),
    _T.ADD_SUBSCRIPTION_TO_TXN: Row(
        transactions.on_add_subscription_to_txn,
        needs.TRANSACTION,
        failed=transactions.failed(_T.ADD_SUBSCRIPTION_TO_TXN),
    ),
    _T.END_TXN: Row(transactions.on_end_txn, needs.TRANSACTION, bounded=True, failed=transactions.failed(_T.END_TXN)),
    _T.SCALABLE_TOPIC_LOOKUP: Row(
        scalable.on_scalable_topic_lookup, needs.LAYOUT, bounded=True, failed=scalable.lookup_failed
    ),
    _T.SCALABLE_TOPIC_CLOSE: Row(scalable.on_scalable_topic_close, needs.OWN),
    _T.SCALABLE_TOPIC_SUBSCRIBE: Row(
        scalable.on_scalable_topic_subscribe,
        needs.TO_SUBSCRIBE,
        bounded=True,
        failed=_of_request(scalable_commands.subscribe_failed),
    ),
    _T.SCALABLE_TOPIC_UNSUBSCRIBE: Row(scalable.on_scalable_topic_unsubscribe, needs.OWN),
    _T.WATCH_SCALABLE_TOPICS: Row(
        scalable.on_watch_scalable_topics, needs.WATCH_SCALABLE, failed=scalable.watch_failed
    ),
    _T.WATCH_SCALABLE_TOPICS_CLOSE: Row(scalable.on_watch_scalable_topics_close, needs.OWN),
    _T.GET_SCHEMA: Row(schema.on_get_schema, needs.READ_SCHEMA, failed=_of_request(schema_commands.get_schema_failed)),
    _T.GET_OR_CREATE_SCHEMA: Row(
        schema.on_get_or_create_schema,
        needs.WRITE_SCHEMA,
        bounded=True,
        failed=_of_request(schema_commands.create_schema_failed),
    ),
}


def secured(table: Mapping[int, Row]) -> dict[int, Row]:
    """The table of a broker with authorization. Raises `UnknownOperation` for a need that no rule decides."""
    return {kind: _checked(row) for kind, row in table.items()}


def _checked(row: Row) -> Row:
    requests, _reason, denial = row.need
    if requests is None:
        return row

    def handle(session: Session, command: Any) -> Any:
        for operation, target in requests(command):
            session.check_allowed(operation, target, denial)
        return row.handle(session, command)

    return row._replace(handle=handle)


SECURED_COMMANDS = secured(COMMANDS)
