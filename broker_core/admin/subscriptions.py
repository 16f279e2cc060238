"""Subscriptions of a topic: list, create, delete, move, and clear; for a partitioned topic, in every partition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from broker_core.admin.call import Call
from broker_core.admin.non_persistent import ONLY_BY_CLIENTS, persistent_only
from broker_core.admin.positions import read_open_bits, read_position, reset_data
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import PROPERTIES, RESET_DATA, TRUTH
from broker_core.admin.targets import check_exists, every_topic, one_topic
from broker_core.backlog.backlogs import no_backlog
from broker_core.errors import Conflict, InvalidRequest, PreconditionFailed, SubscriptionNotFound
from broker_core.metadata.policies.json_values import truth
from broker_core.names import is_reserved_subscription
from broker_core.rates.time_slices import gathered, sliced
from broker_core.security.operations import on_topic
from broker_core.storage.records.position import LATEST

if TYPE_CHECKING:
    from broker_core.backlog.backlogged import Backlogged
    from broker_core.topic.subscription import Subscription
    from broker_core.topic.topic import Topic

ALMOST_CAUGHT_UP = 1000  # entries; Pulsar's bound


async def list_subscriptions(call: Call) -> list[str]:
    topics = await every_topic(call)
    return sorted({name for topic in topics for name in topic.subscriptions})


async def create_subscription(call: Call) -> None:
    """Create it at the position in the body (a ResetCursorData), by default at the end; creates a missing topic."""
    name = call.subscription()
    if not name.strip() or is_reserved_subscription(name):
        raise PreconditionFailed(f"Subscription name {name} is reserved")
    body = reset_data(call.json())
    # Everything is read before anything is created, so that a refused request leaves no topic.
    properties = read_properties(call, body.get("properties"))
    start = read_position(body) if "ledgerId" in body else LATEST
    await _create_topic_if_missing(call)
    topics = await every_topic(call)
    missing = [topic for topic in topics if name not in topic.subscriptions]
    if not missing:
        raise Conflict("Subscription already exists for topic")

    async def create(topic: Topic) -> None:
        await topic.subscriptions.open(
            name, durable=True, start=start, earliest=False, properties=properties, replicated=call.flag("replicated")
        )

    await gathered(missing, create)


async def _create_topic_if_missing(call: Call) -> None:
    name, broker = call.topic(), call.broker
    broker.tenancy.check_namespace_of(name)
    if not broker.partitioned.count(name) and not broker.topics.exists(name):
        await broker.partitioned.for_client(name, create=True)
        if not broker.partitioned.count(name):
            await broker.topics.for_client(name)


async def delete_subscription(call: Call) -> None:
    """Deletes the subscription from the partitions that have it."""
    name, force = call.subscription(), call.flag("force")
    topics = await every_topic(call)
    having = [topic for topic in topics if name in topic.subscriptions]
    if not having:
        raise _missing(call, name)
    if not force and any(topic.subscriptions[name].consumers for topic in having):
        raise PreconditionFailed("Subscription has active connected consumers")

    async def delete(topic: Topic) -> None:
        await topic.subscriptions.delete(name, force=force)

    await gathered(having, delete)


def _missing(call: Call, name: str) -> SubscriptionNotFound:
    if call.broker.partitioned.count(call.topic()):
        return SubscriptionNotFound("Subscription not found")
    return SubscriptionNotFound(f"Subscription {name} not found for topic {call.topic()}")


async def _for_each(call: Call, act: Callable[[Topic, Subscription], Awaitable[Any]]) -> list[Any]:
    """Acts on the subscription in the path in every topic that has it; raises an error if none has it."""
    name = call.subscription()
    topics = [topic for topic in await every_topic(call) if name in topic.subscriptions]
    if not topics:
        raise SubscriptionNotFound(f"Subscription {name} not found for topic {call.topic()}")
    return await gathered(topics, lambda topic: act(topic, topic.subscriptions.find(name)))


async def _for_each_backlog(call: Call, act: Callable[[Backlogged], Awaitable[Any]]) -> list[Any]:
    """Do the same as `_for_each`; the name may also be that of a replicator's cursor, `pulsar.repl.CLUSTER`."""
    name = call.subscription()
    topics = await every_topic(call)
    having = [topic for topic in topics if name in topic.backlogs]
    if not having:
        raise no_backlog(name, call.topic())

    async def act_on(topic: Topic) -> Any:
        return await act(_movable(topic, name))

    return await gathered(having, act_on)


def _movable(topic: Topic, name: str) -> Backlogged:
    """Raises `SubscriptionNotFound`, or `TopicFenced` or `TopicMoved` while the topic goes to another cluster."""
    topic.migration.check_acknowledgeable()
    return topic.backlogs.find(name)


async def clear_backlog(call: Call) -> None:
    await _for_each_backlog(call, lambda subscription: subscription.clear_backlog())


async def skip(call: Call) -> None:
    topic = await one_topic(call, "Skip messages on a partitioned topic is not allowed")
    await _movable(topic, call.subscription()).skip(call.number("count"))


async def reset_to_time(call: Call) -> None:
    """Moves the subscription to the first message published at that time or later."""
    moment = call.number("timestamp")

    async def reset(_topic: Topic, subscription: Subscription) -> None:
        await subscription.reset_to_time(moment)

    await _for_each(call, reset)


async def reset_to_position(call: Call) -> None:
    topic = await one_topic(call, "Reset-cursor at position is not allowed for partitioned-topic")
    subscription = topic.subscriptions.find(call.subscription())
    body = reset_data(call.json())
    open_bits = read_open_bits(body, call.broker.config.commands.max_batch_messages)
    await subscription.reset(read_position(body), open_bits)


async def expire(call: Call) -> None:
    """Acknowledges messages older than the number of seconds; 409 if Pulsar would not look for them."""
    name = call.subscription()
    before = _moment_before(call)

    if not any(await _for_each_backlog(call, lambda subscription: _expired(subscription, before))):
        raise _nothing_expired(call, name)


async def _expired(subscription: Backlogged, before: int) -> bool:
    """Whether messages expired, or Pulsar does not assume from the size of the backlog that none did.

    That is an empty one, or one of a few messages that a consumer is about to get. Durable on return.
    """
    backlog = subscription.cursor.backlog_entries
    if not backlog:
        return False
    expired = await subscription.expire_before(before)
    await subscription.cursor.flush()
    return bool(expired) or not (subscription.has_reader and backlog < ALMOST_CAUGHT_UP)


async def expire_to_position(call: Call) -> None:
    topic = await one_topic(call, "Expire message at position is not supported for partitioned-topic")
    subscription = _movable(topic, call.subscription())
    body = reset_data(call.json())
    position = read_position({**body, "excluded": False})
    expired = await subscription.expire_up_to(position, inclusive=not body.get("excluded"))
    await subscription.cursor.flush()
    if not expired:
        raise _nothing_expired(call, subscription.name)


async def get_properties(call: Call) -> dict[str, str]:
    properties: dict[str, str] = {}

    async def read(_topic: Topic, subscription: Subscription) -> None:
        properties.update(subscription.properties)

    await _for_each(call, read)
    return properties


async def set_properties(call: Call) -> None:
    """Replaces all properties."""
    properties = read_properties(call, call.json_object())

    async def write(_topic: Topic, subscription: Subscription) -> None:
        await subscription.set_properties(properties)

    await _for_each(call, write)


async def get_replicated(call: Call) -> dict[str, bool]:
    """Return the setting of each partition that has the subscription, by the partition's name."""
    replicated: dict[str, bool] = {}

    async def read(topic: Topic, subscription: Subscription) -> None:
        replicated[str(topic.name)] = subscription.is_replicated

    await _for_each(call, read)
    return replicated


async def set_replicated(call: Call) -> None:
    replicated = truth(call.json(), "the request body")

    async def write(_topic: Topic, subscription: Subscription) -> None:
        await subscription.set_replicated(replicated)

    await _for_each(call, write)


async def expire_all(call: Call) -> None:
    check_exists(call.broker, call.topic())
    before = _moment_before(call)
    for topic in await every_topic(call):
        async for subscription in sliced(list(topic.backlogs.values())):
            if not await _expired(subscription, before):
                raise _nothing_expired(call, subscription.name)


def _moment_before(call: Call) -> int:
    return call.broker.topics.expiry.now_ms() - call.number("seconds") * 1000


def _nothing_expired(call: Call, name: str) -> Conflict:
    return Conflict(
        f"Expire message by timestamp not issued on topic {call.topic()} for subscription {name} due to ongoing "
        "message expiration not finished or subscription almost catch  up. If it's performed on a partitioned "
        "topic operation might succeeded on other partitions, please check stats of individual partition."
    )


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"
_SUBSCRIPTION = f"{_TOPIC}/subscription/{{subscription}}"

_REPLICATED = f"{_SUBSCRIPTION}/replicatedSubscriptionStatus"

ROUTES = (
    Route(
        "GET",
        _REPLICATED,
        persistent_only(get_replicated, "", reason="Cannot get replicated subscriptions on non-persistent topics"),
        on_topic("GET_REPLICATED_SUBSCRIPTION_STATUS"),
    ),
    Route(
        "POST",
        _REPLICATED,
        persistent_only(
            set_replicated, "", reason="Cannot enable/disable replicated subscriptions on non-persistent topics"
        ),
        on_topic("SET_REPLICATED_SUBSCRIPTION_STATUS"),
        body=TRUTH,
    ),
    Route("GET", f"{_TOPIC}/subscriptions", list_subscriptions, on_topic("GET_SUBSCRIPTIONS")),
    Route(
        "PUT",
        _SUBSCRIPTION,
        persistent_only(create_subscription, "Creating a subscription", InvalidRequest, ONLY_BY_CLIENTS),
        on_topic("SUBSCRIBE"),
        query=("replicated",),
        body=RESET_DATA,
    ),
    Route("DELETE", _SUBSCRIPTION, delete_subscription, on_topic("UNSUBSCRIBE"), query=("force",)),
    Route("POST", f"{_SUBSCRIPTION}/skip_all", persistent_only(clear_backlog, "Skip messages"), on_topic("SKIP")),
    Route("POST", f"{_SUBSCRIPTION}/skip/{{count}}", persistent_only(skip, "Skip messages"), on_topic("SKIP")),
    Route("POST", f"{_SUBSCRIPTION}/resetcursor", reset_to_position, on_topic("RESET_CURSOR"), body=RESET_DATA),
    Route("POST", f"{_SUBSCRIPTION}/resetcursor/{{timestamp}}", reset_to_time, on_topic("RESET_CURSOR")),
    Route(
        "POST",
        f"{_SUBSCRIPTION}/expireMessages",
        persistent_only(expire_to_position, "Expire messages"),
        on_topic("EXPIRE_MESSAGES"),
        body=RESET_DATA,
    ),
    Route(
        "POST",
        f"{_SUBSCRIPTION}/expireMessages/{{seconds}}",
        persistent_only(expire, "Expire messages"),
        on_topic("EXPIRE_MESSAGES"),
    ),
    Route("GET", f"{_SUBSCRIPTION}/properties", get_properties, on_topic("CONSUME")),
    Route("PUT", f"{_SUBSCRIPTION}/properties", set_properties, on_topic("SUBSCRIBE"), body=PROPERTIES),
    Route(
        "POST",
        f"{_TOPIC}/all_subscription/expireMessages/{{seconds}}",
        persistent_only(expire_all, "Expire messages"),
        on_topic("EXPIRE_MESSAGES"),
    ),
)
