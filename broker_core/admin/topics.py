"""`/admin/v2/persistent`: topics and partitioned topics, from creation to deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.admin.message_ids import message_id
from broker_core.admin.non_persistent import NEEDS_PERSISTENT, persistent_only
from broker_core.admin.properties import read_properties, wanted_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import ANY, INT32, PARTITIONS, PROPERTIES
from broker_core.admin.targets import check_exists, every_topic, not_found, one_topic, partitions_body
from broker_core.errors import (
    Conflict,
    InvalidRequest,
    NotAcceptable,
    NotAllowed,
    NotImplementedHere,
    PreconditionFailed,
    TopicNotFound,
)
from broker_core.metadata.policies.json_values import int32
from broker_core.metadata.tenancy.system_topics import is_broker_internal, is_system_topic
from broker_core.names import NON_PERSISTENT, PARTITION_SUFFIX, PERSISTENT, TopicName, check_partitioned_name
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import on_namespace, on_topic, topic_policy

if TYPE_CHECKING:
    from broker_core.topic.topic import Topic


SHADOW_SOURCE = "PULSAR.SHADOW_SOURCE"  # the property of a shadow topic (PIP-180)


async def list_topics(call: Call) -> list[str]:
    """Full names; a partitioned topic is listed by its partitions."""
    name, domain = call.namespace(), call.parts["domain"]
    namespace = call.broker.tenancy.namespace(name)
    topics = await call.broker.topics.listed(
        name, domain, system=call.flag("includeSystemTopic"), properties=wanted_properties(call)
    )
    if not call.query.get("bundle"):
        return topics
    bundle = namespace.bundles.find(str(name), call.query["bundle"])
    return [topic async for topic in sliced(topics) if namespace.bundles.bundle_of(topic) == bundle]


async def list_of_bundle(call: Call) -> list[str]:
    """The non-persistent topics of a bundle; Pulsar has no such list of persistent ones."""
    if call.parts["domain"] == PERSISTENT:
        raise NotAllowed("the topics of a bundle are at ?bundle= of the list of persistent topics")
    namespace = call.broker.tenancy.namespace(call.namespace())
    bundle = namespace.bundles.find(str(namespace.name), call.part("bundle"))
    topics = await call.broker.topics.listed(namespace.name, NON_PERSISTENT)
    return [topic async for topic in sliced(topics) if namespace.bundles.bundle_of(topic) == bundle]


async def list_partitioned(call: Call) -> list[str]:
    name = call.namespace()
    call.broker.tenancy.namespace(name)
    return [str(topic) for topic in call.broker.tenancy.partitioned.in_namespace(name, call.parts["domain"])]


async def create_topic(call: Call) -> None:
    name, broker = call.topic(), call.broker
    broker.tenancy.check_namespace_of(name)
    _check_partition_name(call, name)
    _check_not_internal(name)
    if broker.partitioned.count(name) or broker.topics.exists(name):
        raise Conflict("This topic already exists")
    broker.topics.creation.quota.check(name)
    if not await broker.topics.create(name, _properties(call, call.json())):
        raise Conflict("This topic already exists")


def _check_not_internal(name: TopicName) -> None:
    if is_broker_internal(name):
        raise InvalidRequest("Cannot create topic in system topic format!")


def _check_partition_name(call: Call, name: TopicName) -> None:
    """A partition's name requires a partitioned topic, and a number below its number of partitions."""
    if not name.is_partition:
        return
    partitions, base = call.broker.partitioned.count(name.base), name.base.local
    if not partitions:
        raise PreconditionFailed(
            f'Can\'t create topic {name.local} with "{PARTITION_SUFFIX}" followed by numeric value'
            f" if there isn't a partitioned topic {base} created."
        )
    if name.partition >= partitions:
        raise PreconditionFailed(
            f'Can\'t create topic {name.local} with "{PARTITION_SUFFIX}" followed by a number'
            f" smaller than number of partition of partitioned topic {base}"
        )


def _properties(call: Call, body: Any) -> dict[str, str]:
    properties = read_properties(call, body)
    if SHADOW_SOURCE in properties:
        raise NotImplementedHere(
            "cannot create a shadow topic: this broker does not have shadow topics; use another subscription on"
            f" {properties[SHADOW_SOURCE]}, which reads the same messages"
        )
    return properties


async def delete_topic(call: Call) -> None:
    name, broker = call.topic(), call.broker
    broker.tenancy.check_namespace_of(name)
    if broker.partitioned.count(name):
        raise Conflict(
            f"{name} is a partitioned topic, instead of calling delete topic, please call delete-partitioned-topic."
        )
    if not broker.topics.exists(name):
        raise not_found(broker, name)
    await broker.topics.delete(name, force=call.flag("force"))


async def unload(call: Call) -> None:
    name = call.topic()
    check_exists(call.broker, name)
    partitioned = call.broker.partitioned.count(name) > 0
    for partition in await call.broker.partitioned.existing(name) if partitioned else [name]:
        await call.broker.topics.unload(partition)


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
    coordinators = broker.coordinators_of(name)
    if coordinators is not None:
        return {"partitions": coordinators}  # for clients with a service URL of HTTP
    if call.flag("checkAllowAutoCreation"):
        broker.tenancy.check_namespace_of(name)
        await broker.partitioned.for_client(name, create=True)
    else:
        check_exists(broker, name)
    return partitions_body(call, name)


async def delete_partitioned(call: Call) -> None:
    name, broker = call.topic(), call.broker
    check_partitioned_name(name)
    broker.tenancy.check_namespace_of(name)
    if not broker.partitioned.count(name):
        if broker.topics.exists(name):
            raise Conflict(
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


async def compact_places(call: Call) -> None:
    """Compacts one topic with the last places of its keys, which `pulsarctl ops compact` has found."""
    from broker_core.wire.last_places import LastPlaces, MalformedPlaces

    topic = await one_topic(call, "Compaction with places is of one partition")
    try:
        places = LastPlaces.decode(call.body)
    except MalformedPlaces as error:
        raise InvalidRequest(f"cannot read the places: {error}") from None
    if topic.compaction.is_running:
        raise Conflict("Compaction already in progress")
    held = call.memory.handed_over()  # the compaction has the body until it ends
    topic.compaction.start(places, lambda: held.keep(0))


async def trim(call: Call) -> None:
    for topic in await every_topic(call):
        await topic.trim()


async def compaction_status(call: Call) -> dict[str, str]:
    compaction = (await one_topic(call)).compaction
    return {"status": compaction.state.value, "lastError": compaction.last_error}


_NAMESPACE = "/admin/v2/{domain}/{tenant}/{namespace}"
_TOPIC = f"{_NAMESPACE}/{{topic}}"

ROUTES = (
    Route("GET", f"{_NAMESPACE}/{{bundle}}", list_of_bundle, on_namespace("GET_BUNDLE")),
    Route(
        "GET", _NAMESPACE, list_topics, on_namespace("GET_TOPICS"), query=("bundle", "includeSystemTopic", "properties")
    ),
    Route(
        "GET", f"{_NAMESPACE}/partitioned", list_partitioned, on_namespace("GET_TOPICS"), query=("includeSystemTopic",)
    ),
    Route("PUT", _TOPIC, create_topic, on_namespace("CREATE_TOPIC"), body=PROPERTIES),
    Route("DELETE", _TOPIC, delete_topic, on_namespace("DELETE_TOPIC"), query=("force",)),
    Route("PUT", f"{_TOPIC}/unload", unload, on_topic("UNLOAD")),
    Route("PUT", f"{_TOPIC}/partitions", create_partitioned, topic_policy("PARTITION", "PUT"), body=PARTITIONS),
    Route(
        "POST",
        f"{_TOPIC}/partitions",
        update_partitioned,
        topic_policy("PARTITION", "POST"),
        query=("force", "updateLocalTopicOnly"),
        body=INT32,
    ),
    Route("GET", f"{_TOPIC}/partitions", get_partitioned, on_topic("LOOKUP"), query=("checkAllowAutoCreation",)),
    Route("DELETE", f"{_TOPIC}/partitions", delete_partitioned, on_namespace("DELETE_TOPIC"), query=("force",)),
    Route("POST", f"{_TOPIC}/createMissedPartitions", create_missing, on_namespace("CREATE_TOPIC")),
    Route(
        "POST",
        f"{_TOPIC}/terminate",
        persistent_only(terminate, "Termination", NotAcceptable, NEEDS_PERSISTENT),
        on_topic("TERMINATE"),
    ),
    Route(
        "POST",
        f"{_TOPIC}/terminate/partitions",
        persistent_only(terminate_partitions, "Termination"),
        on_topic("TERMINATE"),
    ),
    Route("PUT", f"{_TOPIC}/compaction", persistent_only(start_compaction, "Compaction"), on_topic("COMPACT")),
    Route("GET", f"{_TOPIC}/compaction", persistent_only(compaction_status, "Compaction"), on_topic("COMPACT")),
    Route(
        "POST",
        f"{_TOPIC}/compaction/places",
        persistent_only(compact_places, "Compaction"),
        on_topic("COMPACT"),
        body=ANY,
        has_large_body=True,
    ),
    Route("POST", f"{_TOPIC}/trim", persistent_only(trim, "Trim"), on_topic("TRIM_TOPIC")),
)
