"""The answers of a transaction coordinator to its clients."""

from typing import Any

from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from broker_core.wire.transaction_id import TransactionId

_T = BaseCommand
_ANSWERS: dict[int, tuple[BaseCommand.Type.ValueType, str]] = {
    _T.TC_CLIENT_CONNECT_REQUEST: (_T.TC_CLIENT_CONNECT_RESPONSE, "tcClientConnectResponse"),
    _T.NEW_TXN: (_T.NEW_TXN_RESPONSE, "newTxnResponse"),
    _T.ADD_PARTITION_TO_TXN: (_T.ADD_PARTITION_TO_TXN_RESPONSE, "addPartitionToTxnResponse"),
    _T.ADD_SUBSCRIPTION_TO_TXN: (_T.ADD_SUBSCRIPTION_TO_TXN_RESPONSE, "addSubscriptionToTxnResponse"),
    _T.END_TXN: (_T.END_TXN_RESPONSE, "endTxnResponse"),
}


def answer(
    request: int,
    request_id: int,
    transaction: TransactionId | None = None,
    server_error: int | None = None,
    text: str = "",
) -> bytes:
    """The answer to a command of the type `request`; with `server_error`, it failed because of `text`."""
    kind, field = _ANSWERS[request]
    command = BaseCommand(type=kind)
    body: Any = getattr(command, field)
    body.request_id = request_id
    if transaction is not None:
        body.txnid_most_bits, body.txnid_least_bits = transaction
    if server_error is not None:
        body.error, body.message = server_error, text
    return frame(command)


def coordinators(watch_id: int, count: int, url: str, url_tls: str) -> bytes:
    """WATCH_TC_ASSIGNMENTS_UPDATE: `count` coordinators, all of them at the same addresses."""
    command = BaseCommand(type=_T.WATCH_TC_ASSIGNMENTS_UPDATE)
    update = command.watchTcAssignmentsUpdate
    update.watch_id = watch_id
    update.snapshot.parallelism = count
    for coordinator in range(count):
        assignment = update.snapshot.assignments.add(tc_id=coordinator, broker_service_url=url)
        if url_tls:
            assignment.broker_service_url_tls = url_tls
    return frame(command)


def coordinators_unknown(watch_id: int, server_error: int, text: str) -> bytes:
    command = BaseCommand(type=_T.WATCH_TC_ASSIGNMENTS_UPDATE)
    update = command.watchTcAssignmentsUpdate
    update.watch_id, update.message = watch_id, text
    update.error = server_error  # type: ignore[assignment] # enum fields take plain numbers
    return frame(command)
