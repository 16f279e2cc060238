"""`/admin/v3/transactions`: what open transactions acknowledge in a subscription."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.admin.routes import Route
from broker_core.admin.transactions import (
    coordinator_of,
    low_water_marks,
    pending_ack,
    persistent_topic,
    refuse_internal_stats,
    transaction_of,
)
from broker_core.metadata.policies.json_values import int32
from broker_core.security.operations import SUPER_USER
from broker_core.storage.records.position import Position

if TYPE_CHECKING:
    from broker_core.topic.subscription import Subscription

Json = dict[str, Any]


async def stats(call: Call) -> Json:
    coordinator = coordinator_of(call)
    topic = await persistent_topic(call)
    subscription = topic.subscriptions.find(call.subscription())
    return {
        "state": "Ready",
        "ongoingTxnSize": len(coordinator.acks_on(subscription.cursor)),
        "recoverStartTime": topic.created_ms,
        "recoverEndTime": topic.created_ms,
        **low_water_marks(call, coordinator),
    }


async def stats_of_transaction(call: Call) -> Json:
    """Empty, as in Pulsar, for a transaction that is not known, or acknowledges messages one by one."""
    coordinator, transaction = coordinator_of(call), transaction_of(call)
    acks = coordinator.acks_on((await _subscription(call)).cursor).get(transaction.least)
    return {} if acks is None else pending_ack(acks)


async def position_stats(call: Call) -> Json:
    """Whether an entry, or one message of a batch, is acknowledged, or held by a transaction one by one."""
    coordinator_of(call)
    subscription = await _subscription(call)
    index = int32(call.query["batchIndex"], "batchIndex") if "batchIndex" in call.query else -1
    bits = -1 if index < 0 else 1 << min(index, _INDEX_MAX)
    position = Position(call.number("ledgerId"), call.number("entryId"))
    return {"state": subscription.in_transactions.state_of(position, bits)}


_INDEX_MAX = 1 << 24  # more messages do not fit into an entry


async def _subscription(call: Call) -> Subscription:
    topic = await persistent_topic(call)
    return topic.subscriptions.find(call.subscription())


_ROOT = "/admin/v3/transactions"
_SUBSCRIPTION = "{tenant}/{namespace}/{topic}/{subscription}"

ROUTES = (
    Route("GET", f"{_ROOT}/pendingAckStats/{_SUBSCRIPTION}", stats, SUPER_USER, query=("lowWaterMarks",)),
    Route(
        "GET",
        f"{_ROOT}/transactionInPendingAckStats/{_SUBSCRIPTION}/{{mostSigBits}}/{{leastSigBits}}",
        stats_of_transaction,
        SUPER_USER,
    ),
    Route(
        "GET",
        f"{_ROOT}/positionStatsInPendingAck/{_SUBSCRIPTION}/{{ledgerId}}/{{entryId}}",
        position_stats,
        SUPER_USER,
        query=("batchIndex",),
    ),
    Route("GET", f"{_ROOT}/pendingAckInternalStats/{_SUBSCRIPTION}", refuse_internal_stats, SUPER_USER),
)
