"""Tiered storage of topics: trigger and status; and what Pulsar's API lacks: restoring files, looking for orphans."""

from __future__ import annotations

import logging
from typing import Any

from broker_core.admin.call import Call
from broker_core.admin.message_ids import message_id
from broker_core.admin.non_persistent import persistent_only
from broker_core.admin.policies import remove_of_namespace
from broker_core.admin.policy_places import PolicyPlace
from broker_core.admin.positions import read_position
from broker_core.admin.routes import Route
from broker_core.admin.shapes import POSITION, shape_of
from broker_core.admin.targets import every_topic, one_topic
from broker_core.errors import InvalidRequest, InvalidValue, NotImplementedHere
from broker_core.metadata.policies.offload_policies import OffloadPolicies, configured_store
from broker_core.offload.errors import OffloadFailed, detail_of, masked
from broker_core.security.operations import SUPER_USER, namespace_policy, on_topic

log = logging.getLogger(__name__)

RESTORE_SHARE = 0.25  # share of a request's time after which no ledger is begun
_POLICIES = PolicyPlace("removeOffloadPolicies", "offload", "OFFLOAD")


async def start(call: Call) -> None:
    """The body is a message ID: every ledger whose entries are all before it is offloaded."""
    body = call.json()
    if body is None:
        raise InvalidRequest("messageId is null")
    topic = await one_topic(call, "Trigger offload on a partitioned topic is not allowed")
    topic.offloading.start(read_position(call.json_object()))


async def status(call: Call) -> dict[str, Any]:
    topic = await one_topic(call)
    offloading, first = topic.offloading, topic.offloading.first_unoffloaded
    body: dict[str, Any] = {"status": offloading.state.value, "lastError": offloading.last_error}
    if first is not None:
        body["firstUnoffloadedMessage"] = message_id(topic.name, first.ledger_id, first.entry_id)
    return body


async def restore(call: Call) -> dict[str, int]:
    """Writes the local files of offloaded ledgers again; answers with their number by topic.

    It stops long before the deadline of this request, and another request continues. 0 means that none is left.
    """
    topics = await every_topic(call)
    seconds = call.broker.config.http.request_seconds * RESTORE_SHARE / max(len(topics), 1)
    return {str(topic.name): await topic.offloading.restore(seconds) for topic in topics}


async def audit(call: Call) -> dict[str, Any]:
    """Objects of this instance without a record, and records without objects; `sweep=true` removes the former.

    The body, or else the configuration, says where to look: an object of offload policies.
    """
    body = call.json()
    where = configured_store(call.broker.config.offload) if body is None else OffloadPolicies.from_document(body)
    if not where.driver:
        raise InvalidValue(
            "cannot scan a store: the request names none (--to URI), and managedLedgerOffloadDriver is not set"
        )
    try:
        report = await call.broker.tier.audit(where.driver, where.settings(), sweep=call.flag("sweep"))
    except (OffloadFailed, OSError) as error:  # the store that the caller names does not answer, or refuses
        log.warning("cannot scan the store %s: %s", where.driver, detail_of(error))
        raise InvalidValue(f"cannot scan the store: {masked(error)}") from None
    return report.to_document()


async def scan(call: Call) -> None:
    call.broker.tenancy.namespace(call.namespace())
    raise NotImplementedHere("cannot scan one namespace: POST /admin/v2/brokers/offload/audit compares the whole store")


async def remove_namespace_policies(call: Call) -> None:
    await remove_of_namespace(_POLICIES, call)


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route("PUT", f"{_TOPIC}/offload", persistent_only(start, "Offload"), on_topic("OFFLOAD"), body=POSITION),
    Route("GET", f"{_TOPIC}/offload", persistent_only(status, "Offload"), on_topic("OFFLOAD")),
    Route("POST", f"{_TOPIC}/offload/restore", persistent_only(restore, "Offload"), on_topic("OFFLOAD")),
    Route(
        "POST",
        "/admin/v2/brokers/offload/audit",
        audit,
        SUPER_USER,
        query=("sweep",),
        body=shape_of(OffloadPolicies),
    ),
    Route("GET", f"{_NAMESPACE}/scanOffloadedLedgers", scan, namespace_policy("OFFLOAD", "GET")),
    Route(
        "DELETE",
        f"{_NAMESPACE}/removeOffloadPolicies",
        remove_namespace_policies,
        namespace_policy("OFFLOAD", "DELETE"),
    ),
)
