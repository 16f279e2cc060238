import asyncio
import dataclasses
import urllib.request
from pathlib import Path

import pytest

import broker_core
from broker_core.admin.brokers import broker_id
from broker_core.config.broker import BrokerConfig
from broker_core.metadata.policies.values import BacklogQuota
from broker_core.names import parse_topic
from broker_core.storage.errors import DamageReport, Lost
from tests.broker.admin.conftest import PORT_ZERO, Admin, start
from tests.support.broker_process import BrokerProcess


async def test_health_is_ok_without_quotes_or_newline(admin: Admin) -> None:
    reply = await admin("GET", "brokers/health?topicVersion=V2")
    assert (reply.status, reply.text) == (200, "ok")


async def test_health_fails_when_the_topic_refuses_messages(admin: Admin) -> None:
    await admin("GET", "brokers/health")
    [topic] = admin.broker.topics.loaded.values()
    await topic.close()
    reply = await admin("GET", "brokers/health")
    assert reply.status == 503
    assert reply.reason


@pytest.mark.parametrize(
    ("path", "text"), [("brokers/ready", "ok"), ("/status.html", "OK"), ("brokers/version", broker_core.__version__)]
)
async def test_simple_requests_return_the_documented_answer(admin: Admin, path: str, text: str) -> None:
    reply = await admin("GET", path)
    assert (reply.status, reply.text) == (200, text)


DAMAGE = DamageReport(
    Path("/data/x.ledger"), 40, "checksum does not match", "public/default/persistent/t", Lost(7, 1, 2)
)


@pytest.mark.parametrize("path", ["brokers/health", "/status.html"])
async def test_a_broker_that_lost_data_is_degraded_until_the_loss_is_accepted(admin: Admin, path: str) -> None:
    sound = (await admin("GET", path)).text
    admin.broker.storage.report_damage([DAMAGE])
    reply = await admin("GET", path)
    assert reply.status == 200
    assert reply.text.startswith("degraded: 1 damaged place, first /data/x.ledger at offset 40")
    assert (await admin("POST", "brokers/damage/accept")).json == [str(DAMAGE)]
    assert (await admin("GET", path)).text == sound


async def test_damage_is_listed_with_its_losses_and_counted_in_the_metrics(admin: Admin) -> None:
    assert 'pulsarctl_storage_damaged_places{cluster="standalone"} 0' in (await admin("GET", "/metrics")).text
    admin.broker.storage.report_damage([DAMAGE, DAMAGE])
    [place] = (await admin("GET", "brokers/damage")).json
    assert (place["file"], place["offset"], place["lost"]) == ("/data/x.ledger", 40, "7:1 to 7:2")
    assert (place["topic"], place["accepted"]) == ("public/default/persistent/t", "")
    assert 'pulsarctl_storage_damaged_places{cluster="standalone"} 1' in (await admin("GET", "/metrics")).text


async def test_this_broker_is_the_only_broker_and_the_leader(admin: Admin) -> None:
    name = f"localhost:{admin.server.web_port}"
    assert (await admin("GET", "brokers")).json == [name]
    assert (await admin("GET", "brokers/standalone")).json == [name]
    assert (await admin("GET", "brokers/leaderBroker")).json == {
        "serviceUrl": f"http://{name}",
        "brokerId": name,
    }


async def test_brokers_of_another_cluster_are_not_found(admin: Admin) -> None:
    assert (await admin("GET", "brokers/standalone")).json == [broker_id(admin.broker)]
    reply = await admin("GET", "brokers/nope")
    assert (reply.status, reply.reason) == (404, "Cluster does not exist")


async def test_the_backlog_quota_check_runs_now(shop: Admin) -> None:
    quota = {"limitSize": 1, "limitTime": -1, "policy": "consumer_backlog_eviction"}
    await shop("PUT", "persistent/acme/shop/plain/subscription/s")
    topic = await shop.broker.topics.get(parse_topic("persistent://acme/shop/plain"))
    await shop.broker.tenancy.topic_policies.set(topic.name, size_quota=BacklogQuota.from_document(quota))
    await shop.publish(str(topic.name), [b"1", b"2", b"3", b"4"])
    assert topic.subscriptions["s"].cursor.backlog_entries == 4
    assert (await shop("GET", "brokers/backlog-quota-check")).status == 204
    assert topic.subscriptions["s"].cursor.backlog_entries == 1  # as much as whole entries allow


async def test_this_broker_owns_every_bundle(shop: Admin) -> None:
    own = broker_id(shop.broker)
    found = (await shop("GET", f"brokers/standalone/{own}/ownedNamespaces")).json
    owned = {"broker_assignment": "shared", "is_controlled": False, "is_active": True}
    assert found["acme/shop/0x00000000_0x40000000"] == owned
    assert len([name for name in found if name.startswith("acme/shop/")]) == 4
    missing = await shop("GET", "brokers/standalone/x:1/ownedNamespaces")
    assert (missing.status, missing.reason) == (404, "Broker id 'x:1' not found in available brokers.")


async def test_health_is_checked_for_the_two_versions_of_topic_names(admin: Admin) -> None:
    assert (await admin("GET", "brokers/health?topicVersion=V1")).text == "ok"
    reply = await admin("GET", "brokers/health?topicVersion=V7")
    assert (reply.status, reply.reason) == (404, "there is no topicVersion 'V7'; use V1 or V2")


async def test_a_broker_inside_another_program_is_not_shut_down(admin: Admin) -> None:
    reply = await admin("POST", "brokers/shutdown")
    assert reply.status == 405
    assert reply.reason == "cannot shut down: the broker runs inside another program; end that program"


def test_a_shutdown_ends_the_process_cleanly(tmp_path: Path) -> None:
    process = BrokerProcess(tmp_path / "data")
    process.start()
    request = urllib.request.Request(f"{process.http_url}/admin/v2/brokers/shutdown", method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 204
    process.wait_ended()
    assert "the broker did not stop in time" not in process.log_tail()


async def test_the_configuration_in_force_is_shown_under_pulsars_keys(admin: Admin) -> None:
    shown = (await admin("GET", "brokers/configuration/runtime")).json
    assert set(shown) == {field.metadata["setting"].key for _, field, _ in BrokerConfig().settings()}
    assert (shown["journalSyncData"], shown["flushInterval"]) == ("true", "60000")
    assert (await admin("GET", "brokers/configuration/values")).json == {}


async def test_the_cluster_is_shown_with_its_addresses(admin: Admin) -> None:
    assert (await admin("GET", "clusters")).json == ["standalone"]
    shown = (await admin("GET", "clusters/standalone")).json
    assert shown["serviceUrl"] == admin.broker.http_url
    assert shown["brokerServiceUrl"] == admin.broker.service_url


@pytest.mark.parametrize(
    ("method", "path", "status", "reason"),
    [
        ("GET", "clusters/nope", 404, "Cluster does not exist"),
        ("PUT", "clusters/standalone", 409, "Cluster already exists"),
        ("PUT", "clusters/c%20x", 412, "Cluster name is not valid"),
    ],
)
async def test_invalid_cluster_requests_are_refused(
    admin: Admin, method: str, path: str, status: int, reason: str
) -> None:
    reply = await admin(method, path, {"serviceUrl": "http://x:1"} if method == "PUT" else None)
    assert (reply.status, reply.reason) == (status, reason)


async def test_metrics_show_a_topic_under_pulsars_names(shop: Admin) -> None:
    await shop("PUT", "persistent/acme/shop/plain/subscription/s")
    await shop.publish("persistent://acme/shop/plain", [b"1", b"2"])
    reply = await shop("GET", "/metrics")
    assert (reply.content_type or "").startswith("text/plain; version=0.0.4")
    lines = reply.text.splitlines()
    topic = 'cluster="standalone",namespace="acme/shop",topic="persistent://acme/shop/plain"'
    for line in (
        f"pulsar_subscriptions_count{{{topic}}} 1",
        f"pulsar_producers_count{{{topic}}} 0",
        f"pulsar_msg_backlog{{{topic}}} 2",
        f'pulsar_subscription_back_log{{{topic},subscription="s"}} 2',
        'pulsar_topics_count{cluster="standalone",namespace="acme/shop"} 1',
        'pulsar_broker_topics_count{cluster="standalone"} 1',
        'pulsar_broker_msg_backlog{cluster="standalone"} 2',
    ):
        assert line in lines


async def test_the_lines_of_a_metric_follow_its_type_line(shop: Admin) -> None:
    for name in ("a", "b"):
        await shop.publish(f"persistent://acme/shop/{name}", [b"1"])
    lines = (await shop("GET", "/metrics")).text.splitlines()
    names = [line.split("{")[0] if not line.startswith("#") else line.split()[2] for line in lines]
    seen: list[str] = []
    for name in names:
        if not seen or seen[-1] != name:
            seen.append(name)
    assert len(seen) == len(set(seen))


async def test_label_values_are_quoted(shop: Admin) -> None:
    await shop.publish('persistent://acme/shop/a"b\\c', [b"1"])
    assert 'topic="persistent://acme/shop/a\\"b\\\\c"' in (await shop("GET", "/metrics")).text


async def test_metrics_describe_the_process(admin: Admin) -> None:
    text = (await admin("GET", "/metrics")).text
    assert "# TYPE process_cpu_seconds_total counter\n" in text
    assert 'process_start_time_seconds{cluster="standalone"} ' in text


async def test_a_broker_that_leaves_is_not_ready(admin: Admin) -> None:
    admin.broker.is_leaving = True
    reply = await admin("GET", "/status.html")
    assert (reply.status, reply.text) == (503, "the broker is stopping")


async def test_load_balancers_have_time_to_leave_before_a_broker_stops(tmp_path: Path) -> None:
    server = await start(tmp_path / "data", BrokerConfig(server=dataclasses.replace(PORT_ZERO, leave_seconds=1.0)))
    admin = Admin(server)
    stopping = asyncio.create_task(server.stop())
    assert (await admin("GET", "/status.html")).status == 503
    assert (await admin("GET", "tenants")).status == 200
    assert not stopping.done()
    await stopping


async def test_a_file_takes_the_broker_out(tmp_path: Path) -> None:
    file = tmp_path / "status"
    server = await start(tmp_path / "data", BrokerConfig(server=dataclasses.replace(PORT_ZERO, status_file=str(file))))
    admin = Admin(server)
    assert (await admin("GET", "/status.html")).status == 404
    file.touch()
    assert (await admin("GET", "/status.html")).text == "OK"
    await server.stop()
