"""Settings of namespaces that the broker stores without effect, and those that it refuses."""

from typing import Any

import pytest

from tests.broker.admin.conftest import Admin

NAMESPACE = "namespaces/acme/shop"
TOPIC = "persistent/acme/shop/plain"


@pytest.mark.parametrize(
    ("path", "value"),
    [("antiAffinity", "group"), ("persistence/bookieAffinity", {"bookkeeperAffinityGroupPrimary": "a"})],
)
async def test_a_setting_is_stored_shown_and_removed(shop: Admin, path: str, value: Any) -> None:
    policies = (await shop("GET", NAMESPACE)).json
    assert (await shop("GET", f"{NAMESPACE}/{path}")).status == 204
    assert (await shop("POST", f"{NAMESPACE}/{path}", value)).status == 204
    assert (await shop("GET", f"{NAMESPACE}/{path}")).json == value
    assert (await shop("GET", NAMESPACE)).json == policies
    assert (await shop("DELETE", f"{NAMESPACE}/{path}")).status == 204
    assert (await shop("GET", f"{NAMESPACE}/{path}")).status == 204


async def test_the_namespaces_of_an_anti_affinity_group_are_listed(shop: Admin) -> None:
    await shop("PUT", "namespaces/acme/other")
    for name in ("shop", "other"):
        await shop("POST", f"namespaces/acme/{name}/antiAffinity", "g")
    path = "namespaces/standalone/antiAffinity"
    assert (await shop("GET", f"{path}/g?tenant=acme")).json == ["acme/other", "acme/shop"]
    assert (await shop("GET", f"{path}/g?property=acme")).json == ["acme/other", "acme/shop"]
    assert (await shop("GET", f"{path}/x?tenant=acme")).json == []
    assert (await shop("GET", f"{path}/g")).reason == "Tenant should not be null"
    assert (await shop("GET", "namespaces/nope/antiAffinity/g?tenant=acme")).reason == "Cluster nope does not exist."
    assert (await shop("POST", f"{NAMESPACE}/antiAffinity")).reason == "antiAffinityGroup can't be empty"


async def test_an_anti_affinity_group_can_be_sent_without_quotes(shop: Admin) -> None:
    assert (await shop("POST", f"{NAMESPACE}/antiAffinity", raw=b"apart")).status == 204
    assert (await shop("GET", f"{NAMESPACE}/antiAffinity")).text.strip('"') == "apart"
    assert (await shop("POST", f"{NAMESPACE}/antiAffinity", raw=b"[apart")).status == 400


async def test_a_resource_group_of_a_namespace_must_exist(shop: Admin) -> None:
    assert (await shop("POST", f"{NAMESPACE}/resourcegroup/rg")).reason == "ResourceGroup does not exist"
    await shop("PUT", "resourcegroups/rg", {"publishRateInMsgs": 10})
    assert (await shop("POST", f"{NAMESPACE}/resourcegroup/rg")).status == 204
    assert (await shop("GET", f"{NAMESPACE}/resourcegroup")).text == "rg"
    assert (await shop("DELETE", "resourcegroups/rg")).reason == "ResourceGroup is in use"
    assert (await shop("DELETE", f"{NAMESPACE}/resourcegroup")).status == 204
    assert (await shop("DELETE", "resourcegroups/rg")).status == 204


async def test_allowed_clusters_contain_those_that_are_replicated_to(shop: Admin) -> None:
    path = f"{NAMESPACE}/allowedClusters"
    assert (await shop("GET", path)).json == []
    assert (await shop("POST", path, ["standalone"])).status == 200
    assert (await shop("GET", path)).json == ["standalone"]
    assert (await shop("POST", path, [])).status == 400
    assert (await shop("POST", path, ["nope"])).status == 403


async def test_one_property_is_set_shown_and_removed(shop: Admin) -> None:
    path = f"{NAMESPACE}/property/k"
    assert (await shop("GET", path)).status == 204
    assert (await shop("PUT", f"{path}/v%2Fw")).status == 204
    assert (await shop("GET", path)).text == "v/w"
    assert (await shop("GET", f"{NAMESPACE}/properties")).json == {"k": "v/w"}
    assert (await shop("DELETE", path)).text == "v/w"
    assert (await shop("DELETE", path)).status == 204


async def test_the_mode_of_subscription_names_is_stored(shop: Admin) -> None:
    path = f"{NAMESPACE}/subscriptionAuthMode"
    assert (await shop("GET", path)).json == "None"
    assert (await shop("POST", path, "Prefix")).status == 204
    assert (await shop("GET", path)).json == "Prefix"
    assert (await shop("GET", NAMESPACE)).json["subscription_auth_mode"] == "Prefix"


@pytest.mark.parametrize("path", [NAMESPACE, TOPIC])
async def test_a_switch_is_turned_on_without_a_body(shop: Admin, path: str) -> None:
    switch = f"{path}/dispatcherPauseOnAckStatePersistent"
    assert (await shop("GET", switch)).json is False
    assert (await shop("POST", switch)).status == 204
    assert (await shop("GET", switch)).json is True
    assert (await shop("DELETE", switch)).status == 204
    assert (await shop("GET", switch)).json is False


async def test_a_switch_of_a_namespace_that_is_turned_off_stays_in_its_document(shop: Admin) -> None:
    key = "dispatcherPauseOnAckStatePersistentEnabled"
    assert key not in (await shop("GET", NAMESPACE)).json
    assert (await shop("DELETE", f"{NAMESPACE}/dispatcherPauseOnAckStatePersistent")).status == 204
    assert (await shop("GET", NAMESPACE)).json[key] is False


@pytest.mark.parametrize("path", [NAMESPACE, TOPIC])
async def test_entry_filters_are_refused_with_a_reason(shop: Admin, path: str) -> None:
    filters = f"{path}/entryFilters"
    reply = await shop("POST", filters, {"entryFilterNames": "a,b"})
    assert reply.status == 400
    assert reply.reason == "Entry filter 'a' not found: this broker loads no entry filters, filter in the consumer"
    assert (await shop("POST", filters, {"entryFilterNames": ""})).status == 400
    assert (await shop("POST", filters, raw=b"null")).status == 204
    assert (await shop("GET", filters)).status == 204
    assert (await shop("DELETE", filters)).status == 204


async def test_shadow_topics_are_refused_with_a_reason(shop: Admin) -> None:
    shadows = f"{TOPIC}/shadowTopics"
    reply = await shop("PUT", shadows, ["persistent://acme/shop/copy"])
    assert reply.status == 501 and "use another subscription" in reply.reason
    reason = "Cannot specify empty shadow topics, please use remove command instead."
    assert (await shop("PUT", shadows, [])).reason == reason
    assert (await shop("GET", shadows)).status == 204
    assert (await shop("DELETE", shadows)).status == 204


async def test_a_namespace_migrates_only_to_a_known_address(shop: Admin) -> None:
    reply = await shop("POST", f"{NAMESPACE}/migration?migrated=true", True)
    assert reply.status == 412 and "has no URL to send its clients to" in reply.reason
    await shop("POST", "clusters/standalone/migrate?migrated=false", {"brokerServiceUrl": "pulsar://new:6650"})
    assert (await shop("POST", f"{NAMESPACE}/migration?migrated=true", True)).status == 204
    assert (await shop("GET", NAMESPACE)).json["migrated"] is True
    assert (await shop("POST", f"{NAMESPACE}/migration", False)).status == 204
    assert (await shop("POST", f"{NAMESPACE}/migration")).status == 400
