"""Policies of topics for all clusters, between this broker and a real Pulsar."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError

import pytest

from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.long.real_pulsar.two_clusters import OURS, REAL, Clusters, replicating
from tests.support.clusters import admin
from tests.support.condition import wait_until

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(600)]

SECONDS = 60
BODIES: dict[str, Any] = {
    "retention": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20},
    "backlogQuota": {"limitSize": 1000, "limitTime": -1, "policy": "producer_exception"},
    "compactionThreshold": 1000,
    "publishRate": {"publishThrottlingRateInMsg": 4, "publishThrottlingRateInByte": 5},
    "dispatchRate": {"dispatchThrottlingRateInMsg": 3, "dispatchThrottlingRateInByte": -1, "ratePeriodInSecond": 1},
    "subscriptionDispatchRate": {"dispatchThrottlingRateInMsg": 4, "ratePeriodInSecond": 1},
    "replicatorDispatchRate": {"dispatchThrottlingRateInMsg": 5000, "ratePeriodInSecond": 1},
    "subscribeRate": {"subscribeThrottlingRatePerConsumer": 4, "ratePeriodInSecond": 30},
    "sub/dispatchRate": {"dispatchThrottlingRateInMsg": 4, "ratePeriodInSecond": 1},
    "maxProducers": 11,
    "maxConsumers": 12,
    "maxConsumersPerSubscription": 13,
    "maxSubscriptionsPerTopic": 14,
    "maxUnackedMessagesOnConsumer": 15,
    "maxUnackedMessagesOnSubscription": 16,
    "maxMessageSize": 17,
    "deduplicationEnabled": True,
    "deduplicationSnapshotInterval": 18,
    "delayedDelivery": {"tickTime": 1000, "active": True, "maxDeliveryDelayInMillis": 19},
    "inactiveTopicPolicies": {
        "inactiveTopicDeleteMode": "delete_when_no_subscriptions",
        "maxInactiveDurationSeconds": 900,
        "deleteWhileInactive": False,
    },
    "autoSubscriptionCreation": {"allowAutoSubscriptionCreation": True},
    "subscriptionTypesEnabled": ["Exclusive", "Shared"],
    "persistence": {
        "bookkeeperEnsemble": 1,
        "bookkeeperWriteQuorum": 1,
        "bookkeeperAckQuorum": 1,
        "managedLedgerMaxMarkDeleteRate": 0.5,
    },
    "replication": [OURS, REAL],
}
READ_AT = {"backlogQuota": "backlogQuotaMap"}


@pytest.fixture(scope="module")
def clusters(java_pulsar: JavaPulsar) -> Iterator[Clusters]:
    with replicating(java_pulsar, "global") as both:
        yield both


@pytest.fixture(params=["from ours", "from the real one"])
def urls(request: pytest.FixtureRequest, clusters: Clusters) -> tuple[str, str]:
    """Where policies are set, and where they have to arrive."""
    both = clusters.ours.http_url, clusters.real.http_url
    return both if request.param == "from ours" else both[::-1]


def created(clusters: Clusters) -> str:
    path = clusters.topic().replace("://", "/")
    for url in (clusters.ours.http_url, clusters.real.http_url):
        try:
            admin(url, "PUT", path)
        except HTTPError as error:
            assert error.code == 409  # the replicator of the other one was faster
    return path


def shown(url: str, path: str) -> Any:
    try:
        found = admin(url, "GET", f"{path}?isGlobal=true")
        return sorted(found) if isinstance(found, list) else found  # sets, whose order in Java varies
    except HTTPError as error:
        return json.loads(error.read())


def arrives(url: str, path: str, wanted: Any) -> None:
    wait_until(lambda: shown(url, path) == wanted, SECONDS)


def test_policies_of_every_kind_travel_in_both_directions(clusters: Clusters, urls: tuple[str, str]) -> None:
    here, there = urls
    topic = created(clusters)
    for path, body in BODIES.items():
        admin(here, "POST", f"{topic}/{path}?isGlobal=true", body)
    admin(here, "POST", f"{topic}/messageTTL?messageTTL=30&isGlobal=true")
    arrives(there, f"{topic}/messageTTL", 30)
    paths = [READ_AT.get(path, path) for path in BODIES]
    assert [shown(there, f"{topic}/{path}") for path in paths] == [shown(here, f"{topic}/{path}") for path in paths]


def test_a_change_and_a_removal_travel_in_both_directions(clusters: Clusters, urls: tuple[str, str]) -> None:
    here, there = urls
    topic = created(clusters)
    for seconds in (5, 6):
        admin(here, "POST", f"{topic}/messageTTL?messageTTL={seconds}&isGlobal=true")
        arrives(there, f"{topic}/messageTTL", seconds)
    admin(here, "DELETE", f"{topic}/messageTTL?isGlobal=true")
    arrives(there, f"{topic}/messageTTL", None)


def test_removing_all_policies_travels_in_both_directions(clusters: Clusters, urls: tuple[str, str]) -> None:
    here, there = urls
    topic = created(clusters)
    admin(here, "POST", f"{topic}/messageTTL?messageTTL=5&isGlobal=true")
    arrives(there, f"{topic}/messageTTL", 5)
    admin(here, "DELETE", f"{topic}/policies")
    arrives(there, f"{topic}/messageTTL", None)


def test_each_cluster_changes_what_the_other_one_set(clusters: Clusters) -> None:
    topic = created(clusters)
    urls = (clusters.ours.http_url, clusters.real.http_url)
    for seconds in range(2, 6):
        here, there = urls[seconds % 2], urls[1 - seconds % 2]
        admin(here, "POST", f"{topic}/messageTTL?messageTTL={seconds}&isGlobal=true")
        arrives(there, f"{topic}/messageTTL", seconds)


def test_a_local_policy_of_a_real_pulsar_does_not_arrive(clusters: Clusters) -> None:
    topic = created(clusters)
    admin(clusters.real.http_url, "POST", f"{topic}/messageTTL?messageTTL=9")
    admin(clusters.real.http_url, "POST", f"{topic}/maxProducers?isGlobal=true", 3)
    arrives(clusters.ours.http_url, f"{topic}/maxProducers", 3)
    assert admin(clusters.ours.http_url, "GET", f"{topic}/messageTTL?applied=true") == 0
