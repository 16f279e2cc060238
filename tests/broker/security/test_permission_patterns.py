"""Permissions with wildcards, and subscription names that begin with the role."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, ServerError
from tests.support.secured import NAMESPACE, PARTED, PLAIN, ask, config, prepare, raw

ROLES = ("app.one", "app.", "one.app", "one.prod", "x*y", "xzy", "a*b", "ab", "app")
PATTERNS = {
    "app.*": {"app.one", "app."},
    "*.prod": {"one.prod"},
    "*": set(ROLES),
    "x*y": {"x*y"},
    "a**": {"a*b"},
    "nothing": set(),
}


@pytest.fixture(scope="module")
def matching() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config(wildcards=True)) as found:
        prepare(found)
        yield found


@pytest.fixture(scope="module")
def literal() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as found:
        prepare(found)
        yield found


def granted(broker: EmbeddedBroker, place: str, role: str, actions: list[str] | None) -> None:
    method = "DELETE" if actions is None else "POST"
    assert ask(broker, method, f"{place}/permissions/{role}", actions).status == 204


def may_produce(broker: EmbeddedBroker, role: str, topic: str = PLAIN) -> bool:
    client = raw(broker, role)
    body = CommandProducer(topic=topic, producer_id=1, request_id=1)
    client.send(frame(BaseCommand(type=BaseCommand.PRODUCER, producer=body)))
    answer: Any = client.next()
    client.close()
    denied = answer.type == BaseCommand.ERROR and answer.message.error == ServerError.AuthorizationError
    return not denied


@pytest.mark.parametrize("place", [f"namespaces/{NAMESPACE}", f"persistent/{NAMESPACE}/plain"])
@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_a_pattern_matches_as_in_pulsar(matching: EmbeddedBroker, pattern: str, place: str) -> None:
    granted(matching, place, pattern, ["produce"])
    assert {role for role in ROLES if may_produce(matching, role)} == PATTERNS[pattern]
    granted(matching, place, pattern, None)
    assert not any(may_produce(matching, role) for role in ROLES)


def test_without_wildcards_a_star_is_a_character(literal: EmbeddedBroker) -> None:
    for pattern in PATTERNS:
        granted(literal, f"namespaces/{NAMESPACE}", pattern, ["produce"])
    assert {role for role in ROLES if may_produce(literal, role)} == {"x*y"}


def test_a_pattern_gives_only_the_action_that_it_was_given(matching: EmbeddedBroker) -> None:
    granted(matching, f"namespaces/{NAMESPACE}", "app.*", ["consume"])
    assert not may_produce(matching, "app.one")
    assert subscribed(matching, "app.one", "s") == ""
    granted(matching, f"namespaces/{NAMESPACE}", "app.*", None)


def test_a_permission_on_a_topic_covers_its_partitions_and_no_topics_that_are_only_named_like_them(
    literal: EmbeddedBroker,
) -> None:
    assert subscribed(literal, "topic-consumer", "s", f"{PARTED}-partition-0") == ""
    for topic in (f"{PLAIN}-partition-0", f"{PLAIN}-partition-1"):
        assert "not authorized" in subscribed(literal, "topic-consumer", "s", topic)
        assert not may_produce(literal, "topic-producer", topic)
        path = topic.replace("://", "/")
        assert ask(literal, "PUT", f"{path}/subscription/s", role="topic-consumer").status == 401
        assert ask(literal, "GET", f"{path}/stats").status == 404


def test_a_pattern_on_a_partitioned_topic_does_not_cover_its_partitions(matching: EmbeddedBroker) -> None:
    granted(matching, f"persistent/{NAMESPACE}/parted", "app.*", ["produce"])
    assert not may_produce(matching, "app.one", f"{PARTED}-partition-0")
    granted(matching, f"persistent/{NAMESPACE}/parted", "app.*", None)


@pytest.mark.parametrize("key", ["super_users", "proxies"])
def test_super_users_and_proxies_are_never_patterns(key: str) -> None:
    with EmbeddedBroker(config=config(wildcards=True, **{key: "admin,*,adm*"})) as broker:
        assert ask(broker, "GET", "tenants", role="administrator").status == 401


def subscribed(broker: EmbeddedBroker, role: str, subscription: str, topic: str = PLAIN) -> str:
    """Empty if it worked, or the reason that the client gets."""
    client = raw(broker, role)
    client.send(client_commands.subscribe(1, topic, subscription, 1, sub_type=1))
    answer: Any = client.next()
    client.close()
    return "" if answer.type == BaseCommand.SUCCESS else str(answer.message.message)


@pytest.fixture
def prefixed(literal: EmbeddedBroker) -> Iterator[EmbeddedBroker]:
    """Subscriptions begin with the name of the role."""
    path = f"namespaces/{NAMESPACE}/subscriptionAuthMode"
    assert ask(literal, "POST", path, "Prefix").status == 204
    yield literal
    assert ask(literal, "POST", path, "None").status == 204


@pytest.mark.parametrize(
    ("role", "subscription", "allowed"),
    [
        ("consumer", "consumer", True),
        ("consumer", "consumer-1", True),
        ("consumer", "other", False),
        ("consumer", "Consumer-1", False),
        ("consumer", "", False),
        ("topic-consumer", "topic-consumer-1", True),
        ("topic-consumer", "consumer-1", False),
        ("owner", "other", True),
        ("admin", "other", True),
        ("producer", "producer-1", False),
    ],
)
def test_a_subscription_begins_with_the_role(
    prefixed: EmbeddedBroker, role: str, subscription: str, allowed: bool
) -> None:
    assert (subscribed(prefixed, role, subscription) == "") is allowed


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", f"persistent/{NAMESPACE}/plain/subscription/other/skip_all", 401),
        ("POST", f"persistent/{NAMESPACE}/plain/subscription/other/expireMessages/1", 401),
        ("POST", f"persistent/{NAMESPACE}/plain/all_subscription/expireMessages/1", 401),
        ("DELETE", f"persistent/{NAMESPACE}/plain/subscription/other", 401),
        ("POST", f"namespaces/{NAMESPACE}/unsubscribe/other", 403),
        ("POST", f"namespaces/{NAMESPACE}/clearBacklog", 403),
    ],
)
def test_the_prefix_counts_over_rest_too(prefixed: EmbeddedBroker, method: str, path: str, status: int) -> None:
    ask(prefixed, "PUT", f"persistent/{NAMESPACE}/plain/subscription/other")
    assert ask(prefixed, method, path, role="consumer").status == status
    assert "other" in ask(prefixed, "GET", f"persistent/{NAMESPACE}/plain/subscriptions").json


def test_a_new_prefix_closes_the_consumers_that_break_it(literal: EmbeddedBroker) -> None:
    client = raw(literal, "consumer")
    client.send(client_commands.subscribe(1, PLAIN, "freely-named", 1))
    client.expect(BaseCommand.SUCCESS)
    path = f"namespaces/{NAMESPACE}/subscriptionAuthMode"
    assert ask(literal, "POST", path, "Prefix").status == 204
    client.expect(BaseCommand.CLOSE_CONSUMER, 1.0)
    assert ask(literal, "POST", path, "None").status == 204
