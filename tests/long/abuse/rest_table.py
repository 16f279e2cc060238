"""Hostile requests for each REST route, made by replacing every part of its path and of an example body and query.

`ROWS` has a row for each path of the routing table. The methods come from the routing table.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from broker_core.admin import broker_stats, other_services, pending_acks, scalable, segment_logs, segments, transactions
from broker_core.admin.routes import Route
from tests.long.abuse.hostile import BODIES, NUMBERS, PARTS, VALUES, document, places, replaced

NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"
SCHEMA = "/admin/v2/schemas/{tenant}/{namespace}/{topic}"
WRITES = ("PUT", "POST")

# The path values of a valid request.
ORDINARY = {
    "domain": "persistent",
    "tenant": "abuse",
    "namespace": "ns",
    "topic": "t",
    "subscription": "s",
    "bundle": "0x00000000_0x40000000",
    "cluster": "standalone",
    "role": "role",
    "name": "brokerServicePort",
    "value": "1",
    "number": "1",
    "timestamp": "1",
    "count": "1",
    "seconds": "100",
    "ledger": "0",
    "entry": "0",
    "domainName": "d",
    **dict.fromkeys(("group", "resourcegroup", "key", "bookie", "functionName", "instanceId", "packageName"), "x"),
    **dict.fromkeys(("partition", "mostSigBits", "leastSigBits", "coordinatorId", "timeout"), "1"),
    "allocator": "default",
    "type": "function",
    "ledgerId": "0",
    "entryId": "0",
    "policyName": "p",
    "broker": "localhost:8080",
    **dict.fromkeys(("segment", "first", "second"), "0"),
    "descriptor": "0000-ffff-0",
    "version": "0",
}
TOPICS = ("t", "parted", "t-partition-0", "parted-partition-1", "messages")


@dataclass(frozen=True, slots=True)
class Row:
    """`body`: an example for PUT and POST. `query`: the names that the handlers read."""

    body: Any = None
    query: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RestInput:
    """`content`: bytes, or a value that is encoded only when sent, since there are tens of thousands of requests."""

    name: str
    method: str
    target: str
    content: Any = b""

    @property
    def body(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else document(self.content)


RATE = {
    "dispatchThrottlingRateInMsg": 1000,
    "dispatchThrottlingRateInByte": 1 << 20,
    "relativeToPublishRate": False,
    "ratePeriodInSecond": 1,
}
QUOTA = {"limitSize": 1 << 30, "limitTime": -1, "policy": "producer_request_hold"}
POSITION = {"ledgerId": 0, "entryId": 0, "partitionIndex": -1, "batchIndex": -1, "excluded": False, "properties": {}}
AVRO = {"type": "AVRO", "schema": '{"type":"record","name":"R","fields":[]}', "properties": {"a": "b"}}
PROPERTIES = {"key": "value"}
APPLIED = ("applied",)

POLICIES: dict[str, Any] = {
    "retention": {"retentionTimeInMinutes": 60, "retentionSizeInMB": 60},
    "messageTTL": 3600,
    "compactionThreshold": 1 << 20,
    "publishRate": {"publishThrottlingRateInMsg": 1000, "publishThrottlingRateInByte": 1 << 20},
    "dispatchRate": RATE,
    "subscriptionDispatchRate": RATE,
    "replicatorDispatchRate": RATE,
    "subscribeRate": {"subscribeThrottlingRatePerConsumer": 100, "ratePeriodInSecond": 30},
    "maxProducersPerTopic": 1000,
    "maxConsumersPerTopic": 1000,
    "maxConsumersPerSubscription": 1000,
    "maxSubscriptionsPerTopic": 1000,
    "maxTopicsPerNamespace": 10_000,
    "maxUnackedMessagesPerConsumer": 1000,
    "maxUnackedMessagesPerSubscription": 1000,
    "deduplication": False,
    "deduplicationSnapshotInterval": 100,
    "delayedDelivery": {"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 0},
    "inactiveTopicPolicies": {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 3600,
        "deleteWhileInactive": True,
    },
    "autoTopicCreation": {"allowAutoTopicCreation": True, "topicType": "partitioned", "defaultNumPartitions": 2},
    "autoSubscriptionCreation": {"allowAutoSubscriptionCreation": True},
    "subscriptionExpirationTime": 60,
    "allowedTopicPropertyKeysForMetrics": ["owner"],
    "subscriptionTypesEnabled": ["Exclusive", "Shared", "Failover", "Key_Shared"],
    "encryptionRequired": False,
    "schemaCompatibilityStrategy": "FULL",
    "schemaAutoUpdateCompatibilityStrategy": "Full",
    "schemaValidationEnforced": False,
    "isAllowAutoUpdateSchema": True,
    "persistence": {
        "bookkeeperEnsemble": 2,
        "bookkeeperWriteQuorum": 2,
        "bookkeeperAckQuorum": 2,
        "managedLedgerMaxMarkDeleteRate": 0.0,
    },
    "backlogQuota": QUOTA,
    "backlogQuotaMap": None,
    "maxProducers": 1000,
    "maxConsumers": 1000,
    "maxUnackedMessagesOnConsumer": 1000,
    "maxUnackedMessagesOnSubscription": 1000,
    "maxMessageSize": 1000,
    "deduplicationEnabled": False,
}
# Queries of single policies, in addition to `applied`.
POLICY_QUERIES = {
    "messageTTL": ("messageTTL",),
    "subscriptionExpirationTime": ("subscriptionExpirationTime",),
    "backlogQuota": ("backlogQuotaType",),
}

OF_NAMESPACES_ONLY = """
maxProducersPerTopic maxConsumersPerTopic maxTopicsPerNamespace maxUnackedMessagesPerConsumer
maxUnackedMessagesPerSubscription deduplication autoTopicCreation encryptionRequired
schemaAutoUpdateCompatibilityStrategy isAllowAutoUpdateSchema allowedTopicPropertyKeysForMetrics
"""
OF_TOPICS_ONLY = """
maxProducers maxConsumers maxUnackedMessagesOnConsumer maxUnackedMessagesOnSubscription maxMessageSize
deduplicationEnabled
"""
POLICIES_OF = {
    "N": [name for name in POLICIES if name not in OF_TOPICS_ONLY.split()],
    "T": [name for name in POLICIES if name not in OF_NAMESPACES_ONLY.split()],
}

PATHS_WITHOUT_BODY_OR_QUERY = """
/admin/v2/brokers/backlog-quota-check /admin/v2/brokers/{cluster}/{broker}/ownedNamespaces
/admin/v2/clusters/{cluster}/failureDomains /admin/v2/clusters/{cluster}/namespaceIsolationPolicies
/admin/v2/clusters/{cluster}/namespaceIsolationPolicies/brokers T/policies
/admin/v2/clusters/{cluster}/namespaceIsolationPolicies/brokers/{broker}
/admin/v2/{domain}/{tenant}/{namespace}/{bundle} /admin/v2/brokers/shutdown
/admin/v2/brokers /admin/v2/brokers/{cluster} /admin/v2/brokers/leaderBroker /admin/v2/brokers/health
/admin/v2/brokers/ready /admin/v2/brokers/version /admin/v2/brokers/configuration
/admin/v2/brokers/configuration/values /admin/v2/brokers/configuration/settings
/admin/v2/brokers/configuration/runtime
/admin/v2/brokers/configuration/{name}/{value} /admin/v2/brokers/configuration/{name}
/admin/v2/brokers/internal-configuration /admin/v2/brokers/damage /admin/v2/auth/whoami /admin/v2/auth/can
/openapi.json /openapi.html
/admin/v2/brokers/damage/accept /status.html /metrics /admin/v2/clusters /admin/v2/tenants
/admin/v2/namespaces/{tenant} N/bundles N/unload N/{bundle}/unload N/clearBacklog N/clearBacklog/{subscription}
N/{bundle}/clearBacklog N/{bundle}/clearBacklog/{subscription} N/unsubscribe/{subscription}
N/{bundle}/unsubscribe/{subscription} N/permissions T/permissions
/admin/v2/{domain}/{tenant}/{namespace}/partitioned T/unload T/createMissedPartitions T/terminate
T/terminate/partitions T/compaction T/trim T/lastMessageId T/messageid/{timestamp}
T/subscription/{subscription}/position/{number} T/ledger/{ledger}/entry/{entry} T/internalStats
T/partitioned-internalStats T/internal-info T/subscriptions T/subscription/{subscription}/skip_all
T/subscription/{subscription}/skip/{count} T/subscription/{subscription}/resetcursor/{timestamp}
T/subscription/{subscription}/expireMessages/{seconds} T/all_subscription/expireMessages/{seconds}
S/schema/{version} S/schemas S/metadata /lookup/v2/topic/{domain}/{tenant}/{namespace}/{topic}
/lookup/v2/topic/{domain}/{tenant}/{namespace}/{topic}/bundle
"""


def row_name(path: str) -> str:
    """The path of a route, as spelled in ROWS."""
    for prefix, letter in ((NAMESPACE, "N"), (SCHEMA, "S"), (TOPIC, "T")):
        if path == prefix or path.startswith(prefix + "/"):
            return letter + path[len(prefix) :]
    return path


MESSAGES = {
    "producerName": "p",
    "valueSchema": '{"type": "STRING", "schema": ""}',
    "messages": [{"key": "k", "payload": "x", "eventTime": 1, "sequenceId": 1, "properties": PROPERTIES}],
}
RESOURCE_QUOTA = {"msgRateIn": 1.0, "msgRateOut": 2.0, "bandwidthIn": 3.0, "memory": 4.0, "dynamic": True}
OFFLOAD = {  # a store that needs no network
    "managedLedgerOffloadDriver": "filesystem",
    "fileSystemURI": "file:///dev/null/nothing",
    "managedLedgerOffloadThresholdInBytes": 1 << 30,
}
GRANT = {"topic": "persistent://abuse/ns/t", "role": "r", "actions": ["produce"]}
AUTO_SCALE = {"enabled": True, "maxSegments": 8, "mergeWindowSeconds": 60, "splitMsgRateInThreshold": 2000.5}
PLAIN = {  # handlers that read neither a body nor a query, and those that refuse whatever they get
    row_name(route.path): Row(None, route.query)
    for route in (*other_services.ROUTES, *broker_stats.ROUTES, *transactions.ROUTES, *pending_acks.ROUTES)
}
OF_SCALABLE_TOPICS = {
    **{
        row_name(route.path): Row(None, route.query)
        for route in (*scalable.ROUTES, *segments.ROUTES, *segment_logs.ROUTES)
    },
    "/admin/v2/scalable/{tenant}/{namespace}/{topic}": Row({"key": "value"}, ("numInitialSegments", "force")),
    "/admin/v2/segments/{tenant}/{namespace}/{topic}/{descriptor}": Row(["s"], ("force",)),
    "/admin/v2/segments/{tenant}/{namespace}/{topic}/{descriptor}/offload": Row(POSITION),
    "/lookup/v2/topic/topic/{tenant}/{namespace}/{topic}": Row(None, ("listenerName",)),
}

ROWS: dict[str, Row] = {
    **PLAIN,
    **OF_SCALABLE_TOPICS,
    **{
        path: Row()
        for path in ["N/property/{key}", "N/property/{key}/{value}", "N/{bundle}", "T/truncate", "T/backlog"]
    },
    "N/antiAffinity": Row("group"),
    "/admin/v2/namespaces/{cluster}/antiAffinity/{group}": Row(None, ("tenant", "property")),
    "N/resourcegroup": Row(),
    "N/scanOffloadedLedgers": Row(),
    "N/removeOffloadPolicies": Row(),
    "N/offloadThreshold": Row(1000),
    "N/offloadThresholdInSeconds": Row(1000),
    "N/offloadDeletionLagMs": Row(1000),
    "N/offloadPolicies": Row(OFFLOAD, APPLIED),
    "T/offloadPolicies": Row(OFFLOAD, APPLIED),
    "T/offload": Row(POSITION),
    "T/offload/restore": Row(),
    "T/compaction/places": Row({"after": [-1, -1], "through": [1, 1], "ledgers": [[1, 1, 1, 1, 1]]}),
    "/admin/v2/brokers/offload/audit": Row(OFFLOAD, ("sweep",)),
    "N/resourcegroup/{resourcegroup}": Row(),
    "N/allowedClusters": Row(["standalone"]),
    "N/scalableTopicAutoScalePolicy": Row(AUTO_SCALE),
    "/admin/v2/scalable/{tenant}/{namespace}/{topic}/autoScalePolicy": Row(AUTO_SCALE),
    "N/persistence/bookieAffinity": Row({"bookkeeperAffinityGroupPrimary": "a"}),
    "N/migration": Row(False, ("migrated",)),
    "T/migration": Row({"phase": "in-use", "brokerServiceUrl": "pulsar://x:1"}),
    "T/migration/ledger": Row({"above": 1}),
    "N/subscriptionAuthMode": Row("Prefix"),
    **{f"{level}/entryFilters": Row({"entryFilterNames": "a"}, APPLIED) for level in "NT"},
    **{f"{level}/dispatcherPauseOnAckStatePersistent": Row(True, APPLIED) for level in "NT"},
    "T/shadowTopics": Row(["persistent://abuse/ns/x"]),
    "N/{bundle}/split": Row([1, 2], ("splitAlgorithmName", "unload")),
    "N/{bundle}/topicHashPositions": Row(None, ("topics",)),
    "N/permissions/subscription": Row(),
    "N/permissions/subscription/{subscription}": Row(["r"]),
    "N/permissions/{subscription}/{role}": Row(),
    "/admin/v2/namespaces/grantPermissionsOnTopics": Row([GRANT]),
    "/admin/v2/namespaces/revokePermissionsOnTopics": Row([GRANT]),
    "T/subscription/{subscription}/analyzeBacklog": Row(POSITION),
    "/admin/v2/bookies/all": Row(),
    "/admin/v2/metadata/migration/start": Row(None, ("target",)),
    "/admin/v2/metadata/migration/status": Row(),
    "/admin/v2/bookies/racks-info": Row(),
    "/admin/v2/bookies/racks-info/{bookie}": Row({"rack": "/r", "hostname": "h"}, ("group",)),
    "/admin/v2/resourcegroups": Row(),
    "/admin/v2/resourcegroups/{resourcegroup}": Row({"publishRateInMsgs": 1}),
    "/admin/v2/resource-quotas": Row(RESOURCE_QUOTA),
    "/admin/v2/resource-quotas/{tenant}/{namespace}/{bundle}": Row(RESOURCE_QUOTA),
    **{
        f"/topics/{{domain}}/{{tenant}}/{{namespace}}/{{topic}}{end}": Row(MESSAGES)
        for end in ("", "/partitions/{partition}")
    },
    **{path: Row() for path in PATHS_WITHOUT_BODY_OR_QUERY.split()},
    **{
        f"{level}/{name}": Row(POLICIES[name], (*APPLIED, *POLICY_QUERIES.get(name, ())))
        for level, names in POLICIES_OF.items()
        for name in names
    },
    "/admin/v2/clusters/{cluster}": Row({"serviceUrl": "http://x:1", "brokerServiceUrl": "pulsar://x:1"}),
    "/admin/v2/clusters/{cluster}/peers": Row(["standalone"]),
    "/admin/v2/clusters/{cluster}/migrate": Row({"serviceUrl": "http://x:1"}, ("migrated",)),
    "/admin/v2/clusters/{cluster}/failureDomains/{domainName}": Row({"brokers": ["b:1"]}),
    "/admin/v2/clusters/{cluster}/namespaceIsolationPolicies/{policyName}": Row(
        {
            "namespaces": ["abuse/.*"],
            "primary": ["localhost.*"],
            "secondary": [".*"],
            "auto_failover_policy": {
                "policy_type": "min_available",
                "parameters": {"min_limit": "1", "usage_threshold": "80"},
            },
        }
    ),
    "T/subscription/{subscription}/replicatedSubscriptionStatus": Row(True),
    "/admin/v2/tenants/{tenant}": Row({"adminRoles": ["a"], "allowedClusters": ["standalone"]}, ("force",)),
    "N": Row(
        {
            "bundles": {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2},
            "replication_clusters": ["standalone"],
            "auth_policies": {"namespace_auth": {}, "topic_auth": {}},
            "properties": PROPERTIES,
            "backlog_quota_map": {"destination_storage": QUOTA},
            "topicDispatchRate": {"standalone": RATE},
            "publishMaxMessageRate": {},
            "message_ttl_in_seconds": 3600,
            "retention_policies": POLICIES["retention"],
            "persistence": POLICIES["persistence"],
            "deduplicationEnabled": False,
            "autoTopicCreationOverride": POLICIES["autoTopicCreation"],
            "schema_compatibility_strategy": "FULL",
            "subscription_types_enabled": ["Shared"],
            "max_producers_per_topic": 1000,
            "compaction_threshold": 1000,
        },
        ("force",),
    ),
    "N/topics": Row(None, ("mode", "includeSystemTopic")),
    "N/replication": Row(["standalone"]),
    "T/replication": Row(["standalone"], APPLIED),
    "N/properties": Row(PROPERTIES),
    "N/permissions/{role}": Row(["produce"]),
    "T/permissions/{role}": Row(["produce"]),
    "T/{subscription}/dispatchRate": Row(RATE, APPLIED),
    "/admin/v2/{domain}/{tenant}/{namespace}": Row(None, ("includeSystemTopic", "bundle", "properties")),
    "T": Row(PROPERTIES, ("force",)),
    "T/partitions": Row({"partitions": 2, "properties": PROPERTIES}, ("force", "checkAllowAutoCreation")),
    "T/backlogSize": Row(POSITION),
    "T/getMessageIdByIndex": Row(None, ("index",)),
    "T/examinemessage": Row(None, ("messagePosition", "initialPosition")),
    "T/properties": Row(PROPERTIES, ("key",)),
    "T/stats": Row(None, ("getEarliestTimeInBacklog", "subscriptionBacklogSize", "excludePublishers")),
    "T/partitioned-stats": Row(None, ("perPartition", "excludeConsumers")),
    "T/subscription/{subscription}": Row(POSITION, ("force",)),
    "T/subscription/{subscription}/resetcursor": Row(POSITION),
    "T/subscription/{subscription}/expireMessages": Row(POSITION),
    "T/subscription/{subscription}/properties": Row(PROPERTIES),
    "S/schema": Row(AVRO, ("force",)),
    "S/compatibility": Row(AVRO),
    "S/version": Row(AVRO),
}

QUERY_VALUES = {**PARTS, "true": "true", "empty": "", "one": "1"}


def table(routes: Iterable[Route]) -> Iterator[RestInput]:
    for route in routes:
        row = ROWS[row_name(route.path)]
        for topic in TOPICS:
            yield _input(route, row, f"topic={topic}", {"topic": topic})
        yield _input(route, row, "domain=non-persistent", {"domain": "non-persistent"})
        for name in _variables(route.path):
            for what, value in PARTS.items():
                yield _input(route, row, f"{name}={what}", {name: value})
        for name in row.query:
            for what, value in QUERY_VALUES.items():
                yield _input(route, row, f"?{name}={what}", query=f"?{name}={value}")
        yield from _bodies(route, row)


def _bodies(route: Route, row: Row) -> Iterator[RestInput]:
    for what, body in BODIES.items() if route.method in WRITES else [("not-json", BODIES["not-json"])]:
        yield _input(route, row, f"body {what}", body=body)
    if route.method in WRITES and row.body is not None:
        for place in places(row.body):
            for what, value in VALUES.items():
                name = ".".join(map(str, place)) or "body"
                yield _input(route, row, f"{name}={what}", body=replaced(row.body, place, value))


def generated(routes: tuple[Route, ...], chance: random.Random) -> RestInput:
    """A random route with several parts of path, query, and body replaced."""
    route = chance.choice(routes)
    row = ROWS[row_name(route.path)]
    variables, names = {"topic": chance.choice(TOPICS)}, []
    for name in _variables(route.path):
        if chance.random() < 0.2:
            what, variables[name] = chance.choice(list(PARTS.items()))
            names.append(f"{name}={what}")
    body = row.body
    for place in chance.sample(list(places(body)), k=min(2, len(list(places(body))))):
        what, value = chance.choice(list((NUMBERS if chance.random() < 0.5 else VALUES).items()))
        body = replaced(body, place, value)
        names.append(f"{'.'.join(map(str, place)) or 'body'}={what}")
    query = "?" + "&".join(f"{name}={chance.choice(list(QUERY_VALUES.values()))}" for name in row.query)
    return _input(route, row, " ".join(names), variables, query, body)


def _variables(path: str) -> list[str]:
    return [segment[1:-1] for segment in path.split("/") if segment.startswith("{")]


def _input(
    route: Route,
    row: Row,
    what: str,
    variables: dict[str, str] | None = None,
    query: str = "",
    body: Any = None,
) -> RestInput:
    target = route.path.format_map({**ORDINARY, **(variables or {})}) + query
    if body is None:
        body = row.body if route.method in WRITES and row.body is not None else b""
    return RestInput(f"{route.method} {route.path} {what}", route.method, target, body)
