"""`ops replay` on the command line."""

import os
import signal
import subprocess
from contextlib import closing

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.admin.client import AdminClient
from pulsarctl.settings.settings import Settings
from pulsarctl.transfer.replay_state import ReplayFiles, ReplayState
from tests.condition import wait_until
from tests.transfer.moved_topics import by_key, command, failed, ops


def publish(client: pulsar.Client, topic: str) -> list[pulsar.MessageId]:
    producer = client.create_producer(topic)
    return [producer.send(f"v{n}".encode(), {"n": str(n)}, partition_key=f"k{n % 2}") for n in range(6)]


def test_a_replay_keeps_keys_properties_and_order(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic)
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", "--rate", "1000")["sent"] == 6
    assert by_key(client, f"{topic}-2") == by_key(client, topic)


def test_only_unacknowledged_messages_of_one_key_are_replayed(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    consumer = client.subscribe(topic, "s")
    publish(client, topic)
    consumer.acknowledge(consumer.receive(20_000))
    consumer.close()
    chosen = ("-s", "s", "-k", "k0")
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", *chosen, "--dry-run")["wouldSend"] == 2
    ops(pulsar_broker, "replay", topic, f"{topic}-2", *chosen)
    assert [row[0] for row in by_key(client, f"{topic}-2")["k0"]] == [b"v2", b"v4"]


def test_a_topic_is_not_replayed_into_itself(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    code, text = failed(pulsar_broker, "replay", topic, topic)
    assert (code, "into itself" in text) == (2, True)


def kill_replay_at(broker: EmbeddedBroker, admin: AdminClient, words: tuple[str, ...], least: int) -> None:
    """Kills a replay when its target has `least` messages."""
    with subprocess.Popen(command(broker, "replay", *words)) as running:
        try:
            wait_until(lambda: admin.topics.stats(words[1])["msgInCounter"] >= least, 60)
        finally:
            running.send_signal(signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("deduplicates", [True, False])
def test_a_killed_replay_continues(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, deduplicates: bool
) -> None:
    target, count, rate = f"{topic}-2", 700, 700
    consumer = client.subscribe(topic, "s")
    producer = client.create_producer(topic, batching_enabled=True, batching_max_messages=10, block_if_queue_full=True)
    for number in range(count):
        producer.send_async(f"v{number}".encode(), None, partition_key=f"k{number % 5}")
    producer.flush()
    words = (topic, target, "-s", "s", "--rate", str(rate))
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        admin.topics.create(target)
        admin.topics.set_policy(target, "deduplicationEnabled", deduplicates)
        for least in (150, 350) if deduplicates else (250,):
            kill_replay_at(pulsar_broker, admin, words, least)
    producer.send(b"too late", partition_key="k0")  # neither new messages
    consumer.acknowledge(consumer.receive(20_000))  # nor acknowledgments change what is replayed
    done = ops(pulsar_broker, "replay", *words)
    assert (done["sent"] + done["storedBefore"], done["storedBefore"] >= 100) == (count, True)
    found, wanted = by_key(client, target), by_key(client, topic)
    wanted["k0"].pop()
    if deduplicates:
        assert found == wanted
    else:  # the last tenth of a second before the kill may come again
        assert {key: list(dict.fromkeys(rows)) for key, rows in found.items()} == wanted
        assert sum(map(len, found.values())) <= count + rate // 10
    assert ops(pulsar_broker, "replay", *words)["storedBefore"] == 0


def test_again_forgets_an_interrupted_replay(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic)
    words = (pulsar_broker.service_url, topic, f"{topic}-2", "earliest", "latest", "", "", "True")
    files = ReplayFiles.of(os.environ, *words)
    files.begin(ReplayState.new(5000, {}))
    files.stored(4)
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2")["sent"] == 2
    files.begin(ReplayState.new(5000, {}))
    files.stored(4)
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", "--again")["sent"] == 6
    assert files.load() is None
