"""Policies of a topic for all clusters (`isGlobal=true`), apart from those of this cluster."""

from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from tests.broker.admin.conftest import PORT_ZERO, Admin, start

TTL = "persistent/acme/shop/plain/messageTTL"
QUOTA = "persistent/acme/shop/plain/backlogQuota"
RATE = "persistent/acme/shop/plain/sub/dispatchRate"
LIMIT = {"limitSize": 1000, "limitTime": -1, "policy": "producer_exception"}


async def ttl(admin: Admin, query: str = "") -> str:
    return (await admin("GET", f"{TTL}{query}")).text


async def test_a_global_policy_is_kept_apart_from_the_local_one(shop: Admin) -> None:
    await shop("POST", f"{TTL}?messageTTL=5&isGlobal=true")
    assert [await ttl(shop), await ttl(shop, "?isGlobal=true")] == ["", "5"]
    await shop("POST", f"{TTL}?messageTTL=7")
    assert [await ttl(shop), await ttl(shop, "?isGlobal=true")] == ["7", "5"]
    await shop("DELETE", f"{TTL}?isGlobal=true")
    assert [await ttl(shop), await ttl(shop, "?isGlobal=true")] == ["7", ""]


async def test_a_global_policy_is_in_force_until_there_is_a_local_one(shop: Admin) -> None:
    await shop("POST", f"{TTL}?messageTTL=5&isGlobal=true")
    assert await ttl(shop, "?applied=true") == "5"
    await shop("POST", f"{TTL}?messageTTL=7")
    assert await ttl(shop, "?applied=true") == "7"
    assert await ttl(shop, "?applied=true&isGlobal=true") == "5"


@pytest.mark.parametrize(
    ("path", "body", "shown", "none"),
    [(QUOTA, LIMIT, f"{QUOTA}Map", "{}"), (RATE, {"dispatchThrottlingRateInMsg": 3}, RATE, "")],
)
async def test_quotas_and_rates_of_subscriptions_have_both_levels(
    shop: Admin, path: str, body: object, shown: str, none: str
) -> None:
    before = await shop("GET", shown)
    assert (await shop("POST", f"{path}?isGlobal=true", body)).status == 204
    assert await shop("GET", shown) == before
    assert (await shop("GET", f"{shown}?isGlobal=true")).json != {}
    assert (await shop("DELETE", f"{path}?isGlobal=true")).status == 204
    assert (await shop("GET", f"{shown}?isGlobal=true")).text == none


async def test_a_tick_time_must_fit_into_an_event_for_other_clusters(shop: Admin) -> None:
    path = "persistent/acme/shop/plain/delayedDelivery"
    assert (await shop("POST", f"{path}?isGlobal=true", {"tickTime": 1e19, "active": True})).status == 400
    assert (await shop("POST", f"{path}?isGlobal=true", {"tickTime": 1.5, "active": True})).status == 204
    assert (await shop("GET", f"{path}?isGlobal=true")).json["tickTime"] == 1


async def test_all_policies_of_a_topic_are_removed_at_once(shop: Admin) -> None:
    await shop("POST", f"{TTL}?messageTTL=5&isGlobal=true")
    await shop("POST", f"{TTL}?messageTTL=7")
    assert (await shop("DELETE", "persistent/acme/shop/plain/policies")).status == 204
    assert [await ttl(shop), await ttl(shop, "?isGlobal=true"), await ttl(shop, "?applied=true")] == ["", "", "0"]


async def test_a_new_topic_of_the_same_name_has_no_global_policies(shop: Admin) -> None:
    await shop("POST", f"{TTL}?messageTTL=5&isGlobal=true")
    await shop("DELETE", "persistent/acme/shop/plain")
    await shop("PUT", "persistent/acme/shop/plain")
    assert await ttl(shop, "?isGlobal=true") == ""


async def test_global_policies_survive_a_restart(tmp_path: Path) -> None:
    config = BrokerConfig(server=PORT_ZERO)
    path = "persistent/public/default/t"
    server = await start(tmp_path, config)
    await Admin(server)("PUT", path)
    await Admin(server)("POST", f"{path}/messageTTL?messageTTL=5&isGlobal=true")
    await server.stop()
    server = await start(tmp_path, config)
    assert (await Admin(server)("GET", f"{path}/messageTTL?isGlobal=true")).text == "5"
    assert (await Admin(server)("GET", f"{path}/messageTTL")).text == ""
    await server.stop()
