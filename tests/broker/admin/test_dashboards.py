"""The metrics that the dashboards for Apache Pulsar show: served, or without a meaning on this broker."""

import re
from pathlib import Path
from urllib.request import urlopen

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker

TOPIC = """
subscriptions_count producers_count consumers_count rate_in rate_out throughput_in throughput_out average_msg_size
in_messages_total in_bytes_total out_messages_total out_bytes_total msg_backlog
storage_size storage_logical_size storage_offloaded_size storage_backlog_size storage_backlog_quota_limit
storage_backlog_quota_limit_time storage_write_rate storage_read_rate publish_rate_limit_times
storage_write_latency_le_0_5 storage_write_latency_le_1 storage_write_latency_le_5 storage_write_latency_le_10
storage_write_latency_le_20 storage_write_latency_le_50 storage_write_latency_le_100 storage_write_latency_le_200
storage_write_latency_le_1000 storage_write_latency_overflow storage_write_latency_count storage_write_latency_sum
entry_size_le_128 entry_size_le_512 entry_size_le_1_kb entry_size_le_2_kb entry_size_le_4_kb entry_size_le_16_kb
entry_size_le_100_kb entry_size_le_1_mb entry_size_le_overflow entry_size_count entry_size_sum
"""
SUBSCRIPTION = """
back_log back_log_no_delayed delayed unacked_messages blocked_on_unacked_messages consumers_count msg_rate_out
msg_throughput_out msg_rate_redeliver msg_ack_rate msg_rate_expired total_msg_expired last_expire_timestamp
last_acked_timestamp last_consumed_timestamp last_consumed_flow_timestamp last_mark_delete_advanced_timestamp
msg_drop_rate
"""
BROKER = """
version_info health active_connections connection_created_total_count connection_create_success_count
connection_create_fail_count connection_closed_total_count topic_load_times topic_load_times_count topic_load_times_sum
topic_load_failed_count topic_load_time_median_ms topic_load_time_75percentile_ms topic_load_time_95percentile_ms
topic_load_time_99_percentile_ms topic_load_time_99_9_percentile_ms topic_load_time_99_99_percentile_ms
broker_topics_count broker_subscriptions_count broker_producers_count broker_consumers_count broker_rate_in
broker_rate_out broker_throughput_in broker_throughput_out broker_storage_size broker_storage_logical_size
broker_storage_write_rate broker_storage_read_rate broker_msg_backlog broker_publish_latency
broker_publish_latency_count broker_publish_latency_sum broker_lookup_answers_total broker_lookup_failures_total
broker_lookup_redirects_total broker_lookup_pending_requests broker_topic_load_pending_requests
broker_throttled_connections ml_cache_used_size ml_cache_evictions ml_cache_hits_rate ml_cache_misses_rate
ml_cache_hits_throughput ml_cache_misses_throughput
"""
PROCESS = "process_cpu_seconds_total process_start_time_seconds"
FROM_PROC = "process_resident_memory_bytes process_open_fds" if Path("/proc/self/fd").exists() else ""
SERVED = [
    *(f"pulsar_{name}" for name in (TOPIC + BROKER).split()),
    *(f"pulsar_subscription_{name}" for name in SUBSCRIPTION.split()),
    *PROCESS.split(),
    *FROM_PROC.split(),
]
WITHOUT_MEANING = {
    "bookie_": "there is no BookKeeper",
    "bookkeeper_": "there is no BookKeeper",
    "zookeeper_": "there is no ZooKeeper",
    "pulsar_metadata_store_": "there is no metadata store in another process",
    "pulsar_storage_ledger_write_latency_": "a write is one step, without bookies",
    "pulsar_ml_AddEntry": "the metrics of topics repeat it",
    "pulsar_ml_cache_pool_": "there are no pools of direct memory",
    "jvm_": "there is no JVM",
    "jetty_": "there is no Jetty",
    "caffeine_": "there are no Java caches",
    "pulsar_lb_": "there is one broker, so that no load moves",
    "pulsar_txn_append_log_": "the journal is the log of all",
    "pulsar_txn_tb_client_": "no participant is asked",
    "pulsar_txn_tp_": "pending acknowledgments have no log of their own",
    "pulsar_txn_tc_bufferedwriter_": "the journal is the log of all",
    "pulsar_txn_pending_ack_store_": "pending acknowledgments have no log of their own",
    "pulsar_function_": "there are no functions",
    "pulsar_source_": "there are no connectors",
    "pulsar_sink_": "there are no connectors",
    "pulsar_subscription_filter_": "there are no entry filters",
}


@pytest.fixture(scope="module")
def names() -> set[str]:
    """The names of the metrics of a broker with a topic in use, and with a non-persistent one."""
    with EmbeddedBroker() as broker:
        client = pulsar.Client(broker.service_url)
        for topic in "persistent://public/default/kept", "non-persistent://public/default/fleeting":
            client.subscribe(topic, "s")
            client.create_producer(topic).send(b"x")
        with urlopen(f"{broker.http_url}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        client.close()
    return set(re.findall(r"^(\w+)\{", text, re.MULTILINE))


def test_each_metric_of_the_dashboards_that_has_a_meaning_is_served(names: set[str]) -> None:
    assert sorted(set(SERVED) - names) == []


def test_no_metric_without_a_meaning_is_served(names: set[str]) -> None:
    assert [name for name in names if name.startswith(tuple(WITHOUT_MEANING))] == []
