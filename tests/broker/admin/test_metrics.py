"""`/metrics`: what each level shows, and what the broker counts."""

import asyncio
import re
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.metrics import MetricsConfig
from broker_core.config.sources import load_config
from broker_core.config.storage import StorageConfig
from broker_core.errors import InvalidConfiguration
from broker_core.names import parse_topic
from broker_core.stats.broker_metrics import ROWS_TOGETHER, Totals
from broker_core.stats.installed_commit import commit_in, installed_commit
from broker_core.stats.topic_metrics import TOPIC as TOPIC_METRICS
from broker_core.stats.topic_metrics import of_throttled
from broker_core.testing import EmbeddedBroker
from tests.broker.admin.conftest import PORT_ZERO, Admin, start
from tests.support.storage import append, opened, run_of

FULL = "persistent://acme/shop/plain"
TOPIC = f'cluster="standalone",namespace="acme/shop",topic="{FULL}"'
NAMESPACE = 'cluster="standalone",namespace="acme/shop"'
CLUSTER = 'cluster="standalone"'
LINE = re.compile(r"(\w+)\{(.*)\} (\S+)")


async def metrics(admin: Admin) -> dict[tuple[str, str], float]:
    text = (await admin("GET", "/metrics")).text
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [LINE.fullmatch(line) for line in lines]
    return {(one[1], one[2]): float(one[3]) for one in found if one is not None}


@pytest.fixture
async def shop_with(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Admin]:
    """As `shop`, with the metrics that the test asks for."""
    server = await start(tmp_path / "data", BrokerConfig(server=PORT_ZERO, metrics=request.param))
    admin = Admin(server)
    await admin("PUT", "tenants/acme", {"allowedClusters": ["standalone"]})
    await admin("PUT", "namespaces/acme/shop")
    await admin("PUT", "persistent/acme/shop/plain/subscription/s")
    yield admin
    await server.stop()


async def test_a_topic_shows_its_quota_and_a_subscription_when_it_advanced(shop: Admin) -> None:
    quota = {"limitSize": 1000, "limitTime": -1, "policy": "producer_exception"}
    await shop("POST", "persistent/acme/shop/plain/backlogQuota", quota)
    await shop("PUT", "persistent/acme/shop/plain/subscription/s")
    found = await metrics(shop)
    assert found["pulsar_storage_backlog_quota_limit", TOPIC] == 1000
    assert found["pulsar_storage_backlog_quota_limit_time", TOPIC] == -1
    assert found["pulsar_publish_rate_limit_times", TOPIC] == 0
    assert ("pulsar_subscription_last_mark_delete_advanced_timestamp", f'{TOPIC},subscription="s"') in found


async def test_lookups_loads_and_connections_are_counted(shop: Admin) -> None:
    before = await metrics(shop)
    await shop("GET", "/lookup/v2/topic/persistent/acme/shop/plain")
    await shop("GET", "/lookup/v2/topic/persistent/acme/nope/t")
    await shop.publish(FULL, [b"x"])
    found = await metrics(shop)

    def grown(metric: str) -> float:
        return found[metric, CLUSTER] - before[metric, CLUSTER]

    assert grown("pulsar_broker_lookup_answers_total") == 1
    assert grown("pulsar_broker_lookup_failures_total") == 1
    assert grown("pulsar_topic_load_times_count") == 1
    connection = f'{CLUSTER},broker="localhost",metric="broker_connection"'
    assert found["pulsar_connection_created_total_count", connection] == 0


async def test_the_cache_counts_what_readers_found_in_it_and_what_they_had_to_read_from_disk(shop: Admin) -> None:
    await shop.publish(FULL, [b"x" * 100] * 10)
    await _read_all(shop)
    found = await metrics(shop)
    assert found["pulsar_ml_cache_hits_rate", CLUSTER] > 0 < found["pulsar_ml_cache_hits_throughput", CLUSTER]
    assert found["pulsar_ml_cache_used_size", CLUSTER] > 1000
    assert found["pulsar_ml_cache_misses_rate", CLUSTER] == found["pulsar_storage_read_rate", TOPIC] == 0
    await shop("PUT", "persistent/acme/shop/plain/unload")
    await _read_all(shop)
    found = await metrics(shop)
    assert found["pulsar_storage_read_rate", TOPIC] > 0 < found["pulsar_ml_cache_misses_throughput", CLUSTER]
    assert found["pulsar_storage_read_cache_misses_rate", TOPIC] > 0 < found["pulsar_broker_storage_read_rate", CLUSTER]
    assert found["pulsar_ml_cache_evictions", CLUSTER] == 0


async def _read_all(shop: Admin) -> None:
    log = (await shop.broker.topics.get(parse_topic(FULL))).ledger
    assert len(await log.read(log.first_position, 1000, 1 << 20)) == 10


async def test_the_cache_counts_what_it_evicts(tmp_path: Path) -> None:
    engine = await opened(tmp_path, StorageConfig(cache_mb=1))
    ledger = await engine.open_ledger("t")
    for _ in range(40):
        await append(ledger, run_of(b"x" * 50_000))
        await engine.writer.barrier()
    assert 0 < engine.cache.traffic.evictions.messages < 40
    await engine.close()


async def test_failed_loads_of_topics_have_the_reasons_of_pulsar(shop: Admin) -> None:
    found = await metrics(shop)
    for reason in ("failed_load_ml", "failed_init"):
        assert found["topic_load_failed_total", f'{CLUSTER},reason="{reason}"'] == 0


async def test_failed_loads_name_the_broker_and_the_version_its_commit(shop: Admin) -> None:
    found = await metrics(shop)
    assert (
        found["pulsar_topic_load_failed_count", f'{CLUSTER},broker="localhost",metric="pulsar_topic_load_times"'] == 0
    )
    assert found["pulsar_broker_topic_load_pending_requests", CLUSTER] == 0
    versions = [labels for metric, labels in found if metric == "pulsar_version_info"]
    assert versions == [f'{CLUSTER},version="{shop.broker.version}",commit="{installed_commit()}"']


def test_the_commit_is_that_of_the_repository_that_pip_installed_from() -> None:
    assert commit_in('{"url": "https://x", "vcs_info": {"vcs": "git", "commit_id": "abc"}}') == "abc"
    assert commit_in('{"url": "file:///x", "dir_info": {}}') == commit_in(None) == "unknown"


async def test_the_lines_of_a_summary_follow_its_type(shop: Admin) -> None:
    without = (await shop("GET", "/metrics")).text
    await shop.publish(FULL, [b"x"])
    loaded = (await shop("GET", "/metrics")).text
    summary = "# TYPE pulsar_topic_load_times summary\n"
    lines = r"pulsar_topic_load_times_count\{.*\} \d+\npulsar_topic_load_times_sum\{"
    assert re.search(rf"{summary}{lines}", without)
    assert re.search(rf'{summary}(pulsar_topic_load_times\{{.*quantile="[0-9.]+"\}} \S+\n){{7}}{lines}', loaded)
    assert "# TYPE pulsar_topic_load_times_sum" not in loaded


async def test_writes_are_shown_by_latency_and_by_size_of_the_entry(shop: Admin) -> None:
    assert ("pulsar_entry_size_count", TOPIC) not in await metrics(shop)
    await shop.publish(FULL, [b"x", b"x" * 300, b"x" * 300])
    found = await metrics(shop)
    sizes = {metric: value for (metric, labels), value in found.items() if "_entry_size_le" in metric and value}
    assert sizes == {"pulsar_entry_size_le_128": 1, "pulsar_entry_size_le_512": 2}
    latencies = [value for (metric, _), value in found.items() if re.search("write_latency_(le|overflow)", metric)]
    assert (len(latencies), sum(latencies)) == (10, 3)
    assert found["pulsar_storage_write_latency_count", TOPIC] == found["pulsar_entry_size_count", TOPIC] == 3
    assert found["pulsar_storage_write_latency_sum", TOPIC] > 10  # microseconds
    assert found["pulsar_storage_write_rate", TOPIC] > 0


async def test_the_publish_latency_of_the_broker_is_a_summary(shop: Admin) -> None:
    await shop.publish(FULL, [b"x"])
    text = (await shop("GET", "/metrics")).text
    assert re.search(
        r"# TYPE pulsar_broker_publish_latency summary\n"
        r'(pulsar_broker_publish_latency\{cluster="standalone",quantile="[0-9.]+"\} \S+\n){7}'
        r"pulsar_broker_publish_latency_count\{.*\} 1\npulsar_broker_publish_latency_sum\{",
        text,
    )


async def test_a_broker_that_is_stopping_is_not_healthy(shop: Admin) -> None:
    labels = f'{CLUSTER},broker="localhost",metric="broker_health"'
    assert (await metrics(shop))["pulsar_health", labels] == 1
    shop.broker.is_leaving = True
    assert (await metrics(shop))["pulsar_health", labels] == 0


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system has no /proc")
async def test_open_files_are_counted(shop: Admin, tmp_path: Path) -> None:
    before = (await metrics(shop))["process_open_fds", CLUSTER]
    files = [(tmp_path / str(number)).open("w") for number in range(50)]
    assert (await metrics(shop))["process_open_fds", CLUSTER] >= before + 40
    for file in files:
        file.close()


async def test_bytes_of_system_topics_are_shown_apart(shop: Admin) -> None:
    await shop.publish("persistent://pulsar/system/events", [b"x"])
    found = await metrics(shop)
    assert found["pulsar_broker_in_bytes_total", f'{CLUSTER},system_topic="false"'] == 0
    assert ("pulsar_broker_in_bytes_total", f'{CLUSTER},system_topic="true"') in found


@pytest.mark.parametrize("shop_with", [MetricsConfig(topics=False)], indirect=True)
async def test_without_topics_the_sums_of_each_namespace_are_shown(shop_with: Admin) -> None:
    for name in ("one", "two"):
        await shop_with("PUT", f"persistent/acme/shop/{name}/subscription/s")
        await shop_with.publish(f"persistent://acme/shop/{name}", [b"x"])
    found = await metrics(shop_with)
    assert found["pulsar_topics_count", NAMESPACE] == 3
    assert found["pulsar_msg_backlog", NAMESPACE] == 2
    assert found["pulsar_storage_size", NAMESPACE] > 0
    assert not any("topic=" in labels for metric, labels in found if metric.startswith("pulsar_storage"))


def test_the_sums_of_the_broker_are_those_of_all_topics() -> None:
    totals, topics = Totals(), 2 * ROWS_TOGETHER + 3
    for number in range(topics):
        totals.add(range(number, number + len(TOPIC_METRICS)), number, is_system=number == 7)
    assert totals.topics == topics
    assert [totals.of(metric) for metric in TOPIC_METRICS] == [
        sum(range(first, first + topics)) for first in range(len(TOPIC_METRICS))
    ]
    assert totals.sent == sum(range(topics))


def test_what_a_rate_held_back_is_shown_with_the_level_of_the_rate() -> None:
    found = list(of_throttled("l", {"dispatchThrottledMsgEventsByTopicLimit": 3}))
    assert found == [('l,reason="topic"', ("pulsar_subscription_dispatch_throttled_msg_events",), (3,))]


def test_producers_and_consumers_are_shown_on_request() -> None:
    config = BrokerConfig(server=PORT_ZERO, metrics=MetricsConfig(consumers=True, producers=True))
    with EmbeddedBroker(config=config) as broker:
        client = pulsar.Client(broker.service_url)
        client.subscribe("t", "s", consumer_name="c")
        client.create_producer("t", producer_name="p")
        with urllib.request.urlopen(f"{broker.http_url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        client.close()
    assert re.search(r'pulsar_consumer_available_permits\{.*subscription="s",consumer_name="c"\} \d+', text)
    assert re.search(r'pulsar_producer_msg_rate_in\{.*producer_name="p",producer_id="\d+"\} 0', text)


async def test_producers_and_consumers_are_left_out_unless_asked_for(shop: Admin) -> None:
    found = await metrics(shop)
    assert not any(metric.startswith(("pulsar_consumer_", "pulsar_producer_")) for metric, _ in found)


async def test_the_stats_of_a_system_topic_count_its_bytes_apart(shop: Admin) -> None:
    await asyncio.to_thread(_publish, shop.broker.service_url, "persistent://pulsar/system/events")
    shown = (await shop("GET", "persistent/pulsar/system/events/stats")).json
    assert shown["systemTopicBytesInCounter"] == shown["bytesInCounter"] > 0


def _publish(url: str, topic: str) -> None:
    client = pulsar.Client(url)
    client.create_producer(topic).send(b"x")
    client.close()


LABELED = MetricsConfig(property_labels=True, property_keys="owner")


@pytest.mark.parametrize("shop_with", [LABELED], indirect=True)
async def test_properties_of_a_topic_become_labels(shop_with: Admin) -> None:
    await shop_with("PUT", "persistent/acme/shop/plain/properties", {"owner": 'a"b', "team": "x", "zone": "1"})
    await shop_with("PUT", "persistent/acme/shop/other")
    await shop_with("PUT", "persistent/acme/shop/parted/partitions", {"partitions": 1, "properties": {"owner": "p"}})
    for name in ("other", "parted-partition-0"):
        await shop_with.publish(f"persistent://acme/shop/{name}", [b"x"])
    labels = f'{TOPIC},owner="a\\"b"'
    other = TOPIC.replace("plain", "other")
    parted = TOPIC.replace("plain", "parted-partition-0")
    found = await metrics(shop_with)
    for own in (labels, other, f'{parted},owner="p"'):
        assert ("pulsar_producers_count", own) in found
    assert ("pulsar_subscription_back_log", f'{labels},subscription="s"') in found

    keys = "namespaces/acme/shop/allowedTopicPropertyKeysForMetrics"
    await shop_with("POST", keys, ["zone", "team"])
    assert ("pulsar_producers_count", f'{TOPIC},zone="1",team="x"') in await metrics(shop_with)
    await shop_with("POST", keys, [])
    assert ("pulsar_producers_count", TOPIC) in await metrics(shop_with)
    await shop_with("DELETE", keys)
    assert ("pulsar_producers_count", labels) in await metrics(shop_with)


@pytest.mark.parametrize("shop_with", [MetricsConfig(property_keys="owner")], indirect=True)
async def test_labels_from_properties_are_off_by_default(shop_with: Admin) -> None:
    await shop_with("PUT", "persistent/acme/shop/plain/properties", {"owner": "a"})
    assert ("pulsar_producers_count", TOPIC) in await metrics(shop_with)


@pytest.mark.parametrize(("key", "why"), [("a-b", "must match the regex"), ("topic", "has a label of this name")])
async def test_a_property_that_cannot_be_a_label_is_refused(shop: Admin, key: str, why: str) -> None:
    refused = await shop("POST", "namespaces/acme/shop/allowedTopicPropertyKeysForMetrics", ["owner", key])
    assert refused.status == 400
    assert why in refused.reason
    option = f"allowedTopicPropertyKeysForMetrics=owner,{key}"
    with pytest.raises(InvalidConfiguration, match=f"-X {option}"):
        load_config(environment={}, options=[option])


AGES = MetricsConfig(backlog_age=True)


@pytest.mark.parametrize("shop_with", [AGES], indirect=True)
async def test_the_age_of_the_backlog_of_each_subscription_is_shown_if_configured(shop_with: Admin) -> None:
    age = "pulsar_subscription_storage_backlog_age_seconds", f'{TOPIC},subscription="s"'
    assert (await metrics(shop_with))[age] == -1
    hour_ago = shop_with.broker.clock.wall_ms() - 3_600_000
    await shop_with.publish(FULL, [b"x"], publish_time=hour_ago)
    assert 3_600 <= (await metrics(shop_with))[age] < 3_660
    await shop_with("POST", "persistent/acme/shop/plain/subscription/s/skip_all")
    assert (await metrics(shop_with))[age] == -1


async def test_the_age_of_backlogs_is_off_by_default(shop: Admin) -> None:
    await shop("PUT", "persistent/acme/shop/plain/subscription/s")
    assert "backlog_age_seconds" not in (await shop("GET", "/metrics")).text
