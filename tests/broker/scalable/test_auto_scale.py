"""Automatic splits and merges, and the policies that say when."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.config.scaling import ScalingConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import lookup, register, update
from tests.broker.scalable.requests import Requests
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

X = "topic://public/default/x"
PATH = "scalable/public/default/x"
OF_TOPIC = f"{PATH}/autoScalePolicy"
OF_NAMESPACE = "namespaces/public/default/scalableTopicAutoScalePolicy"
NO_COOLDOWN = {"splitCooldownSeconds": 0, "mergeCooldownSeconds": 0, "mergeWindowSeconds": 0}


def active(admin: Requests) -> list[str]:
    """The ranges of the active segments."""
    segments = admin("GET", PATH).json["segments"].values()
    ranges = [one["hashRange"] for one in segments if one["active"]]
    return sorted(f"{one['start']:04x}-{one['end']:04x}" for one in ranges)


def decide(admin: Requests) -> None:
    """Lets the broker decide about all topics."""
    admin.embedded.call(admin.broker.scalable.scaling.decide_all())


def connect(client: RawClient) -> None:
    """Opens producers on three segments, which loads them."""
    for producer_id, segment in enumerate(("0000-5554-0", "5555-aaa9-1", "aaaa-ffff-2")):
        client.ask(producer(f"segment://public/default/x/{segment}", producer_id), BaseCommand.PRODUCER_SUCCESS)


def use(client: RawClient) -> None:
    """Publishes a message to the first of three segments."""
    connect(client)
    client.send(send(0, producer_id=0))
    client.expect(BaseCommand.SEND_RECEIPT)


@pytest.fixture
def consumers(broker: EmbeddedBroker) -> Iterator[list[RawClient]]:
    """The connections of three stream consumers."""
    with ExitStack() as connections:
        yield [connections.enter_context(RawClient(broker.service_url)) for _ in range(3)]


def register_all(consumers: list[RawClient]) -> None:
    for number, connection in enumerate(consumers):
        register(connection, X, "s", f"consumer-{number}")


@pytest.mark.parametrize("path", [OF_TOPIC, OF_NAMESPACE])
def test_a_policy_is_set_shown_and_removed(admin: Requests, path: str) -> None:
    admin("PUT", PATH)
    assert (admin("GET", path).status, admin("GET", path).text) == (204, "")
    assert admin("POST", path, {"maxSegments": 8}).status == 204
    assert admin("GET", path).json == {"maxSegments": 8}
    assert admin("POST", path, {"enabled": False}).status == 204
    assert admin("GET", path).json == {"enabled": False}
    assert admin("DELETE", path).status == 204
    assert admin("GET", path).status == 204


def test_a_policy_is_in_the_documents_of_its_topic_and_of_its_namespace(admin: Requests) -> None:
    admin("PUT", PATH)
    admin("POST", OF_TOPIC, {"maxSegments": 8})
    admin("POST", OF_NAMESPACE, {"maxSegments": 9})
    assert admin("GET", PATH).json["autoScalePolicy"] == {"maxSegments": 8}
    assert admin("GET", "namespaces/public/default").json["scalableTopicAutoScalePolicy"] == {"maxSegments": 9}


def test_a_new_namespace_may_come_with_a_policy(admin: Requests) -> None:
    admin("PUT", "namespaces/public/new", {"scalableTopicAutoScalePolicy": {"maxSegments": 9}})
    assert admin("GET", "namespaces/public/new/scalableTopicAutoScalePolicy").json == {"maxSegments": 9}


def test_policies_survive_a_restart(tmp_path: Path) -> None:
    for status in (204, 409):
        with EmbeddedBroker(tmp_path) as started:
            admin = Requests(started)
            assert admin("PUT", PATH).status == status
            if status == 204:
                admin("POST", OF_TOPIC, {"maxSegments": 8})
                admin("POST", OF_NAMESPACE, {"maxSegments": 9})
            assert admin("GET", OF_TOPIC).json == {"maxSegments": 8}
            assert admin("GET", OF_NAMESPACE).json == {"maxSegments": 9}


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        (OF_TOPIC, {"minSegments": 65}, 412, "Invalid auto split/merge configuration: maxSegments must be"),
        (OF_NAMESPACE, {"minSegments": 65}, 412, "Invalid auto split/merge configuration: maxSegments must be"),
        (OF_TOPIC, {"maxSegments": "many"}, 400, "maxSegments must be a whole number"),
        (OF_NAMESPACE, [], 400, "the policy must be a JSON object"),
        ("scalable/public/default/none/autoScalePolicy", {}, 404, "Scalable topic not found"),
        ("namespaces/public/none/scalableTopicAutoScalePolicy", {}, 404, "Namespace"),
    ],
)
def test_a_policy_that_cannot_be_is_refused(admin: Requests, path: str, body: object, status: int, reason: str) -> None:
    admin("PUT", PATH)
    answer = admin("POST", path, body)
    assert (answer.status, reason in answer.reason) == (status, True), answer.reason


def test_a_policy_of_a_topic_is_checked_together_with_that_of_its_namespace(admin: Requests) -> None:
    admin("PUT", PATH)
    admin("POST", OF_NAMESPACE, {"minSegments": 4})
    assert admin("POST", OF_TOPIC, {"maxSegments": 3}).status == 412
    assert admin("POST", OF_TOPIC, {"maxSegments": 3, "minSegments": 1}).status == 204


def test_a_second_consumer_splits_the_only_segment(
    admin: Requests, client: RawClient, consumers: list[RawClient]
) -> None:
    admin("PUT", PATH)
    lookup(client, X)
    register_all(consumers[:2])
    assert update(client).dag.epoch == 1
    assert active(admin) == ["0000-7fff", "8000-ffff"]


def test_a_consumer_that_came_during_the_cooldown_gets_a_segment_after_it(
    admin: Requests, client: RawClient, consumers: list[RawClient]
) -> None:
    admin("PUT", PATH)
    admin("POST", OF_TOPIC, {"splitCooldownSeconds": 1})
    lookup(client, X)
    register_all(consumers)
    assert [update(client).dag.epoch, update(client).dag.epoch] == [1, 2]
    assert active(admin) == ["0000-3fff", "4000-7fff", "8000-ffff"]


def test_consumers_of_different_subscriptions_share_a_segment(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    register(client, X, "s", "a", 1)
    register(client, X, "t", "b", 2)
    decide(admin)
    assert active(admin) == ["0000-ffff"]


def test_a_policy_turns_splits_off(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    admin("POST", OF_NAMESPACE, {"enabled": False})
    register(client, X, "s", "a", 1)
    register(client, X, "s", "b", 2)
    decide(admin)
    assert active(admin) == ["0000-ffff"]


def test_settings_that_contradict_each_other_later_turn_splits_off(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    admin("POST", OF_TOPIC, {"maxSegments": 3})
    admin("POST", OF_NAMESPACE, {"minSegments": 4})
    register(client, X, "s", "a", 1)
    register(client, X, "s", "b", 2)
    decide(admin)
    assert active(admin) == ["0000-ffff"]


def test_cold_segments_are_merged_one_pair_at_a_time(admin: Requests, client: RawClient) -> None:
    admin("PUT", f"{PATH}?numInitialSegments=3")
    admin("POST", OF_TOPIC, NO_COOLDOWN | {"minSegments": 2})
    use(client)
    decide(admin)
    assert active(admin) == ["0000-5554", "5555-ffff"]
    decide(admin)
    assert active(admin) == ["0000-5554", "5555-ffff"]


def test_a_topic_that_was_never_used_keeps_its_segments(admin: Requests, client: RawClient) -> None:
    admin("PUT", f"{PATH}?numInitialSegments=3")
    admin("POST", OF_TOPIC, NO_COOLDOWN)
    connect(client)
    decide(admin)
    assert len(active(admin)) == 3


def test_a_merge_leaves_segments_for_the_registered_consumers(
    admin: Requests, client: RawClient, consumers: list[RawClient]
) -> None:
    admin("PUT", f"{PATH}?numInitialSegments=3")
    admin("POST", OF_TOPIC, NO_COOLDOWN)
    register_all(consumers)
    use(client)
    decide(admin)
    assert len(active(admin)) == 3


@pytest.fixture
def hot() -> Iterator[Requests]:
    """A broker that splits a segment with any traffic."""
    scaling = ScalingConfig(split_messages_in=0.001, merge_messages_in=0, max_segments=4)
    config = BrokerConfig(server=FREE_PORTS, scaling=scaling)
    with EmbeddedBroker(config=config) as started:
        yield Requests(started)


def test_a_busy_segment_is_split(hot: Requests) -> None:
    hot("PUT", f"{PATH}?numInitialSegments=3")
    with RawClient(hot.broker.service_url) as client:
        use(client)
        decide(hot)
    assert active(hot) == ["0000-2aaa", "2aab-5554", "5555-aaa9", "aaaa-ffff"]


def test_a_decision_loads_no_segment(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as started:
        Requests(started)("PUT", f"{PATH}?numInitialSegments=3")
    with EmbeddedBroker(tmp_path) as started:
        admin = Requests(started)
        decide(admin)
        assert admin.broker.scalable.records.get(parse_topic(X)) is not None
        assert [name for name in admin.broker.topics.loaded if name.startswith("segment:")] == []


def test_a_change_of_a_dynamic_setting_is_in_force_at_once(admin: Requests, client: RawClient) -> None:
    admin("PUT", PATH)
    admin("POST", "brokers/configuration/scalableTopicMaxSegments/1")
    register(client, X, "s", "a", 1)
    register(client, X, "s", "b", 2)
    decide(admin)
    assert active(admin) == ["0000-ffff"]


def test_a_broker_without_scalable_topics_has_no_policies_of_them() -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(enabled=False))
    with EmbeddedBroker(config=config) as started:
        admin = Requests(started)
        assert [admin("GET", path).status for path in (OF_TOPIC, OF_NAMESPACE)] == [404, 404]
