"""Runs that continue an earlier one after the broker trimmed what neither of them read."""

from contextlib import closing
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.admin.client import AdminClient
from pulsarctl.settings.settings import Settings
from tests.cli.transfer.moved_topics import Continued, export, failed, lake, rows, run


def publish(client: pulsar.Client, topic: str, count: int) -> pulsar.MessageId:
    producer = client.create_producer(topic, batching_enabled=False)
    last = [producer.send(b"%d" % number) for number in range(count)][-1]
    producer.close()
    return last


def consume(client: pulsar.Client, topic: str, through: pulsar.MessageId) -> None:
    consumer = client.subscribe(topic, "keeps")
    consumer.acknowledge_cumulative(through)
    consumer.close()


def lose(broker: EmbeddedBroker, client: pulsar.Client, topic: str) -> None:
    """Publishes 10 messages into the ledger that was read, then 50 into the next one, and trims both."""
    publish(client, topic, 10)
    with closing(AdminClient(Settings(web_url=broker.http_url))) as admin:
        admin.topics.unload(topic)
        consume(client, topic, publish(client, topic, 50))
        admin.topics.trim(topic)


@pytest.mark.parametrize("continued", [lake, export])
def test_messages_that_were_trimmed_between_two_runs_end_the_second(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path, continued: Continued
) -> None:
    client.subscribe(topic, "keeps").close()
    last = publish(client, topic, 100)
    command = continued(topic, tmp_path / "out")
    assert rows(pulsar_broker, *command) == 100
    lose(pulsar_broker, client, topic)
    code, text = failed(pulsar_broker, *command)
    gone = f"ledger {last.ledger_id()} of {topic} is gone, and it may have had entries after {last.ledger_id()}:99"
    assert (code, gone in text) == (1, True), text

    allowed = run(pulsar_broker, *command, "--allow-loss")
    assert (allowed.exit_code, allowed.stderr) == (0, f"warning: {gone}\n")
    assert '"gaps": 1' in allowed.stdout
    assert rows(pulsar_broker, *command) == 0, "the loss is behind the next run"


@pytest.mark.parametrize("continued", [lake, export])
def test_a_ledger_that_was_read_to_its_end_may_be_trimmed(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path, continued: Continued
) -> None:
    client.subscribe(topic, "keeps").close()
    last = publish(client, topic, 10)
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        admin.topics.unload(topic)
        client.subscribe(topic, "keeps").close()  # loads the topic, which begins a ledger
        command = continued(topic, tmp_path / "out")
        assert rows(pulsar_broker, *command) == 10
        consume(client, topic, last)
        admin.topics.trim(topic)
    assert rows(pulsar_broker, *command) == 0
    publish(client, topic, 5)
    assert rows(pulsar_broker, *command) == 5
