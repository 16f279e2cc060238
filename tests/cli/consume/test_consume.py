"""`consume` with an embedded broker."""

import json
import re
import time

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.cli.consume.consumed import consumed
from tests.cli.publishing import publish
from tests.support.condition import wait_until
from tests.support.runner import Cli, Outcome


def subscriptions(broker: EmbeddedBroker, topic: str) -> list[str]:
    return list(broker.call(broker.broker.topics.get(parse_topic(topic))).subscriptions)


def test_a_message_is_printed_as_pulsar_client_prints_it(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"first", b"second", partition_key="k", properties={"b": "2", "a": "1"})
    outcome = cli("consume", topic, "-s", "s", "-p", "Earliest")
    assert re.sub(r"\d{13}", "TIME", outcome.stdout) == (
        "----- got message -----\npublishTime:[TIME], eventTime:[0], key:[k], properties:[a=1, b=2], content:first\n"
    )
    assert (outcome.exit_code, outcome.stderr) == (0, "1 messages successfully consumed\n")


def test_printed_messages_are_acknowledged(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a", b"b", b"c")
    words = ("consume", topic, "-s", "s", "-p", "Earliest", "-F", "%v\\n")
    assert cli(*words, "-n", "2") == consumed("a\nb\n", 2)
    assert cli(*words, "-e") == consumed("c\n", 1)


def test_the_end_is_reached_if_it_is_already_acknowledged(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    words = ("consume", topic, "-s", "s", "-p", "Earliest", "-e", "-F", "%v\\n")
    assert cli(*words) == consumed("a\n", 1)
    again = cli(*words)
    assert (again.exit_code, again.stdout) == (0, "")
    assert again.stderr.endswith("0 messages successfully consumed\n")  # a slow answer is announced before


def test_an_empty_topic_ends_at_once(cli: Cli, topic: str) -> None:
    assert cli("consume", topic, "-p", "Earliest", "-e") == consumed("", 0)


def test_a_new_subscription_starts_at_the_end_and_says_so(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    assert cli("consume", topic, "-e") == Outcome(
        0,
        "",
        "0 messages successfully consumed\n"
        "a new subscription starts after the last message; use -p Earliest to start at the first\n",
    )


def test_a_subscription_without_backlog_is_not_called_new(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    assert cli("consume", topic, "-s", "s", "-p", "Earliest", "-F", "%v\\n") == consumed("a\n", 1)
    assert cli("consume", topic, "-s", "s", "-e") == consumed("", 0)


def test_messages_that_are_not_acknowledged_are_redelivered(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    words = ("consume", topic, "-s", "s", "-p", "Earliest", "-e", "-F", "%v\\n")
    assert cli(*words, "--no-ack") == consumed("a\n", 1, "received and not acknowledged")
    assert cli(*words) == consumed("a\n", 1)


def test_the_idle_timeout_ends_consuming(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    words = ("consume", topic, "-p", "Earliest", "--idle-timeout", "100ms", "-F", "%v\\n")
    assert cli(*words) == consumed("a\n", 1)


def test_an_unnamed_subscription_is_deleted_at_the_end(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    publish(client, topic, b"a")
    cli("consume", topic, "-p", "Earliest")
    assert subscriptions(pulsar_broker, topic) == []


def test_a_named_subscription_is_kept(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    publish(client, topic, b"a")
    cli("consume", topic, "-s", "kept", "-p", "Earliest")
    assert subscriptions(pulsar_broker, topic) == ["kept"]


def test_every_partition_is_read_to_its_end(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 4)  # the last one is empty
    for partition in range(3):
        publish(client, f"{topic}-partition-{partition}", *[b"%d-%d" % (partition, n) for n in range(10)])
    outcome = cli("consume", topic, "-s", "s", "-p", "Earliest", "-e", "-F", "%p %v\\n")
    lines = outcome.stdout.splitlines()
    assert sorted(lines) == sorted(f"{partition} {partition}-{n}" for partition in range(3) for n in range(10))
    for partition in range(3):
        assert [line for line in lines if line.startswith(str(partition))] == [
            f"{partition} {partition}-{n}" for n in range(10)
        ]


def test_one_partition_can_be_chosen(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    publish(client, f"{topic}-partition-0", b"zero")
    publish(client, f"{topic}-partition-1", b"one")
    assert cli("consume", topic, "-p", "Earliest", "-e", "--partition", "1", "-F", "%v\\n") == consumed("one\n", 1)


def test_a_subscription_moves_to_a_message(cli: Cli, client: pulsar.Client, topic: str) -> None:
    ids = publish(client, topic, b"a", b"b", b"c")
    cli("consume", topic, "-s", "s", "-p", "Earliest", "-e")
    place = f"{ids[1].ledger_id()}:{ids[1].entry_id()}"
    assert cli("consume", topic, "-s", "s", "--from", place, "-e", "-F", "%v\\n") == consumed("b\nc\n", 2)


def test_a_subscription_moves_to_its_first_message(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a", b"b")
    cli("consume", topic, "-s", "s", "-p", "Earliest", "-e")
    assert cli("consume", topic, "-s", "s", "--from", "earliest", "-e", "-F", "%v\\n") == consumed("a\nb\n", 2)


def test_a_subscription_moves_to_a_time(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a", b"b")
    cli("consume", topic, "-s", "s", "-p", "Earliest", "-e")
    assert cli("consume", topic, "-s", "s", "--from", "@-1h", "-e", "-F", "%v\\n").stdout == "a\nb\n"


def test_the_options_of_pulsar_client_choose_the_messages_of_a_time(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    producer = client.create_producer(topic)
    for value in (b"a", b"b", b"c"):
        producer.send(value)
        wait_for_next_millisecond()
    everything = cli("consume", topic, "-p", "Earliest", "-e", "-o", "jsonl").stdout
    times = [json.loads(line)["publishTime"] for line in everything.splitlines()]
    for start, end in (("--start-timestamp", "--end-timestamp"), ("-stp", "-etp")):
        words = ("consume", topic, start, str(times[1]), end, str(times[1]), "-F", "%v\\n")
        assert cli(*words).stdout == "b\n"


def wait_for_next_millisecond() -> None:
    now_ms = time.time_ns() // 1_000_000
    wait_until(lambda: time.time_ns() // 1_000_000 > now_ms, 10)


def test_consuming_stops_after_a_given_message(cli: Cli, client: pulsar.Client, topic: str) -> None:
    ids = publish(client, topic, b"a", b"b", b"c")
    place = f"{ids[1].ledger_id()}:{ids[1].entry_id()}"
    words = ("consume", topic, "-s", "s", "-p", "Earliest", "-F", "%v\\n")
    assert cli(*words, "--to", place) == consumed("a\nb\n", 2)
    assert cli(*words, "-e") == consumed("c\n", 1)


def test_json_keeps_every_byte(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"\xff\x00", None, b"", "text 🎈".encode())
    outcome = cli("consume", topic, "-p", "Earliest", "-e", "-o", "jsonl")
    records = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [record.get("value") for record in records] == [None, None, "", "text 🎈"]
    assert records[0]["valueBase64"] == "/wA="
    assert [record["size"] for record in records] == [2, 0, 0, 9]


def test_hidden_content_prints_only_the_count(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a", b"b")
    assert cli("consume", topic, "-p", "Earliest", "-e", "--hide-content") == consumed("", 2)


def test_unicode_is_unchanged(cli: Cli, client: pulsar.Client) -> None:
    topic, subscription, key, name, value = "größe 50% ☂", "leser %41 ü 🚀", "schlüssel 100%", "eigen schaft", "Wört"
    publish(client, topic, value.encode(), partition_key=key, properties={name: value})
    words = ("consume", topic, "-s", subscription, "-p", "Earliest")
    assert cli(*words, "-e", "-F", "%t %k %h{%k=%v} %v\\n") == consumed(
        f"persistent://public/default/{topic} {key} {name}={value} {value}\n", 1
    )
    silent = cli(*words, "-e", "--quiet")  # a slow answer would have a notice
    assert silent == Outcome(0, "", ""), "the backlog is asked for by the same name"


def test_a_busy_subscription_is_a_conflict(cli: Cli, client: pulsar.Client, topic: str) -> None:
    holder = client.subscribe(topic, "s")
    outcome = cli("consume", topic, "-s", "s")
    holder.close()
    assert outcome.exit_code == 6
    assert outcome.stderr == (
        f"error: cannot subscribe to persistent://public/default/{topic} as 's': "
        "the subscription has another consumer, and its type allows only one\n"
    )


def test_a_missing_broker_exits_with_5(cli_alone: Cli) -> None:
    outcome = cli_alone("consume", "t", "--url", "pulsar://localhost:1")
    assert (outcome.exit_code, outcome.stdout) == (5, "")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("-t", "Odd"), "unknown subscription type 'Odd'"),
        (("-p", "Middle"), "unknown position 'Middle'"),
        (("-m", "NonDurable"), "cannot subscribe in mode NonDurable"),
        (("--from", "-5"), "cannot move a subscription to this position"),
        (("--to", "+5"), "cannot stop consuming at this position"),
        (("-F", "%y"), "cannot print %y: the client hides"),
        (("-o", "yaml"), "cannot print messages as yaml"),
        (("--regex", "-e"), "cannot use a start or an end with --regex"),
        (("--regex", "--partition", "1"), "cannot combine --regex and --partition"),
    ],
)
def test_an_invalid_command_line_is_refused(cli: Cli, words: tuple[str, ...], problem: str) -> None:
    outcome = cli("consume", "t", *words)
    assert outcome.exit_code == 2
    assert problem in outcome.stderr


def test_a_message_id_needs_a_partition(cli: Cli, topic: str, pulsar_broker: EmbeddedBroker) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    outcome = cli("consume", topic, "--from", "1:0")
    assert outcome.exit_code == 2
    assert f"cannot use a message ID with all 2 partitions of persistent://public/default/{topic}" in outcome.stderr


def test_messages_that_compaction_removed_from_a_batch_are_not_printed(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=1000)
    for key, value in (("a", b"1"), ("b", b"2"), ("a", b"3"), ("c", b"4"), ("c", b"")):
        producer.send_async(value, None, partition_key=key)
    producer.flush()
    assert cli("topics", "compact", topic, "--wait").exit_code == 0
    words = ("consume", topic, "-s", "s", "-p", "Earliest", "--compacted", "-e", "-F", "%k=%v\\n")
    assert cli(*words).stdout == cli("read", topic, "-m", "earliest", "--compacted", "-e", "-F", "%k=%v\\n").stdout
    assert cli(*words) == consumed("", 0), "what was not printed is acknowledged, too"
