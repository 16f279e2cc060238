"""Names with spaces, %, umlauts, emoji, and, where Pulsar allows it, /, through REST and back."""

from urllib.parse import quote

import pytest

from broker_core.names import parse_topic
from tests.broker.admin.conftest import Admin

NAMES = ["mit Leerzeichen", "100%", "a%20b", "größe", "🐢🚀", "a+b", "日本語", "q?x=1&y#z", "semi;colon"]


@pytest.mark.parametrize("name", NAMES)
async def test_a_topic_name_is_percent_encoded_once(shop: Admin, name: str) -> None:
    path = f"persistent/acme/shop/{quote(name, safe='')}"
    full = f"persistent://acme/shop/{name}"
    assert (await shop("PUT", path)).status == 204
    assert shop.broker.topics.exists(parse_topic(full))
    assert full in (await shop("GET", "persistent/acme/shop")).json
    assert (await shop("GET", f"{path}/stats")).status == 200
    assert (await shop("DELETE", path)).status == 204


@pytest.mark.parametrize("name", [name for name in NAMES if name != "a%20b"])
async def test_a_partitioned_topic_name_is_percent_encoded_once(shop: Admin, name: str) -> None:
    path = f"persistent/acme/shop/{quote(name, safe='')}/partitions"
    assert (await shop("PUT", path, 2)).status == 204
    assert f"persistent://acme/shop/{name}" in (await shop("GET", "persistent/acme/shop/partitioned")).json
    assert (await shop("DELETE", path)).status == 204


async def test_a_plus_in_a_path_is_a_space(shop: Admin) -> None:
    await shop("PUT", "persistent/acme/shop/a+b")
    assert shop.broker.topics.exists(parse_topic("persistent://acme/shop/a b"))


ENCODED_TWICE = [(name, quote(quote(name, safe=""), safe="")) for name in [*NAMES, "a/b", "/"]]
# A name that looks encoded must be encoded twice, as in Pulsar.
ENCODED_ONCE = [(name, quote(name, safe="")) for name in [*NAMES, "a/b", "/"] if name not in ("a+b", "a%20b")]


@pytest.mark.parametrize(("name", "encoded"), [*ENCODED_TWICE, *ENCODED_ONCE])
async def test_a_subscription_name_is_percent_encoded_once_or_twice(shop: Admin, name: str, encoded: str) -> None:
    path = f"persistent/acme/shop/plain/subscription/{encoded}"
    assert (await shop("PUT", path)).status == 204
    assert (await shop("GET", "persistent/acme/shop/plain/subscriptions")).json == [name]
    assert name in (await shop("GET", "persistent/acme/shop/plain/stats")).json["subscriptions"]
    assert (await shop("POST", f"{path}/skip_all")).status == 204
    assert (await shop("DELETE", path)).status == 204


@pytest.mark.parametrize(
    ("sent", "name"), [("a%2Bb", "a b"), ("a%252Bb", "a+b"), ("s%252F%25C3%25BC%2B%2525", "s/ü %")]
)
async def test_a_subscription_name_as_pulsars_java_tools_send_it_is_accepted(shop: Admin, sent: str, name: str) -> None:
    await shop("PUT", f"persistent/acme/shop/plain/subscription/{sent}")
    assert (await shop("GET", "persistent/acme/shop/plain/subscriptions")).json == [name]


async def test_names_survive_a_reload(shop: Admin) -> None:
    topic, subscription = quote("größe 🐢", safe=""), quote("a/b ü", safe="")
    await shop("PUT", f"persistent/acme/shop/{topic}/subscription/{subscription}")
    await shop("PUT", f"persistent/acme/shop/{topic}/unload")
    assert (await shop("GET", f"persistent/acme/shop/{topic}/subscriptions")).json == ["a/b ü"]


async def test_a_topic_with_a_unicode_name_has_policies(shop: Admin) -> None:
    path = f"persistent/acme/shop/{quote('größe % 🐢', safe='')}"
    await shop("PUT", path)
    assert (await shop("POST", f"{path}/messageTTL?messageTTL=3")).status == 204
    assert (await shop("GET", f"{path}/messageTTL")).text == "3"


async def test_a_topic_with_a_unicode_name_is_looked_up(shop: Admin) -> None:
    reply = await shop("GET", f"/lookup/v2/topic/persistent/acme/shop/{quote('größe % 🐢', safe='')}")
    assert (reply.status, reply.json["brokerUrl"]) == (200, shop.broker.service_url)
