"""`/admin/v3/transactions`: what is open, since when, and where; and a way to abort it.

The acknowledgments of transactions are in `pending_acks`. All records are in the journal of the broker, so requests for
the ledgers of a coordinator or of a transaction buffer get 405, as from a Pulsar broker that keeps none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.targets import not_found
from broker_core.errors import NotAcceptable, NotAllowed, TransactionsDisabled
from broker_core.metadata.policies.json_values import int32, whole_number
from broker_core.names import PERSISTENT, topic_of_ledger
from broker_core.security.operations import SUPER_USER
from broker_core.storage.records.held_acks import TransactionAcks
from broker_core.storage.records.transactions import LogTransactions
from broker_core.wire.transaction_id import TransactionId

if TYPE_CHECKING:
    from broker_core.storage.managed_ledger.transaction_log import TransactionPart
    from broker_core.storage.records.position import Position
    from broker_core.topic.topic import Topic
    from broker_core.transactions.coordinator import Coordinator
    from broker_core.transactions.transaction import Transaction

Json = dict[str, Any]


def coordinator_of(call: Call) -> Coordinator:
    if call.broker.transactions is None:
        raise TransactionsDisabled("This Broker is not configured with transactionCoordinatorEnabled=true.")
    return call.broker.transactions


def _chosen(call: Call) -> Coordinator:
    """The coordinator that the query names, or the only one. Raises `TransactionCoordinatorNotFound`."""
    coordinator = coordinator_of(call)
    if "coordinatorId" in call.query:
        coordinator.check_serves(whole_number(call.query["coordinatorId"], "coordinatorId"))
    return coordinator


async def list_coordinators(call: Call) -> list[Json]:
    return [{"id": coordinator_of(call).id, "brokerServiceUrl": call.broker.main_service_url}]


async def coordinator_stats(call: Call) -> Json:
    coordinator = _chosen(call)
    stats = {
        "state": "Ready",
        "leastSigBits": coordinator.last_id,
        "lowWaterMark": coordinator.low_water_mark,
        "ongoingTxnSize": len(coordinator.active),
        "recoverStartTime": call.broker.started_ms,
        "recoverEndTime": call.broker.started_ms,
    }
    return stats if "coordinatorId" in call.query else {str(coordinator.id): stats}


async def transaction_metadata(call: Call) -> Json:
    transaction = coordinator_of(call).find(transaction_of(call))
    return _metadata(call, [transaction])[str(transaction.id)]


async def slow_transactions(call: Call) -> Json:
    """The transactions that have been open for longer than a time in ms."""
    coordinator = _chosen(call)
    began_before = call.broker.clock.wall_ms() - call.number("timeout")
    slow = [transaction for transaction in coordinator.active if transaction.info.began_ms < began_before]
    return _metadata(call, slow)


def _metadata(call: Call, transactions: Sequence[Transaction]) -> dict[str, Json]:
    """Pulsar's TransactionMetadata of each transaction."""
    coordinator = coordinator_of(call)
    first = coordinator.first_positions(transactions)
    return {
        str(one.id): _metadata_of(one, first.get(one.info.id, {}), coordinator.parts(one.id)) for one in transactions
    }


def _metadata_of(transaction: Transaction, first: Mapping[str, Position], parts: Mapping[str, TransactionPart]) -> Json:
    """`timeoutAt` is how long it may be open, in ms, as in Pulsar."""
    info = transaction.info
    produced = {str(topic_of_ledger(name)): _in_buffer(position) for name, position in first.items()}
    acked = {
        str(topic_of_ledger(name)): {cursor: pending_ack(acks) for cursor, acks in part.acks.items()}
        for name, part in parts.items()
        if part.acks
    }
    owner = {"owner": info.role} if info.role else {}
    return {
        "txnId": str(transaction.id),
        "status": transaction.state.value,
        "openTimestamp": info.began_ms,
        "timeoutAt": info.ttl_ms,
        "producedPartitions": produced,
        "ackedPartitions": acked,
        **owner,
    }


async def in_buffer_stats(call: Call) -> Json:
    """What a transaction, open or not, has in a topic; one that is not known has nothing."""
    coordinator, transaction = coordinator_of(call), transaction_of(call)
    transactions = _transactions(await persistent_topic(call))
    first = None if transactions is None else transactions.open.get(transaction.least)
    return _in_buffer(first, aborted=coordinator.was_aborted(transaction))


def _in_buffer(start: Position | None, *, aborted: bool = False) -> Json:
    position = {} if start is None else {"startPosition": str(start)}
    return {**position, "aborted": aborted}


def pending_ack(acks: TransactionAcks) -> Json:
    """Pulsar's TransactionInPendingAckStats: a cumulative acknowledgment, of a batch with the index of the message."""
    if acks.cumulative is None:
        return {}
    position, left = acks.cumulative
    index = f":{left.acknowledged_bits.bit_length() - 1}" if left.messages else ""
    return {"cumulativeAckPosition": f"{position}{index}"}


async def buffer_stats(call: Call) -> Json:
    coordinator = coordinator_of(call)
    topic = await persistent_topic(call)
    transactions = _transactions(topic)
    aborted: Mapping[int, Any] = {} if transactions is None else transactions.aborted
    return {
        "state": "NoSnapshot" if transactions is None else "Ready",
        "maxReadPosition": str(topic.ledger.visible_end),
        "ongoingTxnSize": topic.transactions.open,
        "recoverStartTime": topic.created_ms,
        "recoverEndTime": topic.created_ms,
        "totalAbortedTransactions": sum(map(len, aborted.values())),
        **low_water_marks(call, coordinator),
    }


def low_water_marks(call: Call, coordinator: Coordinator) -> Json:
    """By coordinator, the ID up to which all transactions have ended; only if the query asks for it."""
    if not call.flag("lowWaterMarks"):
        return {}
    return {"lowWaterMarks": {str(coordinator.id): coordinator.low_water_mark}}


async def refuse_internal_stats(call: Call) -> None:
    coordinator_of(call)
    raise NotAllowed("Transactions of this broker are in its journal, and not in ledgers of their own")


async def scale(call: Call) -> None:
    """Raises `NotAcceptable`: one process needs no second coordinator, and there is never less than one."""
    coordinator = coordinator_of(call)
    replicas = int32(call.json(), "replicas")
    if replicas <= coordinator.count:
        raise NotAcceptable("Number of transaction coordinators should be more than the current number of them")
    raise NotAcceptable(f"This broker has {coordinator.count} transaction coordinator, and cannot have more")


def _transactions(topic: Topic) -> LogTransactions | None:
    return None if topic.ledger.on_disk is None else topic.ledger.on_disk.transactions


async def persistent_topic(call: Call) -> Topic:
    name = call.topic_of(PERSISTENT)
    if not call.broker.topics.exists(name):
        raise not_found(call.broker, name)
    return await call.broker.topics.get(name)


async def abort_transaction(call: Call) -> None:
    """For an operator: also a transaction of another role."""
    await coordinator_of(call).abort(transaction_of(call))


def transaction_of(call: Call) -> TransactionId:
    return TransactionId(call.number("mostSigBits"), call.number("leastSigBits"))


_ROOT = "/admin/v3/transactions"
_TRANSACTION = "{mostSigBits}/{leastSigBits}"
_TOPIC = "{tenant}/{namespace}/{topic}"
_ONE = ("coordinatorId",)

ROUTES = (
    Route("GET", f"{_ROOT}/coordinators", list_coordinators, SUPER_USER),
    Route("GET", f"{_ROOT}/coordinatorStats", coordinator_stats, SUPER_USER, query=_ONE),
    Route("GET", f"{_ROOT}/transactionMetadata/{_TRANSACTION}", transaction_metadata, SUPER_USER),
    Route("GET", f"{_ROOT}/slowTransactions/{{timeout}}", slow_transactions, SUPER_USER, query=_ONE),
    Route("GET", f"{_ROOT}/transactionInBufferStats/{_TOPIC}/{_TRANSACTION}", in_buffer_stats, SUPER_USER),
    Route("GET", f"{_ROOT}/transactionBufferStats/{_TOPIC}", buffer_stats, SUPER_USER, query=("lowWaterMarks",)),
    Route("GET", f"{_ROOT}/coordinatorInternalStats/{{coordinatorId}}", refuse_internal_stats, SUPER_USER),
    Route("GET", f"{_ROOT}/transactionBufferInternalStats/{_TOPIC}", refuse_internal_stats, SUPER_USER),
    Route("POST", f"{_ROOT}/transactionCoordinator/replicas", scale, SUPER_USER),
    Route("POST", f"{_ROOT}/abortTransaction/{_TRANSACTION}", abort_transaction, SUPER_USER),
)
