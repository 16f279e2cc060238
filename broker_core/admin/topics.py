"""`/admin/v2/persistent`: topics and partitioned topics, from creation to deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.admin.message_ids import message_id
from broker_core.admin.namespaces import visible_topics
from broker_core.admin.non_persistent import NEEDS_PERSISTENT, persistent_only
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.targets import check_exists, every_topic, not_found, one_topic
from broker_core.errors import (
    AlreadyExists,
    InvalidRequest,
    NeedsPersistentTopic,
    NoSuchPartition,
    NotAllowed,
    ReservedName,
    TopicNotFound,
    WrongTopicKind,
)
from broker_core.names import PARTITION_SUFFIX, TopicName
from broker_core.policies.json_values import int32
from broker_core.tenancy.system_topics import is_broker_internal, is_system_topic

if TYPE_CHECKING:
    from broker_core.topic.topic import Topic


async def list_topics(call: Call) -> list[str]:
    """Full names; a partitioned topic is listed by its partitions."""
    name, domain = call.namespace(), call.parts["domain"]
    call.broker.tenancy.namespace(name)
    if call.flag("includeSystemTopic"):
        return call.broker.topics.of_namespace(name, domain)
    return visible_topics(call.broker, name, domain)


async def list_partitioned(call: Call) -> list[str]:
    name = call.namespace()
    call.broker.tenancy.namespace(name)
    return [str(topic) for topic in call.broker.tenancy.partitioned_topics(name, call.parts["domain"])]


async def create_topic(call: Call) -> None:
    name, broker = call.topic(), call.broker
    broker.tenancy.check_namespace_of(name)
    _check_partition_name(call, name)
    _check_not_internal(name)
    if broker.partitioned.count(name) or broker.topics.exists(name):
        raise AlreadyExists("This topic already exists")
    broker.topics.room.check(name)
    if not await broker.topics.create(name, _properties(call, call.json())):
        raise AlreadyExists("This topic already exists")


def _check_not_internal(name: TopicName) -> None:
    if is_broker_internal(name):
        raise InvalidRequest("Cannot create topic in system topic format!")


def _check_partition_name(call: Call, name: TopicName) -> None:
    """A partition's name requires a partitioned topic, and a number below its number of partitions."""
    if not name.is_partition:
        return
    partitions, base = call.broker.partitioned.count(name.base), name.base.local
    if not partitions:
        raise NoSuchPartition(
            f'Can\'t create topic {name.local} with "{PARTITION_SUFFIX}" followed by numeric value'
            f" if there isn't a partitioned topic {base} created."
        )
    if name.partition >= partitions:
        raise NoSuchPartition(
            f'Can\'t create topic {name.local} with "{PARTITION_SUFFIX}" followed by a number'
            f" smaller than number of partition of partitioned topic {base}"
        )


def _properties(call: Call, body: Any) -> dict[str, str]:
    """Tools send various bodies here; only an object holds properties."""
    return read_properties(call, body) if isinstance(body, dict) else {}


async def delete_topic(call: Call) -> None:
    name, broker = call.topic(), call.broker
    broker.tenancy.check_namespace_of(name)
    if broker.partitioned.count(name):
        raise WrongTopicKind(
            f"{name} is a partitioned topic, instead of calling delete topic, please call delete-partitioned-topic."
        )
    if not broker.topics.exists(name):
        raise not_found(broker, name)
    await broker.topics.delete(name, force=call.flag("force"))


async def unload(call: Call) -> None:
    name = call.topic()
    check_exists(call.broker, name)
    partitioned = call.broker.partitioned.count(name) > 0
    for each in await call.broker.partitioned.existing(name) if partitioned else [name]:
        await call.broker.topics.unload(each)


# Partitioned topics


async def create_partitioned(call: Call) -> None:
    name = call.topic()
    _check_not_internal(name)
    partitions, properties = _partitions(call)
    call.check_length(f"{name}{PARTITION_SUFFIX}{partitions - 1}", "topic")
    await call.broker.partitioned.create(name, partitions, properties)


async def update_partitioned(call: Call) -> None:
    """Adds partitions; the same number creates missing ones."""
    name = call.topic()
    partitions, _ = _partitions(call)
    await call.broker.partitioned.update(name, partitions)
    await call.broker.partitioned.create_missing(name)


async def create_missing(call: Call) -> None:
    name = call.topic()
    if not call.broker.partitioned.count(name):
        raise TopicNotFound(f"Topic {name} not found")
    await call.broker.partitioned.create_missing(name)


def _partitions(call: Call) -> tuple[int, dict[str, str]]:
    """A number, or an object with `partitions` and `properties`, whatever the content type."""
    body = call.json()
    if isinstance(body, dict):
        return int32(body.get("partitions"), "partitions"), read_properties(call, body.get("properties"))
    if body is None:
        raise InvalidRequest("the number of partitions is missing")
    return int32(body, "partitions"), {}


async def get_partitioned(call: Call) -> dict[str, Any]:
    """`partitions` is 0 for other topics; `checkAllowAutoCreation` creates a topic that use would create."""
    name, broker = call.topic(), call.broker
    if call.flag("checkAllowAutoCreation"):
        broker.tenancy.check_namespace_of(name)
        await broker.partitioned.for_client(name, create=True)
    else:
        check_exists(broker, name)
    found = broker.tenancy.partitioned_topic(name)
    body: dict[str, Any] = {"partitions": found.partitions if found else 0, "deleted": False}
    if found and found.properties:
        body["properties"] = dict(found.properties)
    return body


async def delete_partitioned(call: Call) -> None:
    name, broker = call.topic(), call.broker
    if PARTITION_SUFFIX in name.local:
        raise ReservedName("Partitioned Topic Name should not contain '-partition-'")
    broker.tenancy.check_namespace_of(name)
    if not broker.partitioned.count(name):
        if broker.topics.exists(name):
            raise WrongTopicKind(
                f"{name} is a non-partitioned topic. Instead of calling delete-partitioned-topic please call delete."
            )
        raise TopicNotFound(f"Topic {name} not found.")
    await broker.partitioned.delete(name, force=call.flag("force"))


# Termination


async def terminate(call: Call) -> dict[str, int]:
    """Answers with the last message ID."""
    _check_terminable(call.topic())
    return await _terminate(await one_topic(call, "Termination of a partitioned topic is not allowed"))


async def terminate_partitions(call: Call) -> dict[str, dict[str, int]]:
    """Answers with the last message ID of each partition, by its number."""
    name = call.topic()
    _check_terminable(name)
    if not call.broker.partitioned.count(name):
        raise NotAllowed(
            "Termination of a non-partitioned topic is not allowed using partitioned-terminate,"
            " please use terminate commands"
        )
    return {str(topic.name.partition): await _terminate(topic) for topic in await every_topic(call)}


def _check_terminable(name: TopicName) -> None:
    if is_system_topic(name):
        raise NotAllowed("Termination of a system topic is not allowed")


async def _terminate(topic: Topic) -> dict[str, int]:
    last = await topic.terminate()
    return message_id(topic.name, last.ledger_id, last.entry_id)


# Compaction and trimming


async def start_compaction(call: Call) -> None:
    """Runs in the background; compacts every partition of a partitioned topic."""
    for topic in await every_topic(call):
        topic.compaction.start()


async def trim(call: Call) -> None:
    for topic in await every_topic(call):
        await topic.trim()


async def compaction_status(call: Call) -> dict[str, str]:
    compaction = (await one_topic(call)).compaction
    return {"status": compaction.state.value, "lastError": compaction.last_error}


_NAMESPACE = "/admin/v2/{domain}/{tenant}/{namespace}"
_TOPIC = f"{_NAMESPACE}/{{topic}}"

ROUTES = (
    Route("GET", _NAMESPACE, list_topics),
    Route("GET", f"{_NAMESPACE}/partitioned", list_partitioned),
    Route("PUT", _TOPIC, create_topic),
    Route("DELETE", _TOPIC, delete_topic),
    Route("PUT", f"{_TOPIC}/unload", unload),
    Route("PUT", f"{_TOPIC}/partitions", create_partitioned),
    Route("POST", f"{_TOPIC}/partitions", update_partitioned),
    Route("GET", f"{_TOPIC}/partitions", get_partitioned),
    Route("DELETE", f"{_TOPIC}/partitions", delete_partitioned),
    Route("POST", f"{_TOPIC}/createMissedPartitions", create_missing),
    Route(
        "POST", f"{_TOPIC}/terminate", persistent_only(terminate, "Termination", NeedsPersistentTopic, NEEDS_PERSISTENT)
    ),
    Route("POST", f"{_TOPIC}/terminate/partitions", persistent_only(terminate_partitions, "Termination")),
    Route("PUT", f"{_TOPIC}/compaction", persistent_only(start_compaction, "Compaction")),
    Route("GET", f"{_TOPIC}/compaction", persistent_only(compaction_status, "Compaction")),
    Route("POST", f"{_TOPIC}/trim", persistent_only(trim, "Trim")),
)
