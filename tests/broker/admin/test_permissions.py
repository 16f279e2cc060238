"""Permissions are stored and shown; nothing enforces them yet."""

from typing import Any

import pytest

from tests.broker.admin.conftest import Admin

NAMESPACE = "namespaces/acme/shop/permissions"
TOPIC = "persistent/acme/shop/plain/permissions"
TOPICS = ("plain", "parted")


async def test_a_role_gets_and_loses_permissions_on_a_namespace(shop: Admin) -> None:
    assert (await shop("GET", NAMESPACE)).json == {}
    assert (await shop("POST", f"{NAMESPACE}/alice", ["produce", "consume"])).status == 204
    assert (await shop("POST", f"{NAMESPACE}/bob", ["consume"])).status == 204
    assert (await shop("GET", NAMESPACE)).json == {"alice": ["produce", "consume"], "bob": ["consume"]}
    shown = (await shop("GET", "namespaces/acme/shop")).json["auth_policies"]
    assert shown["namespace_auth"]["bob"] == ["consume"]
    assert (await shop("DELETE", f"{NAMESPACE}/alice")).status == 204
    assert (await shop("GET", NAMESPACE)).json == {"bob": ["consume"]}


async def test_a_topic_shows_its_permissions_with_those_of_the_namespace(shop: Admin) -> None:
    await shop("POST", f"{NAMESPACE}/alice", ["consume"])
    assert (await shop("POST", f"{TOPIC}/alice", ["produce"])).status == 204
    assert (await shop("POST", f"{TOPIC}/bob", ["produce"])).status == 204
    assert (await shop("GET", TOPIC)).json == {"alice": ["consume", "produce"], "bob": ["produce"]}
    assert (await shop("DELETE", f"{TOPIC}/bob")).status == 204
    reply = await shop("DELETE", f"{TOPIC}/bob")
    assert (reply.status, reply.reason) == (412, "Permissions are not set at the topic level")


async def test_permissions_end_with_their_topic(shop: Admin) -> None:
    await shop("POST", f"{TOPIC}/alice", ["produce"])
    await shop("DELETE", "persistent/acme/shop/plain")
    await shop("PUT", "persistent/acme/shop/plain")
    assert (await shop("GET", TOPIC)).json == {}


async def test_a_subscription_names_the_roles_that_may_use_it(shop: Admin) -> None:
    assert (await shop("GET", f"{NAMESPACE}/subscription")).json == {}
    assert (await shop("POST", f"{NAMESPACE}/subscription/s", ["bob", "alice"])).status == 204
    assert (await shop("GET", f"{NAMESPACE}/subscription")).json == {"s": ["alice", "bob"]}
    assert (await shop("DELETE", f"{NAMESPACE}/s/bob")).status == 204
    assert (await shop("GET", f"{NAMESPACE}/subscription")).json == {"s": ["alice"]}
    assert (await shop("DELETE", f"{NAMESPACE}/s/alice")).status == 204
    assert (await shop("GET", f"{NAMESPACE}/subscription")).json == {}


async def test_several_topics_are_granted_in_one_request(shop: Admin) -> None:
    grants = [{"topic": f"persistent://acme/shop/{name}", "role": "r", "actions": ["produce"]} for name in TOPICS]
    assert (await shop("POST", "namespaces/grantPermissionsOnTopics", grants)).status == 204
    for name in TOPICS:
        assert (await shop("GET", f"persistent/acme/shop/{name}/permissions")).json == {"r": ["produce"]}
    assert (await shop("POST", "namespaces/revokePermissionsOnTopics", grants)).status == 204
    assert (await shop("GET", TOPIC)).json == {}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"{NAMESPACE}/r", ["fly"], 400),
        ("POST", "namespaces/acme/nope/permissions/r", ["produce"], 404),
        ("POST", "persistent/acme/shop/nope/permissions/r", ["produce"], 404),
        ("POST", "namespaces/grantPermissionsOnTopics", [{"topic": "persistent://acme/shop/nope", "role": "r"}], 404),
        ("POST", "namespaces/grantPermissionsOnTopics", {}, 400),
    ],
)
async def test_invalid_grants_are_refused(shop: Admin, method: str, path: str, body: Any, status: int) -> None:
    reply = await shop(method, path, body)
    assert reply.status == status and reply.reason
    assert (await shop("GET", "namespaces/acme/shop")).json["auth_policies"]["namespace_auth"] == {}
