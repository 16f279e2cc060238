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
from pulsarctl.values.clock import now_ms
from tests.cli.transfer.moved_topics import by_key, command, failed, ops
from tests.support.condition import wait_until


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


@pytest.fixture
def target(pulsar_broker: EmbeddedBroker, topic: str) -> str:
    return f"{topic}-2"


def interrupted(broker: EmbeddedBroker, topic: str, target: str, start: str = "earliest") -> tuple[str, ...]:
    """A replay that ends after its first message, because its progress cannot be written; and what continues it."""
    rows = ReplayFiles.of(os.environ, broker.service_url, topic, target, start, "latest", "", "", "True").rows
    obstacle = rows.with_name(f".{rows.name}.{os.getpid()}")  # see `whole_file`
    obstacle.mkdir(parents=True)
    words = ("replay", topic, target, "--start", start, "--rate", "10")
    code, text = failed(broker, *words)
    assert (code, "cannot write" in text) == (1, True), text
    obstacle.rmdir()
    return words


def test_a_replay_of_the_last_hour_continues_with_the_same_messages_later(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(client, topic)
    words = interrupted(pulsar_broker, topic, target, "@-1h")
    for place in ("pulsarctl.commands.ops.replay", "pulsarctl.tables.bound_options"):
        monkeypatch.setattr(f"{place}.now_ms", lambda: now_ms() + 2 * 3_600_000)
    assert ops(pulsar_broker, *words)["sent"] == 6
    found = by_key(client, target)
    assert {key: list(dict.fromkeys(rows)) for key, rows in found.items()} == by_key(client, topic)


@pytest.mark.parametrize("which", ["source", "target"])
def test_a_replay_does_not_continue_after_a_topic_was_created_again(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, target: str, which: str
) -> None:
    publish(client, topic)
    words = interrupted(pulsar_broker, topic, target)
    name = topic if which == "source" else target
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        admin.topics.delete(name, force=True)
    publish(client, name)
    code, text = failed(pulsar_broker, *words)
    assert (code, f"{name} was deleted or created again since" in text, "--again" in text) == (6, True, True), text
    assert ops(pulsar_broker, *words, "--again")["sent"] == 6


def test_a_replay_does_not_continue_with_more_partitions(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, target: str
) -> None:
    publish(client, topic)
    pulsar_broker.create_partitioned_topic(target, 2)
    words = interrupted(pulsar_broker, topic, target)
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        admin.topics.update_partitioned(target, 3)
    code, text = failed(pulsar_broker, *words)
    assert (code, "it has 3 partitions, and had 2" in text) == (6, True), text


def test_again_forgets_an_interrupted_replay(pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    publish(client, topic)
    words = (pulsar_broker.service_url, topic, f"{topic}-2", "earliest", "latest", "", "", "True")
    files = ReplayFiles.of(os.environ, *words)
    files.begin(ReplayState.new(5000, "earliest", "latest"))
    files.stored(4)
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2")["sent"] == 2
    files.begin(ReplayState.new(5000, "earliest", "latest"))
    files.stored(4)
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", "--again")["sent"] == 6
    assert files.load() is None


@pytest.mark.parametrize("start", ["earliest", "@-1h"])
def test_an_interrupted_replay_ends_at_messages_that_were_trimmed(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, target: str, start: str
) -> None:
    client.subscribe(topic, "keeps").close()
    publish(client, topic)
    words = interrupted(pulsar_broker, topic, target, start)
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        admin.topics.unload(topic)
        for subscription in admin.topics.subscriptions(topic):
            admin.topics.clear_backlog(topic, subscription)
        admin.topics.trim(topic)
    code, text = failed(pulsar_broker, *words)
    assert (code, f"of {topic} are gone" in text) == (1, True), text
    code, text = failed(pulsar_broker, *words, "--allow-loss")
    assert (code, "cannot continue an interrupted replay with --allow-loss" in text) == (2, True), text
    assert ops(pulsar_broker, *words, "--allow-loss", "--again")["sent"] == 0
