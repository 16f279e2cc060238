"""`pulsarctl migrate` between this broker and a real Pulsar, in both directions."""

from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.migration.clusters import Cluster, messages, unread
from tests.official_client import connect
from tests.real_pulsar.java_pulsar import JavaPulsar

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(300)]

COUNT = 300


def fill(cluster: Cluster, tenant: str) -> str:
    """A topic of compressed batches and single messages, and a subscription with holes."""
    for words in (f"tenants create {tenant}", f"namespaces create {tenant}/ns", f"topics create {tenant}/ns/t"):
        cluster.run(words)
    cluster.run(f"namespaces set-message-ttl {tenant}/ns -ttl 1h")
    topic = f"persistent://{tenant}/ns/t"
    client = connect(cluster.service_url)
    holes = client.subscribe(topic, "holes", consumer_type=pulsar.ConsumerType.Shared)
    for batched in (False, True):
        producer = client.create_producer(
            topic, batching_enabled=batched, compression_type=pulsar.CompressionType.ZSTD, block_if_queue_full=True
        )
        for number in range(COUNT):
            producer.send_async(b"%d" % number, None, partition_key=str(number % 5), properties={"n": str(number)})
        producer.flush()
    for number in range(COUNT):
        message = holes.receive(10_000)
        if number % 50:
            holes.acknowledge(message)
    client.close()
    return topic


@pytest.mark.parametrize("direction", ["ours-real", "real-ours"])
def test_a_tenant_moves_with_its_messages_and_subscriptions(
    java_pulsar: JavaPulsar, tmp_path: Path, direction: str
) -> None:
    with EmbeddedBroker() as broker:
        sides = {"ours": Cluster(broker, tmp_path, "ours"), "real": Cluster(java_pulsar, tmp_path, "real")}
        for each in sides.values():
            each.save_context()
        old, new = direction.split("-")
        source, target = sides[old], sides[new]
        tenant = f"moved-{old}"
        topic = fill(source, tenant)
        try:
            kept, left = messages(source.service_url, topic), unread(source.service_url, topic, "holes")
            assert len(kept) == 2 * COUNT
            source.run(f"migrate {old} {new} --tenant {tenant} --switch --yes")
            assert messages(target.service_url, topic) == kept
            assert unread(target.service_url, topic, "holes") == left
            assert target.run(f"namespaces get-message-ttl {tenant}/ns -o json").strip() == "3600"
        finally:  # other tests compare all tenants
            sides["real"].cli("topics", "delete", topic, "--force", "--yes")
            sides["real"].cli("namespaces", "delete", f"{tenant}/ns")
            sides["real"].cli("tenants", "delete", tenant)
