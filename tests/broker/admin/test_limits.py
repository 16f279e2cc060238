"""Limits over REST."""

import pytest

from tests.broker.admin.conftest import Admin

NAMESPACE = "namespaces/acme/shop"
EXCEEDED = "Exceed maximum number of topics in namespace."
PROPERTIES = "the properties have more than 65536 characters (maxPropertiesSizeInBytes)"
TOO_MANY = {f"property-{number}": "x" * 100 for number in range(1_000)}


async def test_a_topic_over_the_limit_is_refused_differently_with_and_without_partitions(shop: Admin) -> None:
    topics = (await shop("GET", f"{NAMESPACE}/topics")).json
    assert (await shop("POST", f"{NAMESPACE}/maxTopicsPerNamespace", len(topics) + 1)).status == 204
    parted = await shop("PUT", "persistent/acme/shop/new/partitions", 2)
    assert (parted.status, parted.reason) == (412, EXCEEDED)
    assert (await shop("PUT", "persistent/acme/shop/new")).status == 204
    plain = await shop("PUT", "persistent/acme/shop/newer")
    assert (plain.status, plain.reason) == (409, EXCEEDED)


async def test_a_subscription_over_the_limit_is_refused(shop: Admin) -> None:
    await shop("POST", "persistent/acme/shop/plain/maxSubscriptionsPerTopic", 1)
    assert (await shop("PUT", "persistent/acme/shop/plain/subscription/one", {})).status == 204
    refused = await shop("PUT", "persistent/acme/shop/plain/subscription/two", {})
    reason = "Exceed the maximum number of subscriptions of the topic: persistent://acme/shop/plain"
    assert (refused.status, refused.reason) == (409, reason)


@pytest.mark.parametrize("level", [NAMESPACE, "persistent/acme/shop/plain"])
async def test_the_unset_limit_has_no_value(shop: Admin, level: str) -> None:
    assert (await shop("GET", f"{level}/maxConsumersPerSubscription")).status == 204


@pytest.mark.parametrize("path", ["namespaces/acme/new", "persistent/acme/shop/new/partitions"])
async def test_properties_are_bounded_when_they_come_with_a_new_object(shop: Admin, path: str) -> None:
    refused = await shop("PUT", path, {"partitions": 2, "properties": TOO_MANY})
    assert (refused.status, refused.reason) == (400, PROPERTIES)


async def test_properties_of_a_new_scalable_topic_are_bounded(shop: Admin) -> None:
    refused = await shop("PUT", "scalable/acme/shop/new", TOO_MANY)
    assert (refused.status, refused.reason) == (400, PROPERTIES)
