"""WATCH_SCALABLE_TOPICS: which scalable topics a namespace has."""

import asyncio
from typing import Any

import pytest

from broker_core.names import NamespaceName, TopicName
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from broker_core.wire.topics_hash import topics_hash
from tests.broker.scalable.commands import framed, send
from tests.broker.scalable.requests import Requests
from tests.support.raw_client import RawClient

PREFIX = "topic://public/default/"


def watch(client: RawClient, watch_id: int = 1, known: str = "", **properties: str) -> None:
    client.send(request(watch_id, known, **properties))


def request(watch_id: int, known: str = "", **properties: str) -> bytes:
    command = BaseCommand(type=BaseCommand.WATCH_SCALABLE_TOPICS)
    body = command.watchScalableTopics
    body.watch_id, body.namespace, body.current_hash = watch_id, "public/default", known
    body.property_filters.extend(pb.KeyValue(key=key, value=value) for key, value in properties.items())
    return frame(command)


def next_update(client: RawClient) -> Any:
    return client.expect(BaseCommand.WATCH_SCALABLE_TOPICS_UPDATE)


def test_a_watch_gets_all_topics_and_then_what_changes(admin: Requests, client: RawClient) -> None:
    admin("PUT", "scalable/public/default/a")
    watch(client)
    assert list(next_update(client).snapshot.topics) == [f"{PREFIX}a"]
    admin("PUT", "scalable/public/default/b")
    assert list(next_update(client).diff.added) == [f"{PREFIX}b"]
    admin("DELETE", "scalable/public/default/a")
    assert list(next_update(client).diff.removed) == [f"{PREFIX}a"]


def test_a_watch_can_ask_for_properties(admin: Requests, client: RawClient) -> None:
    watch(client, team="lab")
    assert next_update(client).HasField("snapshot")
    admin("PUT", "scalable/public/default/other", {"team": "other"})
    admin("PUT", "scalable/public/default/mine", {"team": "lab", "more": "x"})
    assert list(next_update(client).diff.added) == [f"{PREFIX}mine"]


def test_a_client_that_knows_the_topics_gets_only_changes(admin: Requests, client: RawClient) -> None:
    admin("PUT", "scalable/public/default/a")
    watch(client, known=topics_hash([f"{PREFIX}a"]))
    admin("PUT", "scalable/public/default/b")
    assert list(next_update(client).diff.added) == [f"{PREFIX}b"]


def test_a_change_costs_a_watch_no_look_at_the_other_topics(
    admin: Requests, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, listed = admin.broker.scalable.records, []
    in_namespace = records.in_namespace

    def noted(namespace: NamespaceName) -> list[TopicName]:
        listed.append(namespace)
        return in_namespace(namespace)

    monkeypatch.setattr(records, "in_namespace", noted)
    watch(client)
    next_update(client)
    assert len(listed) == 1
    admin("PUT", "scalable/public/default/a")
    assert list(next_update(client).diff.added) == [f"{PREFIX}a"]
    assert len(listed) == 1


def test_other_clients_are_served_between_the_watches_of_one_write(
    admin: Requests, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    records, events = admin.broker.scalable.records, list[str]()
    in_namespace = records.in_namespace

    def noted(namespace: NamespaceName) -> list[TopicName]:
        events.append("listed")
        asyncio.get_running_loop().call_soon(events.append, "others")
        return in_namespace(namespace)

    monkeypatch.setattr(records, "in_namespace", noted)
    client.send(b"".join(map(request, range(10))))
    for _ in range(10):
        assert next_update(client).HasField("snapshot")
    admin("PUT", "scalable/public/default/a")
    assert events == ["listed", "others"] * 10


def test_a_watch_that_is_closed_in_the_same_write_gets_nothing(admin: Requests, client: RawClient) -> None:
    client.send(request(1) + framed(BaseCommand.WATCH_SCALABLE_TOPICS_CLOSE, watch_id=1) + request(2))
    admin("PUT", "scalable/public/default/a")
    assert [next_update(client).watch_id for _ in range(2)] == [2, 2]


def test_a_topic_that_is_made_again_without_the_property_leaves_the_watch(admin: Requests, client: RawClient) -> None:
    admin("PUT", "scalable/public/default/mine", {"team": "lab"})
    watch(client, team="lab")
    assert list(next_update(client).snapshot.topics) == [f"{PREFIX}mine"]
    admin("DELETE", "scalable/public/default/mine")
    admin("PUT", "scalable/public/default/mine")
    assert list(next_update(client).diff.removed) == [f"{PREFIX}mine"]


def test_a_watch_that_fails_says_why(client: RawClient) -> None:
    watch(client)
    next_update(client)
    watch(client)
    answer = next_update(client)
    assert (answer.error, "exists already" in answer.message) == (pb.NotAllowedError, True)
    send(client, BaseCommand.WATCH_SCALABLE_TOPICS_CLOSE, watch_id=1)
    watch(client)
    assert next_update(client).HasField("snapshot")
    send(client, BaseCommand.WATCH_SCALABLE_TOPICS, watch_id=2, namespace="bad")
    assert next_update(client).error == pb.InvalidTopicName
