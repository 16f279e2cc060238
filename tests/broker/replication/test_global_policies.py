"""Policies of topics for all clusters (`isGlobal=true`): set in one, in force in each, also in one that was away."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.metadata.policies.policy_set import PolicySet
from broker_core.metadata.policies.values import BacklogQuota, DispatchRate, RetentionPolicy
from broker_core.names import POLICY_CURSOR, parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.topic.one_entry import OneEntry, publish_one
from broker_core.topic.topic import Topic
from broker_core.topics.change_events.policy_event import PolicyChange, event_entry
from broker_core.topics.change_events.topic import ChangeEventsTopic
from broker_core.wire.message import build_entry, parse_entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from tests.broker.replication.pair import NAMES, Pair
from tests.support.clusters import (
    admin,
    config_of,
    introduce,
    new_namespace,
    record_of,
    register,
    replication_stats,
)
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.storage import crash

SECONDS = 30
NAMESPACE = "public/kept"
LIMIT = {"limitSize": 1000, "limitTime": -1, "policy": "producer_exception"}
RATE = {"dispatchThrottlingRateInMsg": 3}
TOO_LONG = {f"{'s' * 2000}-{number}": DispatchRate(number) for number in range(100)}  # for an event


def events_of(topic: str) -> str:
    return topic.rpartition("/")[0] + "/__change_events"


def path_of(topic: str) -> str:
    return topic.replace("://", "/")


def set_ttl(broker: EmbeddedBroker, topic: str, seconds: int, *, everywhere: bool = True) -> None:
    admin(
        broker.http_url, "POST", f"{path_of(topic)}/messageTTL?messageTTL={seconds}&isGlobal={str(everywhere).lower()}"
    )


def shown(broker: EmbeddedBroker, topic: str, path: str, query: str = "isGlobal=true") -> Any:
    return admin(broker.http_url, "GET", f"{path_of(topic)}/{path}?{query}")


def arrives(broker: EmbeddedBroker, topic: str, value: Any, path: str = "messageTTL") -> None:
    """Waits for a policy for all clusters."""
    wait_until(lambda: shown(broker, topic, path) == value, SECONDS)


def created(pair: Pair) -> str:
    return create((pair.west, pair.east), pair.topic())


def create(brokers: Iterable[EmbeddedBroker], topic: str) -> str:
    """In both clusters; the replicator of the first one may be faster than this."""
    for broker in brokers:
        try:
            admin(broker.http_url, "PUT", path_of(topic))
        except HTTPError as error:
            assert error.code == 409
    return topic


def test_a_policy_for_all_clusters_is_in_force_in_each(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    assert shown(pair.east, topic, "messageTTL", "applied=true") == 5
    assert shown(pair.east, topic, "messageTTL", "isGlobal=false") is None
    wait_until(lambda: loaded(pair.east, topic).policies.ttl_seconds == 5, SECONDS)


def test_a_policy_of_one_cluster_stays_there(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 7, everywhere=False)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    assert shown(pair.west, topic, "messageTTL", "applied=true") == 7
    assert shown(pair.east, topic, "messageTTL", "applied=true") == 5


def test_either_cluster_changes_and_removes_what_the_other_one_set(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    set_ttl(pair.east, topic, 6)
    arrives(pair.west, topic, 6)
    admin(pair.west.http_url, "DELETE", f"{path_of(topic)}/messageTTL?isGlobal=true")
    arrives(pair.east, topic, None)


@pytest.mark.parametrize(
    ("path", "body", "at"),
    [
        ("backlogQuota", LIMIT, "backlogQuotaMap"),
        ("sub/dispatchRate", RATE, "sub/dispatchRate"),
        ("delayedDelivery", {"tickTime": 1000, "active": True}, "delayedDelivery"),
        ("replication", ["west", "east"], "replication"),
    ],
)
def test_policies_of_every_shape_travel(pair: Pair, path: str, body: Any, at: str) -> None:
    topic = created(pair)
    admin(pair.west.http_url, "POST", f"{path_of(topic)}/{path}?isGlobal=true", body)
    assert shown(pair.west, topic, at)
    arrives(pair.east, topic, shown(pair.west, topic, at), at)


def test_removing_all_policies_of_a_topic_removes_the_global_ones_everywhere(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    set_ttl(pair.east, topic, 8, everywhere=False)
    admin(pair.west.http_url, "DELETE", f"{path_of(topic)}/policies")
    arrives(pair.east, topic, None)
    assert shown(pair.east, topic, "messageTTL", "isGlobal=false") == 8


def test_deleting_a_topic_in_one_cluster_leaves_the_policies_of_the_others(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    admin(pair.west.http_url, "DELETE", f"{path_of(topic)}?force=true")
    other = create((pair.west, pair.east), f"{topic}-later")
    set_ttl(pair.west, other, 9)
    arrives(pair.east, other, 9)
    assert shown(pair.east, topic, "messageTTL") == 5


def test_a_policy_arrives_before_its_topic(pair: Pair) -> None:
    topic = pair.topic()
    admin(pair.west.http_url, "PUT", f"{path_of(topic)}/partitions?createLocalTopicOnly=true", 2)
    set_ttl(pair.west, topic, 5)
    own = parse_topic(topic)
    policies = pair.east.broker.tenancy.topic_policies
    wait_until(lambda: policies.of(own, is_global=True).get("ttl_seconds") == 5, SECONDS)


def test_a_namespace_without_other_clusters_gets_no_events(pair: Pair) -> None:
    name = f"ns{next(NAMES)}"
    admin(pair.west.http_url, "PUT", f"namespaces/public/{name}")
    topic = f"persistent://public/{name}/t"
    admin(pair.west.http_url, "PUT", path_of(topic))
    set_ttl(pair.west, topic, 5)
    admin(pair.west.http_url, "POST", f"namespaces/public/{name}/replication", ["west", "east"])
    assert not pair.west.broker.topics.exists(parse_topic(events_of(topic)))


def test_events_are_deleted_when_every_cluster_has_them(pair: Pair) -> None:
    topic = created(pair)
    for seconds in range(1, 6):
        set_ttl(pair.west, topic, seconds)
    arrives(pair.east, topic, 5)
    sending, receiving = (loaded(broker, events_of(topic)) for broker in (pair.west, pair.east))
    cursors = [*sending.ledger.cursors.values(), *receiving.ledger.cursors.values()]
    assert len(cursors) == 4  # in each cluster, that of the replicator and that of the broker itself
    wait_until(lambda: not any(cursor.backlog_entries for cursor in cursors), SECONDS)


def test_an_event_that_nothing_can_read_does_not_stop_the_next_one(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=1, replicated_from="west")
    pair.east.call(_store(loaded(pair.east, events_of(topic)), build_entry(metadata, b"\xff" * 9)))
    set_ttl(pair.west, topic, 6)
    arrives(pair.east, topic, 6)


async def _store(topic: Topic, entry: bytes) -> None:
    await publish_one(topic, OneEntry(entry, [0], [len(entry)], [1], [1]))


def received(broker: EmbeddedBroker, topic: str, policies: PolicySet, about: str = "", origin: str = "west") -> None:
    """Stores an event in `__change_events`, as the replicator of another cluster does."""
    change = PolicyChange(parse_topic(about or topic), policies)
    own = event_entry(change, cluster=origin, sequence_id=1, now_ms=1, schema_version=bytes(8))
    metadata, payload, _ = parse_entry(own.data)
    metadata.replicated_from = origin
    broker.call(_store(loaded(broker, events_of(topic)), build_entry(metadata, payload)))


def test_policies_that_cannot_be_sent_do_not_hold_back_those_of_other_topics(pair: Pair) -> None:
    topic, policies = created(pair), pair.west.broker.tenancy.topic_policies
    pair.west.call(policies.set(parse_topic(topic), is_global=True, dispatch_rates=TOO_LONG))
    other = create((pair.west, pair.east), f"{topic}-later")
    set_ttl(pair.west, other, 9)
    arrives(pair.east, other, 9)
    wait_until(lambda: list(policies.unsent) == [parse_topic(topic)], SECONDS)
    pair.west.call(policies.set(parse_topic(topic), is_global=True, dispatch_rates=None, ttl_seconds=5))
    arrives(pair.east, topic, 5)


def test_why_policies_cannot_be_sent_is_logged_once(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    topic, policies = created(pair), pair.west.broker.tenancy.topic_policies
    for seconds in (1, 2):
        other = create((pair.west, pair.east), f"{topic}-{seconds}")
        pair.west.call(policies.set(parse_topic(topic), is_global=True, dispatch_rates=TOO_LONG))
        set_ttl(pair.west, other, seconds)
        arrives(pair.east, other, seconds)
    assert len([line for line in caplog.messages if line.startswith(f"topic {topic}: cannot send")]) == 1
    pair.west.call(policies.set(parse_topic(topic), is_global=True, dispatch_rates=None))


def test_clients_cannot_use_the_cursor_that_follows_the_events(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    with pytest.raises(pulsar.PulsarException):
        pair.of_east.subscribe(events_of(topic), POLICY_CURSOR)
    with pytest.raises(HTTPError):
        admin(pair.east.http_url, "PUT", f"{path_of(events_of(topic))}/subscription/{POLICY_CURSOR}", {})


def test_a_deleted_namespace_leaves_no_policies_to_a_new_one(pair: Pair) -> None:
    topic = created(pair)
    namespace, absent = topic.removeprefix("persistent://").rpartition("/")[0], parse_topic(f"{topic}-absent")
    set_ttl(pair.east, topic, 5)
    arrives(pair.west, topic, 5)
    policies = pair.east.broker.tenancy.topic_policies
    received(pair.east, topic, PolicySet(ttl_seconds=5), str(absent))
    wait_until(lambda: not policies.of(absent, is_global=True).is_empty, SECONDS)
    admin(pair.west.http_url, "POST", f"namespaces/{namespace}/replication", ["west"])
    admin(pair.east.http_url, "POST", f"namespaces/{namespace}/replication", ["east"])
    admin(pair.east.http_url, "DELETE", f"{path_of(topic)}?force=true")
    pair.east.call(policies.unsent.add(absent))
    admin(pair.east.http_url, "DELETE", f"namespaces/{namespace}")
    assert absent not in policies.unsent
    admin(pair.east.http_url, "PUT", f"namespaces/{namespace}")
    assert policies.of(absent, is_global=True).is_empty


def test_policies_arrive_also_after_the_events_were_deleted_by_force(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 5)
    arrives(pair.east, topic, 5)
    admin(pair.east.http_url, "DELETE", f"{path_of(events_of(topic))}?force=true")
    name = parse_topic(events_of(topic))
    again = pair.east.call(pair.east.broker.topics.for_client(name, from_replicator=True))
    assert isinstance(again, ChangeEventsTopic)


def test_a_policy_that_names_an_unknown_cluster_is_not_used(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 4)
    arrives(pair.east, topic, 4)
    received(pair.east, topic, PolicySet(ttl_seconds=5, replication_clusters=("east", "south")))
    arrives(pair.east, topic, 5)
    assert shown(pair.east, topic, "replication") is None


def test_a_quota_that_does_not_fit_the_retention_is_not_used(pair: Pair) -> None:
    topic = created(pair)
    set_ttl(pair.west, topic, 4)
    arrives(pair.east, topic, 4)
    quota = BacklogQuota(2 << 20, -1, "producer_exception")
    received(pair.east, topic, PolicySet(retention=RetentionPolicy(10, 1), size_quota=quota))
    arrives(pair.east, topic, None)
    assert shown(pair.east, topic, "retention") == {"retentionTimeInMinutes": 10, "retentionSizeInMB": 1}
    assert shown(pair.east, topic, "backlogQuotaMap") == {}


def test_a_crash_does_not_repeat_an_event_over_a_later_change(tmp_path: Path) -> None:
    config = config_of("east")
    with EmbeddedBroker(tmp_path / "data", config=config) as broker:
        register(broker, "west", "pulsar://localhost:1")
        topic = create((broker,), f"persistent://{new_namespace((broker,), 'crash', ['west', 'east'])}/t")
        set_ttl(broker, topic, 4)
        wait_until(lambda: not list(broker.broker.tenancy.topic_policies.unsent), SECONDS)
        received(broker, topic, PolicySet(ttl_seconds=5))
        arrives(broker, topic, 5)
        set_ttl(broker, topic, 6)
        crashed = crash(tmp_path / "data")
    with EmbeddedBroker(crashed, config=config) as broker:
        events = broker.call(broker.broker.topics.get(parse_topic(events_of(topic))))
        wait_until(lambda: not events.ledger.cursors[POLICY_CURSOR].backlog_entries, SECONDS)
        assert shown(broker, topic, "messageTTL") == 6


class Kept:
    """The clusters west and east with directories that outlive them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.west, self.east = self.start("west"), self.start("east")

    def start(self, cluster: str) -> EmbeddedBroker:
        config: BrokerConfig = config_of(cluster)
        return EmbeddedBroker(self._directory / cluster, config=config).start()

    def restart_west(self) -> None:
        self.west.stop()
        self.west = self.start("west")

    def restart_east(self) -> None:
        """At another address."""
        self.east = self.start("east")
        record = record_of(self.east.service_url, self.east.http_url)
        admin(self.west.http_url, "POST", "clusters/east", record)

    def topic(self) -> str:
        introduce((self.west, self.east))
        topic = f"persistent://{new_namespace((self.west, self.east), NAMESPACE.split('/')[1], ['west', 'east'])}/t"
        return create((self.west, self.east), topic)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    both = Kept(tmp_path)
    yield both
    both.west.stop()
    both.east.stop()


def test_policies_set_while_a_cluster_is_away_arrive_when_it_is_back(kept: Kept) -> None:
    topic = kept.topic()
    set_ttl(kept.west, topic, 4)
    arrives(kept.east, topic, 4)
    kept.east.stop()
    for seconds in (5, 6):
        set_ttl(kept.west, topic, seconds)
    kept.restart_west()
    events = events_of(topic)
    wait_until(lambda: replication_stats(kept.west, events, "east")["replicationBacklog"] == 2, SECONDS)
    kept.restart_east()
    arrives(kept.east, topic, 6)


def test_a_change_that_was_not_published_before_a_crash_is_published_after_the_start(kept: Kept) -> None:
    topic = kept.topic()
    admin(kept.west.http_url, "POST", f"namespaces/{NAMESPACE}/replication", ["west"])
    set_ttl(kept.west, topic, 5)
    admin(kept.west.http_url, "POST", f"namespaces/{NAMESPACE}/replication", ["west", "east"])
    kept.west.call(kept.west.broker.tenancy.topic_policies.unsent.add(parse_topic(topic)))
    kept.restart_west()
    arrives(kept.east, topic, 5)
    wait_until(lambda: not list(kept.west.broker.tenancy.topic_policies.unsent), SECONDS)
