"""Where Apache Pulsar 4.0.7 and the table `tests.broker.security.who` differ, and why.

docs/how-to/security.md names every difference in who passes; a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.broker.security.who import EVERYONE, ON_NAMESPACE, ON_TOPIC, THROUGH_PROXY

_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"
_TRANSACTIONS = "/admin/v3/transactions"
_OF_TOPIC = "{tenant}/{namespace}/{topic}"
_OF_SUBSCRIPTION = f"{_OF_TOPIC}/{{subscription}}"

# Routes and commands of this broker, or of other releases of Pulsar.
NOT_SERVED = {
    "GET /admin/v2/brokers/damage",
    "POST /admin/v2/brokers/damage/accept",
    "POST /admin/v2/brokers/offload/audit",
    "GET /admin/v2/brokers/configuration/settings",
    "GET /admin/v2/auth/whoami",
    "GET /admin/v2/auth/can",
    "POST /admin/v2/namespaces/grantPermissionsOnTopics",
    "POST /admin/v2/namespaces/revokePermissionsOnTopics",
    "GET /admin/v2/broker-stats/destinations",
    f"POST {_TOPIC}/offload/restore",
    f"POST {_TOPIC}/compaction/places",
    f"GET {_TOPIC}/migration",
    f"POST {_TOPIC}/migration",
    f"POST {_TOPIC}/migration/ledger",
    f"GET {_TOPIC}/getMessageIdByIndex",
    f"DELETE {_TOPIC}/schemaValidationEnforced",
    f"GET {_TOPIC}/policies",
    "GET /openapi.json",
    "GET /openapi.html",
    "GET /lookup/v2/topic/topic/{tenant}/{namespace}/{topic}",
    "SCALABLE_TOPIC_LOOKUP",
    "SCALABLE_TOPIC_SUBSCRIBE",
    "WATCH_SCALABLE_TOPICS",
}

# Services that the compared Pulsar runs without, and what would stop it.
NOT_ASKED = {
    "POST /admin/v2/brokers/shutdown": "ends the broker",
}

# Requests that Pulsar refuses as invalid (not 401 or 403) before it looks at the role. It does nothing in either case.
INVALID_FIRST = {
    "PUT /admin/v2/tenants/{tenant}": "409 for a tenant that exists",
    f"GET {_NAMESPACE}/scanOffloadedLedgers": "500, since no offloader is configured",
    "GET /admin/v2/namespaces/{cluster}/antiAffinity/{group}": "500 without the query `tenant`",
    "GET /admin/v2/{domain}/{tenant}/{namespace}/{bundle}": "405 for persistent topics",
    f"POST {_NAMESPACE}/{{bundle}}/clearBacklog": "412 for a bundle that was split",
    f"POST {_TOPIC}/createMissedPartitions": "404 for a topic without partitions",
    f"POST {_TOPIC}/terminate/partitions": "405 for a partition",
    f"GET {_TOPIC}/partitioned-stats": "412 for a partition",
    f"POST {_TOPIC}/subscription/{{subscription}}/expireMessages": "412 for the position of another partition",
    f"GET {_TRANSACTIONS}/transactionMetadata/{{mostSigBits}}/{{leastSigBits}}": "404: the coordinator is not loaded",
    f"GET {_TRANSACTIONS}/coordinatorInternalStats/{{coordinatorId}}": "404: the coordinator is not loaded",
    f"GET {_TRANSACTIONS}/pendingAckStats/{_OF_SUBSCRIPTION}": "500 without the subscription",
    f"GET {_TRANSACTIONS}/pendingAckInternalStats/{_OF_SUBSCRIPTION}": "404 without the subscription",
    f"GET {_TRANSACTIONS}/transactionInPendingAckStats/{_OF_SUBSCRIPTION}/{{mostSigBits}}/{{leastSigBits}}": (
        "500 without the subscription"
    ),
    f"GET {_TRANSACTIONS}/positionStatsInPendingAck/{_OF_SUBSCRIPTION}/{{ledgerId}}/{{entryId}}": (
        "500 without the subscription"
    ),
}


@dataclass(frozen=True)
class Difference:
    """`operation`: as in docs/how-to/security.md. `clients` pass in Pulsar only. `requests`: routes or commands."""

    operation: str
    requests: tuple[str, ...]
    clients: frozenset[str]


_CONSUMERS = frozenset(ON_NAMESPACE["consume"] | THROUGH_PROXY) - {"consumer and grantee"}
_ON_TOPIC = frozenset(ON_TOPIC["produce"] | ON_TOPIC["consume"] | THROUGH_PROXY)

DIFFERENCES = (
    Difference(
        "clear-backlog and unsubscribe of a namespace, expire-all",
        (
            f"POST {_NAMESPACE}/clearBacklog",
            f"POST {_NAMESPACE}/{{bundle}}/clearBacklog",
            f"POST {_TOPIC}/all_subscription/expireMessages/{{seconds}}",
        ),
        _CONSUMERS | {"topic-consumer"},
    ),
    Difference("truncate of a partitioned topic", (f"DELETE {_TOPIC}/truncate",), _ON_TOPIC),
    Difference(
        "GET_SCHEMA, GET_OR_CREATE_SCHEMA",
        ("GET_SCHEMA", "GET_OR_CREATE_SCHEMA"),
        frozenset({"nothing", "grantee", "stranger", *ON_TOPIC["produce"], *ON_TOPIC["consume"]}),
    ),
    Difference(
        "statistics of transactions",
        (
            f"GET {_TRANSACTIONS}/coordinators",
            f"GET {_TRANSACTIONS}/transactionBufferStats/{_OF_TOPIC}",
            f"GET {_TRANSACTIONS}/transactionBufferInternalStats/{_OF_TOPIC}",
            f"GET {_TRANSACTIONS}/transactionInBufferStats/{_OF_TOPIC}/{{mostSigBits}}/{{leastSigBits}}",
        ),
        frozenset(EVERYONE - {"no role", "admin"}),
    ),
)
