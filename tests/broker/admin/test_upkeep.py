"""Operations on topics other than messages: properties, trimming, sizes, whole namespaces."""

from itertools import pairwise
from typing import Any

import pytest

from broker_core.names import parse_topic
from tests.broker.admin.conftest import Admin

SHOP = "persistent/acme/shop"
PLAIN = f"{SHOP}/plain"
FULL = "persistent://acme/shop"


@pytest.mark.parametrize("topic", ["plain", "parted"])
async def test_properties_of_a_topic_are_merged_and_removed(shop: Admin, topic: str) -> None:
    path = f"{SHOP}/{topic}/properties"
    assert (await shop("GET", path)).json == {}
    assert (await shop("PUT", path, {"a": "1", "größe %": "🐢"})).status == 204
    assert (await shop("PUT", path, {"a": "2"})).status == 204
    assert (await shop("PUT", path, {})).status == 204
    assert (await shop("GET", path)).json == {"a": "2", "größe %": "🐢"}
    assert (await shop("DELETE", f"{path}?key=a")).status == 204
    assert (await shop("GET", path)).json == {"größe %": "🐢"}
    assert (await shop("DELETE", path)).status == 204
    assert (await shop("GET", path)).json == {}


async def test_a_topic_is_created_with_properties(shop: Admin) -> None:
    await shop("PUT", f"{SHOP}/new", {"owner": "me"})
    assert (await shop("GET", f"{SHOP}/new/properties")).json == {"owner": "me"}


async def test_properties_of_a_subscription_are_replaced(shop: Admin) -> None:
    path = f"{PLAIN}/subscription/s/properties"
    await shop("PUT", f"{PLAIN}/subscription/s", {"properties": {"a": "1"}})
    assert (await shop("GET", path)).json == {"a": "1"}
    assert (await shop("PUT", path, {"ü": "2"})).status == 204
    assert (await shop("GET", path)).json == {"ü": "2"}
    assert (await shop("GET", f"{PLAIN}/stats")).json["subscriptions"]["s"]["subscriptionProperties"] == {"ü": "2"}


async def test_the_backlog_size_after_a_message_is_reported(shop: Admin) -> None:
    positions = await shop.publish(f"{FULL}/plain", [b"x" * 100] * 4)
    total = (await shop("GET", f"{PLAIN}/internalStats")).json["totalSize"]
    path = f"{PLAIN}/backlogSize"
    assert (await shop("PUT", path, {"ledgerId": -1, "entryId": -1})).json == total
    second = {"ledgerId": positions[1].ledger_id, "entryId": positions[1].entry_id}
    assert (await shop("PUT", path, second)).json == total // 2
    last = {"ledgerId": positions[3].ledger_id, "entryId": positions[3].entry_id}
    assert (await shop("PUT", path, last)).json == 0
    assert (await shop("GET", f"{PLAIN}/internalStats")).json["cursors"] == {}


async def test_trimming_deletes_acknowledged_messages_that_are_not_retained(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    await shop.publish(f"{FULL}/plain", [b"x"] * 3)
    await shop("POST", f"{PLAIN}/subscription/s/skip_all")
    assert (await shop("POST", f"{PLAIN}/trim")).status == 204
    assert (await shop("GET", f"{PLAIN}/internalStats")).json["numberOfEntries"] == 0


async def test_internal_info_lists_ledgers_and_cursors(shop: Admin) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    [position] = await shop.publish(f"{FULL}/plain", [b"x"])
    shown = (await shop("GET", f"{PLAIN}/internal-info")).json
    assert [one["ledgerId"] for one in shown["ledgers"]] == [position.ledger_id]
    assert list(shown["cursors"]) == ["s"]


async def test_internal_info_of_a_partitioned_topic_is_that_of_its_partitions(shop: Admin) -> None:
    shown = (await shop("GET", f"{SHOP}/parted/internal-info")).json
    assert list(shown["partitions"]) == [f"{FULL}/parted-partition-{index}" for index in range(3)]


@pytest.mark.parametrize("domain", ["persistent", "non-persistent"])
async def test_internal_info_of_what_does_not_exist_is_not_found(shop: Admin, domain: str) -> None:
    """Apache Pulsar 4.0.7 answers 500 for a topic, with a page of HTML."""
    missing = await shop("GET", f"{domain}/acme/shop/none/internal-info")
    assert (missing.status, missing.reason) == (404, f"Topic {domain}://acme/shop/none not found")
    assert (await shop("GET", f"{domain}/acme/nope/none/internal-info")).status == 404


@pytest.mark.parametrize(("excluded", "backlog"), [(False, 1), (True, 2)])
async def test_messages_are_expired_up_to_a_position(shop: Admin, excluded: bool, backlog: int) -> None:
    await shop("PUT", f"{PLAIN}/subscription/s")
    positions = await shop.publish(f"{FULL}/plain", [b"x"] * 3)
    body = {"ledgerId": positions[1].ledger_id, "entryId": positions[1].entry_id, "excluded": excluded}
    assert (await shop("POST", f"{PLAIN}/subscription/s/expireMessages", body)).status == 204
    shown = (await shop("GET", f"{PLAIN}/stats")).json["subscriptions"]["s"]
    assert shown["msgBacklog"] == backlog


class TestWholeNamespaces:
    async def prepare(self, shop: Admin) -> None:
        for topic in ("plain", "parted-partition-0", "parted-partition-1"):
            for subscription in ("a", "b"):
                await shop("PUT", f"{SHOP}/{topic}/subscription/{subscription}")
            await shop.publish(f"{FULL}/{topic}", [b"x"])

    async def backlogs(self, shop: Admin) -> dict[str, int]:
        found: dict[str, int] = {}
        for topic in shop.broker.topics.loaded.values():
            for name, subscription in topic.subscriptions.items():
                found[name] = found.get(name, 0) + subscription.cursor.backlog_entries
        return found

    @pytest.mark.parametrize(
        ("path", "left"),
        [
            ("clearBacklog", {"a": 0, "b": 0}),
            ("clearBacklog/a", {"a": 0, "b": 3}),
            ("clearBacklog/c", {"a": 3, "b": 3}),
        ],
    )
    async def test_backlogs_are_cleared(self, shop: Admin, path: str, left: dict[str, int]) -> None:
        await self.prepare(shop)
        assert (await shop("POST", f"namespaces/acme/shop/{path}")).status == 204
        assert await self.backlogs(shop) == left

    async def test_the_bundles_cover_the_namespace(self, shop: Admin) -> None:
        await self.prepare(shop)
        boundaries = (await shop("GET", "namespaces/acme/shop/bundles")).json["boundaries"]
        for lower, upper in pairwise(boundaries):
            reply = await shop("POST", f"namespaces/acme/shop/{lower}_{upper}/clearBacklog")
            assert reply.status == 204 or "Failed to find ownership" in reply.reason
        assert await self.backlogs(shop) == {"a": 0, "b": 0}

    async def test_a_subscription_is_removed_from_all_topics(self, shop: Admin) -> None:
        await self.prepare(shop)
        assert (await shop("POST", "namespaces/acme/shop/unsubscribe/a")).status == 204
        assert (await shop("POST", "namespaces/acme/shop/unsubscribe/a")).status == 204
        assert await self.backlogs(shop) == {"b": 3}

    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("POST", "/clearBacklog"),
            ("POST", "/clearBacklog/a"),
            ("POST", "/unsubscribe/a"),
            ("DELETE", ""),
            ("GET", "/topicHashPositions"),
        ],
    )
    async def test_a_bundle_without_topics_has_no_owner_as_in_pulsar_407(
        self, shop: Admin, method: str, path: str
    ) -> None:
        await shop("PUT", "namespaces/acme/empty")
        reply = await shop(method, f"namespaces/acme/empty/0x00000000_0x40000000{path}")
        reason = "Failed to find ownership for ServiceUnit:acme/empty/0x00000000_0x40000000"
        assert (reply.status, reply.reason) == (412, reason)
        assert (await shop("PUT", "namespaces/acme/empty/0x00000000_0x40000000/unload")).status == 204

    async def test_a_bundle_is_unloaded(self, shop: Admin) -> None:
        await self.prepare(shop)
        namespace = shop.broker.tenancy.namespace(parse_topic(f"{FULL}/plain").namespace)
        bundle = namespace.bundles.bundle_of(f"{FULL}/plain")
        assert (await shop("PUT", f"namespaces/acme/shop/{bundle}/unload")).status == 204
        assert f"{FULL}/plain" not in shop.broker.topics.loaded

    @pytest.mark.parametrize(
        ("bundle", "reason"),
        [
            ("garbage", "Invalid bundle range: garbage"),
            (
                "0x00000000_0x12345678",
                "Invalid upper boundary for bundle acme/shop/0x00000000_0x12345678."
                " Expected upper boundary of acme/shop/0x00000000_0x40000000",
            ),
            ("0x00000001_0x40000000", "Cannot find bundle acme/shop/0x00000001_0x40000000 in the bundles list"),
            ("0xffffffff_0xffffffff", "Cannot find bundle acme/shop/0xffffffff_0xffffffff in the bundles list"),
        ],
    )
    @pytest.mark.parametrize(
        ("method", "action"),
        [("PUT", "unload"), ("POST", "clearBacklog"), ("POST", "clearBacklog/a"), ("POST", "unsubscribe/a")],
    )
    async def test_an_unknown_bundle_is_refused(
        self, shop: Admin, method: str, action: str, bundle: str, reason: str
    ) -> None:
        reply = await shop(method, f"namespaces/acme/shop/{bundle}/{action}")
        assert (reply.status, reply.reason) == (412, reason)


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", f"{SHOP}/none/properties", 404, f"Topic {FULL}/none not found"),
        ("PUT", f"{SHOP}/none/properties", 404, f"Topic {FULL}/none not found"),
        ("DELETE", f"{SHOP}/none/properties", 404, f"Topic {FULL}/none not found"),
        ("GET", f"{PLAIN}/subscription/no/properties", 404, f"Subscription no not found for topic {FULL}/plain"),
        ("POST", "namespaces/acme/nope/clearBacklog", 404, "Namespace does not exist"),
        ("POST", "namespaces/acme/nope/unsubscribe/s", 404, "Namespace does not exist"),
        ("GET", "namespaces/acme/nope/permissions", 404, "Namespace does not exist"),
    ],
)
async def test_refusals(shop: Admin, method: str, path: str, status: int, reason: str) -> None:
    body: Any = {"a": "b"} if method == "PUT" else None
    reply = await shop(method, path, body)
    assert (reply.status, reply.reason) == (status, reason)


async def test_permissions_of_a_new_namespace_are_shown(shop: Admin) -> None:
    grants = {"namespace_auth": {"me": ["produce"]}, "destination_auth": {}, "subscription_auth_roles": {}}
    await shop("PUT", "namespaces/acme/granted", {"auth_policies": grants})
    assert (await shop("GET", "namespaces/acme/granted/permissions")).json == {"me": ["produce"]}
    assert (await shop("GET", f"{PLAIN}/permissions")).json == {}
