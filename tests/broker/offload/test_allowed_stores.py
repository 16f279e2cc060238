"""Offload policies of a tenant reach no directory, endpoint, or credential that the operator did not allow."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker_core.metadata.policies.offload_policies import OffloadPolicies
from broker_core.metadata.policies.policy_set import PolicySet
from broker_core.names import parse_topic
from broker_core.storage.errors import Unreachable
from broker_core.topic.offloading import OffloadState
from tests.broker.offload.conftest import S3
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic, values


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OffloadedTopic]:
    """A broker with a store of its own and one that is listed."""
    folder = tmp_path_factory.mktemp("stores")
    with offloaded_topic(in_directory(folder / "own", allowed_stores=f"file://{folder}/listed")) as one:
        yield one


def directory(path: Path) -> dict[str, Any]:
    return {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": f"file://{path}"}


def bucket(url: str, **more: Any) -> dict[str, Any]:
    return {
        "managedLedgerOffloadDriver": "aws-s3",
        "s3ManagedLedgerOffloadBucket": "tier",
        "s3ManagedLedgerOffloadRegion": "us-east-1",
        "s3ManagedLedgerOffloadServiceEndpoint": url,
        **more,
    }


def refusal(one: OffloadedTopic, method: str, path: str, body: Any) -> str:
    with pytest.raises(urllib.error.HTTPError) as refused:
        one.rest(method, path, body)
    assert refused.value.code == 412
    return str(json.loads(refused.value.read())["reason"])


def sent_by_another_cluster(one: OffloadedTopic, policies: dict[str, Any]) -> None:
    """A way into the broker that refuses no policy: one that is refused would be lost for all clusters."""

    async def accept() -> None:
        found = PolicySet(offload=OffloadPolicies.from_document(policies))

        async def done() -> None:
            """The event stays where it is."""

        await one.broker.broker.tenancy.topic_policies.accept({parse_topic(one.name): found}, done)

    one.broker.call(accept())


def test_no_policy_that_names_another_directory_is_set(closed: OffloadedTopic, tmp_path: Path) -> None:
    place, namespace = tmp_path / "any", "/namespaces/public/default"
    expected = f"this broker does not offload to file://{place}: its operator has to add the store to"
    assert refusal(closed, "POST", "offloadPolicies", directory(place)).startswith(expected)
    assert refusal(closed, "POST", f"{namespace}/offloadPolicies", directory(place)).startswith(expected)
    body = {"offload_policies": directory(place)}
    assert refusal(closed, "PUT", "/namespaces/public/new", body).startswith(expected)
    scanned = refusal(closed, "POST", "/brokers/offload/audit", directory(place))
    assert scanned.startswith(f"cannot scan the store: {expected}")
    assert not place.exists()


def test_a_policy_that_was_not_refused_is_checked_before_it_is_used(closed: OffloadedTopic, tmp_path: Path) -> None:
    place, topic = tmp_path / "any", OffloadedTopic(closed.broker, closed.client, f"{closed.name}-sent")
    topic.client.subscribe(topic.name, "keeps").close()
    topic.publish(values(10))
    sent_by_another_cluster(topic, directory(place))
    with pytest.raises(urllib.error.HTTPError) as refused:
        topic.rest("PUT", "offload", {"ledgerId": 1 << 40, "entryId": 0})
    assert "does not offload to" in json.loads(refused.value.read())["reason"]
    sent_by_another_cluster(topic, {**directory(place), "managedLedgerOffloadThresholdInBytes": 0})
    wait_until(lambda: topic.topic.offloading.state is OffloadState.ERROR, 20)
    assert "does not offload to" in topic.topic.offloading.last_error
    assert not place.exists()


def test_a_listed_directory_and_what_is_below_it_take_copies(closed: OffloadedTopic) -> None:
    listed = closed.broker.broker.config.offload.allowed_stores.removeprefix("file://")
    topic = OffloadedTopic(closed.broker, closed.client, f"{closed.name}-listed")
    topic.client.subscribe(topic.name, "keeps").close()
    topic.rest("POST", "offloadPolicies", directory(Path(listed, "team")))
    before = topic.publish_and_offload(10)
    assert list(Path(listed, "team").rglob("*.parquet"))
    assert topic.entries() == before


def test_an_endpoint_of_a_policy_gets_no_request(closed: OffloadedTopic, s3: S3) -> None:
    before = len(s3.proxy.requests)
    assert "does not offload to s3://tier" in refusal(closed, "POST", "offloadPolicies", bucket(s3.proxy.url))
    assert "does not offload to s3://tier" in refusal(closed, "POST", "/brokers/offload/audit", bucket(s3.proxy.url))
    assert len(s3.proxy.requests) == before


def test_where_every_store_is_allowed_the_key_of_the_policy_is_used_and_never_that_of_the_broker(
    tmp_path: Path, s3: S3
) -> None:
    with offloaded_topic(in_directory(tmp_path / "own")) as one:
        one.publish(values(10))
        assert "gets no credentials of this broker" in refusal(one, "POST", "offloadPolicies", bucket(s3.proxy.url))
        own = {"s3ManagedLedgerOffloadCredentialId": "TENANT", "s3ManagedLedgerOffloadCredentialSecret": "secret"}
        one.rest("POST", "offloadPolicies", bucket(s3.proxy.url, **own))
        before = len(s3.proxy.requests)
        copied = one.entries()
        one.offload()
        one.drop_files()
        assert one.entries() == copied
        sent = s3.proxy.requests[before:]
        assert sent
        assert all("Credential=TENANT/" in request.authorization for request in sent)
        one.rest("DELETE", "offloadPolicies")
        one.forget()
        before = len(s3.proxy.requests)
        with pytest.raises(Unreachable, match="gets no credentials of this broker"):
            one.entries()
        assert len(s3.proxy.requests) == before
        one.rest("POST", "offloadPolicies", bucket(s3.proxy.url, **own))
        assert one.entries() == copied
        assert one.topic.offloading.state is not OffloadState.ERROR


def test_a_copy_whose_store_gets_no_credentials_keeps_no_other_store_from_an_audit(tmp_path: Path, s3: S3) -> None:
    with offloaded_topic(in_directory(tmp_path / "own")) as one:
        own = {"s3ManagedLedgerOffloadCredentialId": "TENANT", "s3ManagedLedgerOffloadCredentialSecret": "secret"}
        one.rest("POST", "offloadPolicies", bucket(s3.proxy.url, **own))
        one.publish_and_offload(10)
        one.rest("DELETE", "offloadPolicies")
        one.publish(values(10))
        one.offload()
        audit = one.rest("POST", "/brokers/offload/audit", directory(tmp_path / "own"))
    assert (audit["objects"], audit["orphans"], audit["missing"]) == (2, [], [])
