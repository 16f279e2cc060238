"""WATCH_TC_ASSIGNMENTS, TC_CLIENT_CONNECT, NEW_TXN, ADD_PARTITION_TO_TXN, ADD_SUBSCRIPTION_TO_TXN, END_TXN.

A transaction belongs to the role that began it, and not to a connection. Topics learn of a transaction from its first
message or acknowledgment, so the commands that add them only tell whether it is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from broker_core.errors import NotAllowed, ServerError
from broker_core.server.session import Session
from broker_core.wire import commands, transaction_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.transaction_id import TransactionId

if TYPE_CHECKING:
    from broker_core.transactions.coordinator import Coordinator

COMMAND = pb.BaseCommand


def on_tc_client_connect(session: Session, command: pb.CommandTcClientConnectRequest) -> bytes:
    _coordinator(session).check_serves(command.tc_id)
    return transaction_commands.answer(COMMAND.TC_CLIENT_CONNECT_REQUEST, command.request_id)


def on_watch_tc_assignments(session: Session, command: pb.CommandWatchTcAssignments) -> bytes:
    """WATCH_TC_ASSIGNMENTS: where the coordinators are, which never changes here."""
    urls = session.broker.addresses(session.listener)
    return transaction_commands.coordinators(
        command.watch_id, _coordinator(session).count, urls.service_url, urls.service_url_tls
    )


def on_watch_tc_assignments_close(session: Session, command: pb.CommandWatchTcAssignmentsClose) -> None:
    """Nothing to do: the answer was the only one."""


def watch_failed(command: Any, server_error: int, reason: str) -> bytes:
    return transaction_commands.coordinators_unknown(command.watch_id, server_error, reason)


async def on_new_txn(session: Session, command: pb.CommandNewTxn) -> bytes:
    transaction = await _coordinator(session).begin(command.tc_id, command.txn_ttl_millis, _role(session))
    return transaction_commands.answer(COMMAND.NEW_TXN, command.request_id, transaction)


def on_add_partition_to_txn(session: Session, command: pb.CommandAddPartitionToTxn) -> bytes:
    return _added(session, COMMAND.ADD_PARTITION_TO_TXN, command)


def on_add_subscription_to_txn(session: Session, command: pb.CommandAddSubscriptionToTxn) -> bytes:
    return _added(session, COMMAND.ADD_SUBSCRIPTION_TO_TXN, command)


def _added(session: Session, request: int, command: Any) -> bytes:
    transaction = _id(command)
    _coordinator(session).check_open(transaction, _role(session))
    return transaction_commands.answer(request, command.request_id, transaction)


async def on_end_txn(session: Session, command: pb.CommandEndTxn) -> bytes:
    """END_TXN: answered when the outcome is in effect at every topic."""
    transaction = _id(command)
    await _coordinator(session).end(transaction, _role(session), commit=command.txn_action == pb.COMMIT)
    return transaction_commands.answer(COMMAND.END_TXN, command.request_id, transaction)


def failed(request: int) -> Callable[[Any, int, str], bytes]:
    """The answer to a command of that type that fails; where transactions are disabled, an ERROR, as in Pulsar."""

    def answer(command: Any, server_error: int, reason: str) -> bytes:
        if server_error == ServerError.NOT_ALLOWED_ERROR:
            return commands.error(command.request_id, server_error, reason)
        named = request not in (COMMAND.TC_CLIENT_CONNECT_REQUEST, COMMAND.NEW_TXN)
        return transaction_commands.answer(
            request, command.request_id, _id(command) if named else None, server_error, reason
        )

    return answer


def _coordinator(session: Session) -> Coordinator:
    if session.broker.transactions is None:
        raise NotAllowed("Transactions are not enabled.")  # Pulsar's words
    return session.broker.transactions


def _id(command: Any) -> TransactionId:
    return TransactionId(command.txnid_most_bits, command.txnid_least_bits)


def _role(session: Session) -> str:
    return "" if session.principal is None else session.principal.name
