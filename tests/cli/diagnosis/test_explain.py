"""`pulsarctl explain`: a real broker is brought into each state, and the finding says so."""

import json
import re
import time

import pulsar
import pytest
from pulsar import ConsumerType

from broker_core.testing import EmbeddedBroker
from pulsarctl.facts import topic as diagnosing
from pulsarctl.values.clock import now_ms
from tests.cli.diagnosis.findings import eventually, findings
from tests.cli.publishing import publish, publish_batch
from tests.support.condition import wait_until
from tests.support.runner import Cli

Shared, KeyShared = ConsumerType.Shared, ConsumerType.KeyShared


@pytest.fixture
def a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the broker reports is no longer that of a healthy flow."""
    monkeypatch.setattr(diagnosing, "now_ms", lambda: now_ms() + 60_000)


def waiting_subscription(client: pulsar.Client, topic: str, name: str = "billing") -> None:
    client.subscribe(topic, name).close()


def test_a_backlog_without_a_consumer(cli: Cli, client: pulsar.Client, topic: str) -> None:
    waiting_subscription(client, topic)
    publish(client, topic, "a", "b")
    assert findings(cli, "explain", topic, "-s", "billing") == {
        "no-consumer": {
            "code": "no-consumer",
            "severity": "problem",
            "certainty": "exact",
            "topic": f"persistent://public/default/{topic}",
            "subscription": "billing",
            "finding": "No consumer is connected, and 2 messages wait; the last acknowledgment is not reported.",
            "command": f"pulsarctl subscriptions peek public/default/{topic} billing",
        }
    }


def test_text_has_a_heading_and_at_most_80_columns_of_prose(cli: Cli, client: pulsar.Client, topic: str) -> None:
    waiting_subscription(client, topic)
    publish(client, topic, "a")
    assert cli("explain", topic, "-s", "billing").stdout == (
        f"public/default/{topic}, subscription billing\n"
        "  problem  No consumer is connected, and 1 message waits; the last\n"
        "           acknowledgment is not reported.\n"
        f"           pulsarctl subscriptions peek public/default/{topic} billing\n"
    )


def test_everything_is_acknowledged(cli: Cli, client: pulsar.Client, topic: str) -> None:
    waiting_subscription(client, topic)
    found = findings(cli, "explain", topic, "-s", "billing")
    assert found["no-backlog"]["severity"] == "ok"
    assert found["no-backlog"]["finding"] == "Everything is acknowledged."


@pytest.mark.usefixtures("a_minute_later")
def test_a_consumer_whose_application_does_not_receive(cli: Cli, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "billing", Shared, consumer_name="slow", receiver_queue_size=1)
    publish(client, topic, *"abcde")
    found = eventually(cli, "no-permits", "explain", topic, "-s", "billing")
    assert found["finding"] == (
        "Consumer 'slow' has no permits and holds 1 unacknowledged message: the application does not receive the "
        "messages in its queue."
    )
    assert found["severity"] == "problem"


def test_a_consumer_that_reached_the_limit_of_unacknowledged_messages(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    waiting_subscription(client, topic)
    assert cli("topics", "set-max-unacked-messages-per-consumer", topic, "-m", "2").exit_code == 0
    client.subscribe(topic, "billing", Shared, consumer_name="forgetful")
    publish(client, topic, *"abcdef")
    found = eventually(cli, "consumer-blocked", "explain", topic, "-s", "billing")
    assert found["finding"] == (
        "Consumer 'forgetful' is blocked until unacknowledged messages are acknowledged: the limit of a consumer is "
        "reached."
    )


def test_a_subscription_that_reached_the_limit_of_unacknowledged_messages(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    waiting_subscription(client, topic)
    assert cli("topics", "set-max-unacked-messages-per-subscription", topic, "-m", "2").exit_code == 0
    client.subscribe(topic, "billing", Shared, consumer_name="forgetful")
    publish(client, topic, *"abcdef")
    found = eventually(cli, "subscription-blocked", "explain", topic, "-s", "billing")
    assert re.fullmatch(
        r"Delivery is blocked until consumers acknowledge: \d+ messages of the subscription are unacknowledged, which "
        r"is its limit\.",
        found["finding"],
    )


def test_everything_is_delayed_until_a_time(cli: Cli, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "billing", Shared)
    due_ms = (int(time.time()) + 3600) * 1000
    publish(client, topic, "a", "b", deliver_at=due_ms)
    found = eventually(cli, "delayed", "explain", topic, "-s", "billing")
    due = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(due_ms / 1000))
    assert found["finding"] == f"Every entry of the backlog is delayed; the oldest one is due on {due}."


def test_a_key_waits_for_an_unacknowledged_message_of_another_consumer(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    first = client.subscribe(topic, "billing", KeyShared, consumer_name="first")
    producer = client.create_producer(topic, batching_enabled=False)
    for key in "abcdefgh":
        producer.send(b"1", partition_key=key)
        first.receive(5000)
    second = client.subscribe(topic, "billing", KeyShared, consumer_name="second")
    for key in "abcdefgh":
        producer.send(b"2", partition_key=key)
    found = eventually(cli, "key-stuck", "explain", topic, "-s", "billing")
    assert re.fullmatch(
        r"Messages of \d key hash(es)? wait until consumer 'first' acknowledges \d earlier messages? with the same "
        r"hash(es)? \(the oldest one has the key 'a'\)\.",
        found["finding"],
    )
    second.close()


def test_delivery_held_back_by_the_rate_of_the_subscription(cli: Cli, client: pulsar.Client, topic: str) -> None:
    waiting_subscription(client, topic)
    publish(client, topic, *"abcdefghij")
    rate = ("-md", "1", "-dt", "60")
    assert cli("topics", "set-subscription-dispatch-rate", topic, *rate).exit_code == 0
    client.subscribe(topic, "billing", Shared)
    found = eventually(cli, "rate-limited", "explain", topic, "-s", "billing")
    assert found["finding"].startswith("The dispatch rate of the subscription ")
    assert found["command"].endswith(f"get-subscription-dispatch-rate public/default/{topic} -ap")


@pytest.mark.usefixtures("a_minute_later")
def test_delivered_and_not_acknowledged(cli: Cli, client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "billing", Shared, consumer_name="forgetful")
    first, _ = publish(client, topic, "a", "b")
    consumer.receive(5000)
    found = eventually(cli, "unacknowledged", "explain", topic, "-s", "billing")
    assert found["finding"] == (
        "2 messages of the backlog are delivered and not acknowledged by consumer 'forgetful'; the oldest one is "
        f"{first.ledger_id()}:{first.entry_id()}, for 1m."
    )


def test_messages_on_their_way_to_an_acknowledgment_are_no_warning(cli: Cli, client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "billing", Shared, receiver_queue_size=3)
    publish(client, topic, "a", "b", "c")
    consumer.receive(5000)
    consumer.acknowledge(consumer.receive(5000))  # a hole, and no permits
    found = eventually(cli, "delivering", "explain", topic, "-s", "billing")
    wait_until(lambda: set(findings(cli, "explain", topic, "-s", "billing")) == {"delivering"}, 5)
    assert found["severity"] == "ok"
    assert re.fullmatch(
        r"[23] messages of the backlog are delivered and not acknowledged yet; [\d.]+ messages/s are delivered\.",
        found["finding"],
    )


def test_a_batch_counts_its_messages(cli: Cli, client: pulsar.Client, topic: str) -> None:
    waiting_subscription(client, topic)
    publish_batch(client, topic, *"abcde")
    assert findings(cli, "explain", topic, "-s", "billing")["no-consumer"]["finding"].startswith(
        "No consumer is connected, and 5 messages wait;"
    )
    assert cli("check", "backlog", topic).stdout.endswith("/billing has 5 messages | 'billing'=5;;;0\n")
    assert '"backlog": 5' in cli("top", "--once", "-o", "json").stdout


@pytest.mark.usefixtures("a_minute_later")
def test_a_hole_in_the_acknowledgments(cli: Cli, client: pulsar.Client, topic: str) -> None:
    consumer = client.subscribe(topic, "billing", Shared, consumer_name="forgetful")
    first, *_ = publish(client, topic, "a", "b", "c")
    consumer.receive(5000)
    for _message in "bc":
        consumer.acknowledge(consumer.receive(5000))
    found = eventually(cli, "ack-hole", "explain", topic, "-s", "billing")
    assert found["finding"] == (
        f"The message {first.ledger_id()}:{first.entry_id()} is not acknowledged, while a later message is; the topic "
        "cannot delete anything after it."
    )


def test_expired_messages(cli: Cli, client: pulsar.Client, topic: str) -> None:
    waiting_subscription(client, topic)
    *_, last = publish(client, topic, "a", "b")
    position = f"{last.ledger_id()}:{last.entry_id()}"
    assert cli("topics", "expire-messages", topic, "-s", "billing", "-p", position).exit_code == 0
    found = eventually(cli, "expired", "explain", topic, "-s", "billing")
    assert re.fullmatch(r"2 messages expired without being acknowledged, last \d+s ago\.", found["finding"])


def test_a_terminated_topic(cli: Cli, client: pulsar.Client, topic: str) -> None:
    (last,) = publish(client, topic, "a")
    assert cli("topics", "terminate", topic).exit_code == 0
    found = findings(cli, "explain", topic)
    assert found["terminated"]["finding"] == (
        f"The topic is terminated: it accepts no messages after {last.ledger_id()}:{last.entry_id()}."
    )
    assert "no-producer" not in found


def test_a_topic_that_was_migrated_names_the_scalable_topic_until_it_is_gone(
    cli: Cli, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    assert cli("scalable-topics", "migrate", topic).exit_code == 0
    new = f"topic://public/default/{topic}"
    found = findings(cli, "explain", topic)
    assert found["migrated"]["finding"] == (
        f"The topic was migrated to a scalable topic: use {new}, because this one accepts no messages."
    )
    assert found["migrated"]["command"] == f"pulsarctl scalable-topics describe {new}"
    assert "terminated" not in found
    refused = cli("produce", topic, "-m", "a")
    assert (refused.exit_code, "'pulsarctl explain TOPIC'" in refused.stderr) == (6, True)
    pulsar_broker.call(pulsar_broker.broker.scalable.collection.collect_all())
    gone = cli("explain", topic)
    assert (gone.exit_code, new in gone.stderr) == (3, True)


@pytest.mark.parametrize(
    ("policy", "severity", "effect"),
    [
        ("producer_exception", "problem", "producers are refused with an exception"),
        ("producer_request_hold", "problem", "producers wait"),
        ("consumer_backlog_eviction", "warning", "the oldest messages are dropped from the backlog"),
    ],
)
def test_a_backlog_over_its_quota(
    cli: Cli, client: pulsar.Client, topic: str, policy: str, severity: str, effect: str
) -> None:
    waiting_subscription(client, topic)
    publish(client, topic, "x" * 3000)
    assert cli("topics", "set-backlog-quota", topic, "-l", "1K", "-p", policy).exit_code == 0
    found = eventually(cli, "over-quota", "explain", topic)
    assert found["severity"] == severity
    assert re.fullmatch(
        rf"The size of the backlog is over its quota \([\d.]+ KiB of 1\.0 KiB\): {effect}\.", found["finding"]
    )


def test_a_producer_held_back_by_the_publish_rate(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    assert cli("topics", "set-publish-rate", topic, "-m", "1").exit_code == 0
    producer = client.create_producer(topic, batching_enabled=False)
    for _message in range(3):
        producer.send(b"a")
    found = eventually(cli, "publish-rate-limited", "explain", topic)
    assert found["finding"].startswith("The publish rate has held producers back ")


def test_the_limit_of_producers(cli: Cli, client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    assert cli("topics", "set-max-producers", topic, "-p", "1").exit_code == 0
    found = eventually(cli, "too-many-producers", "explain", topic)
    assert found["finding"] == "1 producer is connected, which is the limit: others are refused."
    producer.close()


def test_enforced_schemas_are_likely_to_refuse_producers(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    assert "schema-enforced" not in findings(cli, "explain", topic)
    assert cli("topics", "set-schema-validation-enforced", topic, "--enable").exit_code == 0
    found = eventually(cli, "schema-enforced", "explain", topic)
    assert found["certainty"] == "likely"
    assert found["finding"] == ("Schemas are enforced: if the topic has a schema, producers without one are refused.")


def test_each_partition_is_explained(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("topics", "create-partitioned-topic", topic, "-p", "2").exit_code == 0
    client.subscribe(topic, "billing").close()
    result = cli("explain", topic, "-s", "billing", "-o", "json")
    assert [one["topic"].rpartition("-")[2] for one in json.loads(result.stdout)] == ["0", "1"]


def test_a_subscription_that_does_not_exist(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, "a")
    result = cli("explain", topic, "-s", "absent")
    assert result.exit_code == 3
    assert f"there is no subscription 'absent' on {topic}" in result.stderr
