"""Who may do what: every route and every command, and the kinds of clients that pass.

`test_matrix` compares it with this broker, and `test_same_authorization` in tests/long/real_pulsar with Apache Pulsar.
"""

from __future__ import annotations

from broker_core.admin.all_routes import all_routes
from broker_core.admin.routes import Route
from broker_core.names import SCALABLE
from broker_core.security.operations import Kind, Operation
from broker_core.security.principal import Principal
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer
from tests.support.secured import NAMESPACE

CLIENTS = {
    "no role": None,
    "nothing": Principal("nothing"),
    "producer": Principal("producer"),
    "consumer": Principal("consumer"),
    "topic-producer": Principal("topic-producer"),
    "topic-consumer": Principal("topic-consumer"),
    "grantee": Principal("grantee"),
    "consumer and grantee": Principal("taker"),
    "owner": Principal("owner"),
    "stranger": Principal("stranger"),
    "admin": Principal("admin"),
    "proxy": Principal("proxy"),
    "proxy for producer": Principal("proxy", "producer"),
    "proxy for consumer": Principal("proxy", "consumer"),
    "proxy for owner": Principal("proxy", "owner"),
    "proxy for admin": Principal("proxy", "admin"),
    "proxy for itself": Principal("proxy", "proxy"),
    "producer as admin": Principal("producer", "admin"),
}
SUPER = {"admin"}
TENANT = {"owner", *SUPER}
ON_NAMESPACE = {
    "produce": {"producer", "proxy for producer"},
    "consume": {"consumer", "consumer and grantee", "proxy for consumer"},
}
# Through the proxy an admin has what the proxy itself may do: its permissions on the namespace.
THROUGH_PROXY = {"proxy for owner", "proxy for admin"}
ON_TOPIC = {
    "produce": ON_NAMESPACE["produce"] | {"topic-producer"},
    "consume": ON_NAMESPACE["consume"] | {"topic-consumer"},
}
EVERYONE = set(CLIENTS)

_EITHER_ON_TOPIC = TENANT | THROUGH_PROXY | ON_TOPIC["produce"] | ON_TOPIC["consume"]
_PRODUCE_ON_TOPIC = TENANT | THROUGH_PROXY | ON_TOPIC["produce"]
CONSUME_ON_TOPIC = TENANT | THROUGH_PROXY | ON_TOPIC["consume"]
_EITHER = TENANT | THROUGH_PROXY | ON_NAMESPACE["produce"] | ON_NAMESPACE["consume"]
CONSUME = TENANT | THROUGH_PROXY | ON_NAMESPACE["consume"]

# Who passes, by kind or by kind and operation: the tables "TopicOperation", "NamespaceOperation", and "TenantOperation"
# of Pulsar's AuthorizationProvider.
WHO: dict[str, set[str]] = {
    "anyone": EVERYONE,
    "superUser": SUPER,
    "broker": SUPER,
    "cluster": SUPER,
    "clusterPolicy": SUPER,
    "tenantAdmin": TENANT,
    "namespacePolicy": TENANT,
    "topicPolicy": TENANT,
    "tenant:LIST_TENANTS": SUPER,
    "tenant:CREATE_TENANT": SUPER,
    "tenant:GET_TENANT": TENANT,
    "tenant:UPDATE_TENANT": TENANT,
    "tenant:DELETE_TENANT": TENANT,
    "tenant:LIST_NAMESPACES": TENANT,
    "tenant:CREATE_NAMESPACE": TENANT,
    "tenant:DELETE_NAMESPACE": TENANT,
    "namespace:GET_TOPICS": _EITHER,
    "namespace:GET_BUNDLE": _EITHER,
    "namespace:CLEAR_BACKLOG": CONSUME,
    "namespace:UNSUBSCRIBE": CONSUME,
    "namespace:GET_PERMISSION": TENANT,
    "namespace:GRANT_PERMISSION": TENANT,
    "namespace:REVOKE_PERMISSION": TENANT,
    "namespace:CREATE_TOPIC": TENANT,
    "namespace:DELETE_TOPIC": TENANT,
    "namespace:DELETE_BUNDLE": TENANT,
    "topic:LOOKUP": _EITHER_ON_TOPIC,
    "topic:GET_STATS": _EITHER_ON_TOPIC,
    "topic:GET_METADATA": _EITHER_ON_TOPIC,
    "topic:PRODUCE": _PRODUCE_ON_TOPIC,
    "topic:CONSUME": CONSUME_ON_TOPIC,
    "topic:SUBSCRIBE": CONSUME_ON_TOPIC,
    "topic:UNSUBSCRIBE": CONSUME_ON_TOPIC,
    "topic:SKIP": CONSUME_ON_TOPIC,
    "topic:EXPIRE_MESSAGES": CONSUME_ON_TOPIC,
    "topic:PEEK_MESSAGES": CONSUME_ON_TOPIC,
    "topic:RESET_CURSOR": CONSUME_ON_TOPIC,
    "topic:GET_SUBSCRIPTIONS": CONSUME_ON_TOPIC,
    "topic:GET_BACKLOG_SIZE": CONSUME_ON_TOPIC,
    "topic:SET_REPLICATED_SUBSCRIPTION_STATUS": CONSUME_ON_TOPIC,
    "topic:GET_REPLICATED_SUBSCRIPTION_STATUS": CONSUME_ON_TOPIC,
    "topic:TERMINATE": TENANT,
    "topic:COMPACT": TENANT,
    "topic:OFFLOAD": TENANT,
    "topic:UNLOAD": TENANT,
    "topic:TRIM_TOPIC": TENANT,
    "topic:UPDATE_METADATA": TENANT,
    "topic:DELETE_METADATA": TENANT,
    "topic:MIGRATE_TO_SCALABLE": TENANT,
}
# Routes that name no tenant in their path: only superusers pass.
WITHOUT_TENANT = {
    "/admin/v2/namespaces/{cluster}/antiAffinity/{group}",
    "/admin/v2/namespaces/grantPermissionsOnTopics",
    "/admin/v2/namespaces/revokePermissionsOnTopics",
}
OPEN_COMMANDS = {
    "CONNECT",
    "AUTH_RESPONSE",
    "PING",
    "PONG",
    "WATCH_TOPIC_LIST_CLOSE",
    "CLOSE_PRODUCER",
    "FLOW",
    "ACK",
    "REDELIVER_UNACKNOWLEDGED_MESSAGES",
    "SEEK",
    "GET_LAST_MESSAGE_ID",
    "CONSUMER_STATS",
    "UNSUBSCRIBE",
    "CLOSE_CONSUMER",
    "TC_CLIENT_CONNECT_REQUEST",
    "NEW_TXN",
    "ADD_PARTITION_TO_TXN",
    "ADD_SUBSCRIPTION_TO_TXN",
    "END_TXN",
    "SCALABLE_TOPIC_CLOSE",
    "SCALABLE_TOPIC_UNSUBSCRIBE",
    "WATCH_SCALABLE_TOPICS_CLOSE",
    "WATCH_TC_ASSIGNMENTS",
    "WATCH_TC_ASSIGNMENTS_CLOSE",
}
COMMAND_NEEDS = {
    "LOOKUP": "topic:LOOKUP",
    "PARTITIONED_METADATA": "topic:LOOKUP",
    "GET_TOPICS_OF_NAMESPACE": "namespace:GET_TOPICS",
    "WATCH_TOPIC_LIST": "namespace:GET_TOPICS",
    "PRODUCER": "topic:PRODUCE",
    "SUBSCRIBE": "topic:CONSUME",
    "SCALABLE_TOPIC_LOOKUP": "topic:LOOKUP",
    "WATCH_SCALABLE_TOPICS": "namespace:GET_TOPICS",
    "SCALABLE_TOPIC_SUBSCRIBE": "topic:CONSUME",
    "GET_SCHEMA": "topic:GET_METADATA",
    "GET_OR_CREATE_SCHEMA": "topic:PRODUCE",
}
VALUES = {"tenant": "acme", "namespace": "shop", "topic": "plain", "domain": "persistent", "subscription": "sub"}

ROUTES = all_routes().listed


def expected(route: Route) -> set[str]:
    """The clients that pass."""
    who = SUPER if route.path in WITHOUT_TENANT else WHO[row(route.operation)]
    # Without a subscription in the path it acts on all of them, also on the one of another role.
    every = route.operation.name in ("CLEAR_BACKLOG", "EXPIRE_MESSAGES") and "subscription" not in parts(route)
    who = who & {*TENANT, "consumer and grantee"} if every else who
    return {name for name in who if not name.startswith("topic-")} if route.domain == SCALABLE else who


def row(operation: Operation) -> str:
    named = operation.kind in (Kind.TOPIC, Kind.NAMESPACE, Kind.TENANT)
    return str(operation) if named else operation.kind.value


def parts(route: Route, **values: str) -> dict[str, str]:
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    return {name: {**VALUES, **values}.get(name, "x") for name in names}


def title(route: Route) -> str:
    return f"{route.method} {route.path}"


def sample(kind: str, topic: str) -> BaseCommand:
    number = BaseCommand.Type.Value(kind)
    made = {
        "LOOKUP": client_commands.lookup(1, topic),
        "PARTITIONED_METADATA": client_commands.partitioned_metadata(1, topic),
        "GET_TOPICS_OF_NAMESPACE": client_commands.topics_of_namespace(1, NAMESPACE),
        "SUBSCRIBE": client_commands.subscribe(1, topic, "sub", 1, sub_type=1),
    }.get(kind)
    if made is not None:
        return BaseCommand.FromString(made[8:])
    command = BaseCommand(type=number)
    if kind == "WATCH_TOPIC_LIST":
        body = command.watchTopicList
        body.request_id = body.watcher_id = 1
        body.namespace, body.topics_pattern = NAMESPACE, ".*"
    elif kind == "PRODUCER":
        command.producer.CopyFrom(CommandProducer(topic=topic, producer_id=1, request_id=1))
    elif kind == "WATCH_SCALABLE_TOPICS":
        command.watchScalableTopics.watch_id = 1
        command.watchScalableTopics.namespace = topic.partition("://")[2].rpartition("/")[0]
    elif kind == "SCALABLE_TOPIC_LOOKUP":
        command.scalableTopicLookup.session_id, command.scalableTopicLookup.topic = 1, topic
    elif kind == "SCALABLE_TOPIC_SUBSCRIBE":
        registered = command.scalableTopicSubscribe
        registered.request_id = registered.consumer_id = 1
        registered.topic, registered.subscription, registered.consumer_name = topic, "sub", "c"
        registered.consumer_type = 0  # type: ignore[assignment]  # enum fields take plain numbers
    elif kind == "GET_SCHEMA":
        command.getSchema.request_id, command.getSchema.topic = 1, topic
    else:
        command.getOrCreateSchema.request_id, command.getOrCreateSchema.topic = 1, topic
        command.getOrCreateSchema.schema.name, command.getOrCreateSchema.schema.schema_data = "", b""
        command.getOrCreateSchema.schema.type = 0  # type: ignore[assignment]  # enum fields take plain numbers
    return command
