"""`pulsarctl migrate` between this broker and a real Pulsar, in both directions."""

from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.migration.clusters import Cluster, messages, unread
from tests.long.real_pulsar.java_pulsar import JavaPulsar
from tests.support.clusters import admin
from tests.support.official_client import connect

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


def test_consumers_that_would_skip_messages_are_not_sent_to_smaller_ids(
    java_pulsar: JavaPulsar, tmp_path: Path
) -> None:
    with EmbeddedBroker() as broker:
        source, target = Cluster(broker, tmp_path, "ours"), Cluster(java_pulsar, tmp_path, "real")
        for each in (source, target):
            each.save_context()
        topic = "persistent://public/default/skipping"
        use_great_ids(source, topic)
        client = connect(source.service_url)
        consumer, producer = client.subscribe(topic, "s"), client.create_producer(topic)
        producer.send(b"0")
        producer.send(b"1")
        consumer.acknowledge_cumulative(consumer.receive(10_000))
        try:
            refused = source.cli(*f"migrate ours real --topic {topic} --switch --yes".split())
            assert refused.exit_code == 6
            assert (
                f"cannot send the consumers of {topic} to real: those of subscription s may acknowledge cumulatively, "
                "and would skip messages of the copy, whose IDs are smaller\n"
                "hint: stop these consumers, run the same command again, and start them again\n"
            ) in refused.stderr
            producer.send(b"2")  # the source is in use
            consumer.close()
            source.run(f"migrate ours real --topic {topic} --switch --yes")
            again = client.subscribe(topic, "s")  # which goes to the target
            assert [again.receive(10_000).data() for _ in range(2)] == [b"1", b"2"]
        finally:
            client.close()
            target.cli("topics", "delete", topic, "--force", "--yes")


def use_great_ids(source: Cluster, topic: str) -> None:
    """The source's next ledger ID is far above those of the target."""
    source.run(f"topics create {topic}")
    admin(source.http_url, "POST", f"{topic.replace('://', '/')}/migration/ledger", {"above": 1_000_000})
