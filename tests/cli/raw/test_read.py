"""`read` with an embedded broker."""

import json

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from tests.support.runner import Cli, Outcome


@pytest.fixture
def five(client: pulsar.Client, topic: str) -> list[str]:
    """Publishes the messages 0 to 4; returns their IDs."""
    producer = client.create_producer(topic)
    ids = [producer.send(b"%d" % number) for number in range(5)]
    producer.close()
    return [f"{found.ledger_id()}:{found.entry_id()}" for found in ids]


def read(stdout: str, count: int) -> Outcome:
    return Outcome(0, stdout, f"{count} messages successfully read\n")


def values(*numbers: int) -> Outcome:
    return read("".join(f"{number}\n" for number in numbers), len(numbers))


def test_a_topic_is_read_from_the_first_message_to_the_last(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-m", "earliest", "-e", "-F", "%v\\n") == values(0, 1, 2, 3, 4)


def test_one_message_is_read_by_default(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-m", "earliest", "-F", "%v\\n") == values(0)


def test_reading_leaves_no_subscription(cli: Cli, topic: str, five: list[str], pulsar_broker: EmbeddedBroker) -> None:
    cli("read", topic, "-m", "earliest", "-e")
    assert not pulsar_broker.call(pulsar_broker.broker.topics.get(parse_topic(topic))).subscriptions


def test_reading_starts_after_a_message_as_in_pulsar_client(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-m", five[2], "-e", "-F", "%v\\n") == values(3, 4)


def test_reading_can_include_the_start_message(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-m", five[2], "-i", "-e", "-F", "%v\\n") == values(2, 3, 4)
    assert cli("read", topic, "--from", five[2], "-e", "-F", "%v\\n") == values(2, 3, 4)


def test_reading_starts_at_an_index(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "--from", "index:3", "-e", "-F", "%v\\n") == values(3, 4)
    assert cli("read", topic, "--from", "index:0", "-e", "-F", "%v\\n") == values(0, 1, 2, 3, 4)


def test_reading_starts_at_an_index_within_a_batch(cli: Cli, topic: str) -> None:
    cli("produce", topic, stdin="a\nb\nc\n")
    assert cli("read", topic, "--from", "index:1", "-e", "-F", "%v\\n") == read("b\nc\n", 2)


def test_reading_starts_at_an_index_of_each_partition(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    for partition, count in enumerate((1, 3)):
        producer = client.create_producer(f"{topic}-partition-{partition}")
        for number in range(count):
            producer.send(b"%d-%d" % (partition, number))
        producer.close()
    assert cli("read", topic, "--from", "index:1", "-e", "-F", "%v\\n") == read("1-1\n1-2\n", 2)
    one = cli("read", f"{topic}-partition-1", "--from", "index:2", "-e", "-F", "%v\\n")
    assert one == read("1-2\n", 1)


def test_reading_ends_at_a_message(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-m", "earliest", "--to", five[2], "-F", "%v\\n") == values(0, 1, 2)


def test_reading_starts_at_a_time(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "--from", "@-1h", "-e", "-F", "%v\\n").stdout == values(0, 1, 2, 3, 4).stdout


def test_reading_ends_at_a_time(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-m", "earliest", "--to", "@-1h", "-F", "%v\\n").stdout == ""


def test_the_last_messages_are_read(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "--from", "-2", "-e", "-F", "%v\\n") == values(3, 4)
    assert cli("read", topic, "--from", "-9", "-e", "-F", "%v\\n") == values(0, 1, 2, 3, 4)


def test_the_last_messages_of_each_partition_are_read(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    for partition in range(2):
        producer = client.create_producer(f"{topic}-partition-{partition}")
        for number in range(3):
            producer.send(b"%d-%d" % (partition, number))
        producer.close()
    outcome = cli("read", topic, "--from", "-1", "-e", "-F", "%v\\n")
    assert outcome == read("0-2\n1-2\n", 2)


def test_reading_skips_the_given_number_of_messages(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "--from", "+3", "-e", "-F", "%v\\n") == values(3, 4)


def test_reading_from_the_last_messages_ends_at_the_idle_timeout(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "--from", "-1", "--idle-timeout", "100ms", "-F", "%v\\n") == values(4)


def test_reading_from_the_latest_reports_the_start(cli: Cli, topic: str, five: list[str]) -> None:
    assert cli("read", topic, "-e") == Outcome(
        0,
        "",
        "0 messages successfully read\nreading starts after the last message; use -m earliest to start at the first\n",
    )


def test_messages_of_a_batch_are_distinguished(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, stdin="a\nb\nc\n").exit_code == 0
    outcome = cli("read", topic, "-m", "earliest", "-e", "-F", "%o{batch} %y %v\\n")
    assert outcome == read("0 0 a\n1 1 b\n2 2 c\n", 3)


def test_fields_that_the_official_client_hides_are_shown(cli: Cli, topic: str) -> None:
    cli("produce", topic, "-m", "a" * 100, "-z", "zstd", "--producer-name", "me")
    outcome = cli("read", topic, "-m", "earliest", "-e", "-o", "jsonl")
    record = json.loads(outcome.stdout)
    assert (record["sequenceId"], record["compression"], record["producer"]) == (0, "zstd", "me")


def test_a_chunked_message_is_reassembled(cli: Cli, client: pulsar.Client, topic: str) -> None:
    large = bytes(range(256)) * 30_000
    producer = client.create_producer(topic, chunking_enabled=True, compression_type=pulsar.CompressionType.LZ4)
    producer.send(large[: 6 << 20])
    producer.close()
    outcome = cli("read", topic, "-m", "earliest", "-e", "-F", "%V\\n")
    assert outcome == read(f"{6 << 20}\n", 1)


def test_a_tombstone_is_distinguished_from_an_empty_value(cli: Cli, client: pulsar.Client, topic: str) -> None:
    producer = client.create_producer(topic)
    producer.send(None, partition_key="k")
    producer.send(b"", partition_key="k")
    assert cli("read", topic, "-m", "earliest", "-e", "-F", "%k %V\\n") == read("k -1\nk 0\n", 2)


def test_unicode_is_unchanged(cli: Cli) -> None:
    topic, key, name, value = "größe 50% ✉", "schlüssel 100%", "eigen schaft", "Wört 🎈"
    cli("produce", topic, "-m", value, "-k", key, "-p", f"{name}={value}")
    assert cli("read", topic, "-m", "earliest", "-e", "-F", "%t %k %h{%k=%v} %v\\n") == read(
        f"persistent://public/default/{topic} {key} {name}={value} {value}\n", 1
    )


def test_a_missing_topic_is_not_found_and_not_created(cli: Cli, pulsar_broker: EmbeddedBroker) -> None:
    outcome = cli("read", "no-such-topic", "-m", "earliest", "-e")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert not pulsar_broker.broker.topics.exists(parse_topic("no-such-topic"))


def test_a_missing_broker_exits_with_5(cli_alone: Cli) -> None:
    outcome = cli_alone("read", "t", "--url", "pulsar://localhost:1")
    assert (outcome.exit_code, outcome.stdout) == (5, "")
    assert outcome.stderr.startswith("error: cannot connect to pulsar://localhost:1 (from --url): ")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("-m", "here"), "'here' is not a position"),
        (("--to", "-1"), "cannot stop reading at this position"),
        (("-F", "%Q"), "unknown escape %Q"),
        (("-ekv", "file:///k"), "cannot read the key /k: No such file"),
    ],
)
def test_an_invalid_command_line_is_refused(cli: Cli, words: tuple[str, ...], problem: str) -> None:
    outcome = cli("read", "t", *words)
    assert outcome.exit_code == 2
    assert problem in outcome.stderr
