"""Dynamic configuration: in force at once, shown with its origin, and kept over restarts."""

from pathlib import Path
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.policies import PolicyConfig
from broker_core.config.security import SecurityConfig
from broker_core.config.stored_settings import STORED_SETTINGS
from broker_core.names import parse_topic
from tests.broker.admin.conftest import PORT_ZERO, Admin, start

CONFIGURATION = "brokers/configuration"
PLAIN = "persistent/acme/shop/plain"
FULL = "persistent://acme/shop/plain"


def other_value(setting: Any, value: Any) -> str:
    """A valid value that differs from the one that is set, as text."""
    if isinstance(value, bool):
        return str(not value).lower()
    if isinstance(value, str):
        others = {"subscriptionTypesEnabled": "Shared", "allowAutoTopicCreationType": "partitioned"}
        return others.get(setting.key) or next(choice for choice in setting.choices if choice != value)
    return str(round(value / setting.scale) + 1)


async def put(admin: Admin, key: str, value: object) -> None:
    assert (await admin("POST", f"{CONFIGURATION}/{key}/{value}")).status == 200


async def test_every_dynamic_setting_changes_at_once_and_survives_a_restart(tmp_path: Path) -> None:
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    names = [name for name in (await admin("GET", CONFIGURATION)).json if name not in STORED_SETTINGS]
    assert len(names) == 61
    before = (await admin("GET", f"{CONFIGURATION}/runtime")).json
    settings = {field.metadata["setting"].key: (field, value) for _, field, value in admin.broker.config.settings()}
    wanted = {key: other_value(settings[key][0].metadata["setting"], settings[key][1]) for key in names}
    for key, value in wanted.items():
        await put(admin, key, value)
    assert (await admin("GET", f"{CONFIGURATION}/values")).json == wanted
    shown = (await admin("GET", f"{CONFIGURATION}/runtime")).json
    assert {key: shown[key] for key in names} == wanted
    await server.stop()

    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    shown = (await admin("GET", f"{CONFIGURATION}/runtime")).json
    assert {key: shown[key] for key in names} == wanted
    for key in names:
        assert (await admin("DELETE", f"{CONFIGURATION}/{key}")).status == 200
    assert (await admin("GET", f"{CONFIGURATION}/values")).json == {}
    shown = (await admin("GET", f"{CONFIGURATION}/runtime")).json
    assert {key: shown[key] for key in names} == {key: before[key] for key in names}
    await server.stop()


async def test_a_setting_shows_its_default_and_where_its_value_comes_from(tmp_path: Path) -> None:
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO, policies=PolicyConfig(default_bundles=8)))
    admin = Admin(server)
    key = "defaultNumberOfNamespaceBundles"
    shown = (await admin("GET", f"{CONFIGURATION}/settings")).json
    assert shown[key] == {"value": "8", "default": "4", "origin": "start", "dynamic": True}
    assert shown["clusterName"] == {
        "value": "standalone",
        "default": "standalone",
        "origin": "default",
        "dynamic": False,
    }
    await put(admin, key, 2)
    shown = (await admin("GET", f"{CONFIGURATION}/settings")).json
    assert shown[key] == {"value": "2", "default": "4", "origin": "dynamic", "dynamic": True}
    await server.stop()


async def test_a_change_applies_to_loaded_topics(shop: Admin) -> None:
    await shop.publish(FULL, [b"x"])
    topic = await shop.broker.topics.get(parse_topic(FULL))
    await put(shop, "dispatchThrottlingRatePerTopicInMsg", 5)
    assert topic.policies.dispatch_rate.messages == 5
    assert (await shop("GET", f"{PLAIN}/dispatchRate?applied=true")).json["dispatchThrottlingRateInMsg"] == 5
    await shop("DELETE", f"{CONFIGURATION}/dispatchThrottlingRatePerTopicInMsg")
    assert topic.policies.dispatch_rate.messages == 0


async def test_the_rates_of_the_whole_broker_change(shop: Admin) -> None:
    await shop.publish(FULL, [b"x"])
    topic = await shop.broker.topics.get(parse_topic(FULL))
    assert topic.throttles.publish_limit is None
    await put(shop, "brokerPublisherThrottlingMaxMessageRate", 5)
    assert topic.throttles.publish_limit is not None
    await shop("DELETE", f"{CONFIGURATION}/brokerPublisherThrottlingMaxMessageRate")
    assert topic.throttles.publish_limit is None


async def test_new_topics_partitions_and_namespaces_follow_a_change(shop: Admin) -> None:
    await put(shop, "allowAutoTopicCreation", "false")
    assert (await shop("GET", "/lookup/v2/topic/persistent/acme/shop/nope")).status == 404
    await put(shop, "maxNumPartitionsPerPartitionedTopic", 2)
    assert (await shop("PUT", "persistent/acme/shop/many/partitions", 3)).status == 406
    await put(shop, "defaultNumberOfNamespaceBundles", 2)
    await shop("PUT", "namespaces/acme/new")
    assert (await shop("GET", "namespaces/acme/new/bundles")).json["numBundles"] == 2
    await put(shop, "forceDeleteNamespaceAllowed", "true")
    assert (await shop("DELETE", "namespaces/acme/shop?force=true")).status == 204


async def test_a_text_that_is_no_truth_value_means_false_and_is_shown_as_it_was_sent(admin: Admin) -> None:
    text = '{"key/123":"https://example.com/"}'
    await put(admin, "allowAutoSubscriptionCreation", "%7B%22key%2F123%22:%22https:%2F%2Fexample.com%2F%22%7D")
    assert (await admin("GET", f"{CONFIGURATION}/values")).json == {"allowAutoSubscriptionCreation": text}
    assert (await admin("GET", f"{CONFIGURATION}/runtime")).json["allowAutoSubscriptionCreation"] == "false"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("loadBalancerAutoBundleSplitEnabled", "nonsense"),
        ("dispatcherMinReadBatchSize", "x"),
        ("loadBalancerSheddingEnabled", "false"),
    ],
)
async def test_a_setting_of_pulsar_407_that_has_no_effect_is_stored_and_the_answer_says_so(
    tmp_path: Path, key: str, value: str
) -> None:
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    assert key in (await admin("GET", CONFIGURATION)).json
    reply = await admin("POST", f"{CONFIGURATION}/{key}/{value}")
    assert (reply.status, reply.warning) == (200, f'299 - "{key} is stored, but has no effect on this broker"')
    await server.stop()
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    assert (await admin("GET", f"{CONFIGURATION}/values")).json == {key: value}
    assert key not in (await admin("GET", f"{CONFIGURATION}/runtime")).json
    assert (await admin("DELETE", f"{CONFIGURATION}/{key}")).status == 200
    assert (await admin("GET", f"{CONFIGURATION}/values")).json == {}
    await server.stop()


@pytest.mark.parametrize(
    ("method", "path", "reason"),
    [
        ("POST", "brokerServicePort/1", "Can't update non-dynamic configuration"),
        ("POST", "nope/1", "Can't update non-dynamic configuration"),
        ("DELETE", "nope", "Can't delete non-dynamic configuration"),
        (
            "POST",
            "maxTopicsPerNamespace/x",
            "Invalid dynamic-config value: maxTopicsPerNamespace must be a whole number, not 'x' (the request)",
        ),
        (
            "POST",
            "maxTopicsPerNamespace/-1",
            "Invalid dynamic-config value: maxTopicsPerNamespace must be at least 0, not '-1' (the request)",
        ),
    ],
)
async def test_other_settings_and_invalid_values_are_refused(admin: Admin, method: str, path: str, reason: str) -> None:
    reply = await admin(method, f"{CONFIGURATION}/{path}")
    assert (reply.status, reply.reason) == (412, reason)
    assert (await admin("GET", f"{CONFIGURATION}/values")).json == {}


async def test_a_configuration_that_several_brokers_start_with_stays_as_it_is(tmp_path: Path) -> None:
    config = BrokerConfig(server=PORT_ZERO)
    server = await start(tmp_path, config)
    await put(Admin(server), "maxTopicsPerNamespace", 7)
    assert config.topics.max_topics == 0
    await server.stop()


async def test_a_secret_in_the_configuration_is_not_shown(tmp_path: Path) -> None:
    security = SecurityConfig(token_secret_key="c2VjcmV0")
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO, security=security))
    admin = Admin(server)
    assert (await admin("GET", f"{CONFIGURATION}/runtime")).json["tokenSecretKey"] == "******"
    assert "c2VjcmV0" not in (await admin("GET", f"{CONFIGURATION}/settings")).text
    await server.stop()
