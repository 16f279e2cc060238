"""Bundles: split with each algorithm, deleted, and the positions of their topics."""

from typing import Any

import pytest

from broker_core.metadata.tenancy.bundles import hash_of
from tests.broker.admin.conftest import Admin

NAMESPACE = "namespaces/acme/shop"
ONE = "namespaces/acme/one"
ALL = f"{ONE}/0x00000000_0xffffffff"
FIRST = "0x00000000_0x40000000"
FULL = "persistent://acme/shop"
BUNDLE_OF_PLAIN = "/lookup/v2/topic/persistent/acme/shop/plain/bundle"
ALGORITHMS = "range_equally_divide, topic_count_equally_divide, specified_positions_divide, flow_or_qps_equally_divide"


async def boundaries(admin: Admin, namespace: str = NAMESPACE) -> list[str]:
    return list((await admin("GET", f"{namespace}/bundles")).json["boundaries"])


async def one_bundle(admin: Admin, topics: list[str]) -> list[int]:
    """Creates `acme/one` with one bundle, and these topics; returns their positions, sorted."""
    await admin("PUT", ONE, {"bundles": {"numBundles": 1}})
    for name in topics:
        await admin("PUT", f"persistent/acme/one/{name}")
    return sorted(hash_of(f"persistent://acme/one/{name}") for name in topics)


async def test_a_bundle_is_split_in_the_middle(shop: Admin) -> None:
    assert (await shop("PUT", f"{NAMESPACE}/{FIRST}/split")).status == 204
    assert (await boundaries(shop))[:3] == ["0x00000000", "0x20000000", "0x40000000"]
    reply = await shop("PUT", f"{NAMESPACE}/{FIRST}/split")
    expected = "Expected upper boundary of acme/shop/0x00000000_0x20000000"
    assert (reply.status, reply.reason) == (
        412,
        f"Invalid upper boundary for bundle acme/shop/{FIRST}. {expected}",
    )


async def test_a_split_by_topics_leaves_half_of_them_on_each_side(shop: Admin) -> None:
    positions = await one_bundle(shop, ["a", "b", "c", "d"])
    await shop("PUT", f"{ALL}/split?splitAlgorithmName=topic_count_equally_divide")
    [middle] = (await boundaries(shop, ONE))[1:-1]
    assert positions[1] < int(middle, 16) <= positions[2]


async def test_a_split_at_positions_makes_a_bundle_for_each(shop: Admin) -> None:
    await one_bundle(shop, [])
    positions = [7, 256, 7, -1, 1 << 40]
    reply = await shop("PUT", f"{ALL}/split?splitAlgorithmName=specified_positions_divide", positions)
    assert reply.status == 204
    assert await boundaries(shop, ONE) == ["0x00000000", "0x00000007", "0x00000100", "0xffffffff"]


async def test_a_split_by_traffic_needs_two_topics(shop: Admin) -> None:
    path = f"{ALL}/split?splitAlgorithmName=flow_or_qps_equally_divide"
    await one_bundle(shop, ["a"])
    assert (await shop("PUT", path)).status == 204
    assert len(await boundaries(shop, ONE)) == 2
    await shop("PUT", "persistent/acme/one/b")
    assert (await shop("PUT", path)).status == 204
    assert len(await boundaries(shop, ONE)) == 3


async def test_the_bundle_with_most_topics_is_found(shop: Admin) -> None:
    await shop("DELETE", "persistent/acme/shop/parted/partitions")
    lower, upper = (await shop("GET", BUNDLE_OF_PLAIN)).text.split("_")
    assert (await shop("PUT", f"{NAMESPACE}/LARGEST/split")).status == 204
    shown = await boundaries(shop)
    assert shown.index(upper) - shown.index(lower) == 2


async def test_a_split_keeps_the_topics(shop: Admin) -> None:
    await shop.publish(f"{FULL}/plain", [b"x"])
    for bundle in ("LARGEST", "HOT"):
        assert (await shop("PUT", f"{NAMESPACE}/{bundle}/split?unload=true")).status == 204
    assert (await shop("GET", "persistent/acme/shop/plain/internalStats")).json["numberOfEntries"] == 1


async def test_a_split_is_stored(shop: Admin) -> None:
    await shop("PUT", f"{NAMESPACE}/{FIRST}/split")
    document = shop.broker.storage.metadata.get("namespace", "acme/shop")
    assert document is not None and document["bundles"]["numBundles"] == 5


async def test_a_bundle_with_topics_is_deleted_only_by_force(shop: Admin) -> None:
    bundle = (await shop("GET", BUNDLE_OF_PLAIN)).text
    reply = await shop("DELETE", f"{NAMESPACE}/{bundle}")
    assert (reply.status, reply.reason) == (409, "Cannot delete non empty bundle")
    assert (await shop("DELETE", f"{NAMESPACE}/{bundle}?force=true")).status == 204
    assert f"{FULL}/plain" not in (await shop("GET", "persistent/acme/shop")).json
    assert (await shop("DELETE", f"{NAMESPACE}/{bundle}")).reason.startswith("Failed to find ownership")


async def test_the_positions_of_topics_are_shown(shop: Admin) -> None:
    bundle = (await shop("GET", BUNDLE_OF_PLAIN)).text
    shown = (await shop("GET", f"{NAMESPACE}/{bundle}/topicHashPositions?topics=plain&topics=nope")).json
    assert shown == {
        "namespace": "acme/shop",
        "bundle": bundle,
        "topicHashPositions": {f"{FULL}/plain": hash_of(f"{FULL}/plain")},
    }


@pytest.mark.parametrize(
    ("path", "body", "reason"),
    [
        ("nope/split", None, "Invalid bundle range: nope"),
        ("0x00000001_0x40000000/split", None, "Cannot find bundle acme/shop/0x00000001_0x40000000 in the bundles list"),
        (
            f"{FIRST}/split?splitAlgorithmName=nope",
            None,
            f"Unsupported namespace bundle split algorithm, supported algorithms are [{ALGORITHMS}]",
        ),
        (
            f"{FIRST}/split?splitAlgorithmName=specified_positions_divide",
            None,
            "With specified_positions_divide split algorithm, splitBoundaries must not be empty",
        ),
    ],
)
async def test_an_invalid_split_is_refused(shop: Admin, path: str, body: Any, reason: str) -> None:
    reply = await shop("PUT", f"{NAMESPACE}/{path}", body)
    assert (reply.status, reply.reason) == (412, reason)
