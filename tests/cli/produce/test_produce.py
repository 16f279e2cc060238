"""`produce` with an embedded broker; the official client reads what arrived."""

from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig, ServerConfig
from broker_core.testing import EmbeddedBroker
from tests.support.runner import Cli, Outcome

TIMEOUT_MS = 10_000


def messages(client: pulsar.Client, topic: str, count: int) -> list[pulsar.Message]:
    consumer = client.subscribe(topic, "check", initial_position=pulsar.InitialPosition.Earliest)
    found = [consumer.receive(TIMEOUT_MS) for _ in range(count)]
    with pytest.raises(pulsar.Timeout):
        consumer.receive(100)
    consumer.close()
    return found


def values(client: pulsar.Client, topic: str, count: int) -> list[bytes]:
    return [message.data() for message in messages(client, topic, count)]


def done(count: int) -> Outcome:
    return Outcome(0, "", f"{count} messages successfully produced\n")


def test_messages_of_the_command_line_are_sent_in_order(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-m", "a,b", "-m", "", "-m", "c") == done(3)
    assert values(client, topic, 3) == [b"a,b", b"", b"c"]


def test_a_message_is_delivered_after_a_delay_or_at_a_time(cli: Cli, topic: str) -> None:
    outcome = cli("produce", topic, "-m", "a", "--deliver-after", "1s", "--deliver-at", "2030-01-01T00:00:00Z")
    assert outcome.exit_code == 2
    assert "cannot combine --deliver-after and --deliver-at" in outcome.stderr


def test_a_separator_splits_literally(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-m", "a|b", "-s", "|") == done(2)
    assert values(client, topic, 2) == [b"a", b"b"]


def test_messages_are_repeated(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-m", "a", "-m", "b", "-n", "2") == done(4)
    assert values(client, topic, 4) == [b"a", b"b", b"a", b"b"]


def test_a_file_is_one_message(cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "two lines"
    file.write_bytes(b"\xffa\nb\n")
    assert cli("produce", topic, "-f", str(file)) == done(1)
    assert values(client, topic, 1) == [b"\xffa\nb\n"]


def test_a_missing_file_is_a_failure(cli: Cli, topic: str) -> None:
    outcome = cli("produce", topic, "-f", "no/such/file")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr == "error: cannot read no/such/file: No such file or directory\n"


def test_lines_of_a_file_are_messages(cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b"a\r\n\n\xff\0\nlast")
    assert cli("produce", topic, "--lines", str(file)) == done(4)
    assert values(client, topic, 4) == [b"a\r", b"", b"\xff\0", b"last"]


def test_without_a_source_the_lines_of_stdin_are_sent(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, stdin="a\nb\n") == done(2)
    assert values(client, topic, 2) == [b"a", b"b"]


def test_having_nothing_to_send_succeeds(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, "--lines", "-", stdin="") == done(0)


def test_lines_cannot_be_repeated(cli: Cli, topic: str) -> None:
    outcome = cli("produce", topic, "-l", "-", "-n", "2", stdin="a\n")
    assert (outcome.exit_code, outcome.stderr) == (2, "error: -n repeats messages and files, and cannot repeat lines\n")


def test_key_and_properties_apply_to_every_message(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-m", "a", "-k", "key", "-p", "x=1=2", "-H", "y:z", "--ordering-key", "o") == done(1)
    (message,) = messages(client, topic, 1)
    assert (message.partition_key(), message.properties()) == ("key", {"x": "1=2", "y": "z"})
    assert message.ordering_key() == "o"


def test_a_delimiter_splits_key_and_value_once(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-K", ": ", stdin="k1: v: 1\nno key\n") == done(2)
    first, second = messages(client, topic, 2)
    assert (first.partition_key(), first.data()) == ("k1", b"v: 1")
    assert (second.partition_key(), second.data()) == ("", b"no key")


def test_an_error_names_the_line_whose_key_is_not_text(cli: Cli, topic: str) -> None:
    outcome = cli("produce", topic, "-K", ":", stdin=b"a:1\n\xff:2\n")
    assert outcome.exit_code == 2
    assert outcome.stderr == (
        "error: cannot send line 2 of stdin: the key is not UTF-8 (invalid start byte); "
        "1 of 1 messages were acknowledged; resume at line 2\n"
    )


def test_a_tombstone_has_no_value(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-k", "k", "--tombstone") == done(1)
    (message,) = messages(client, topic, 1)
    assert message.has_null_value()


def test_a_chosen_text_becomes_a_tombstone(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-K", ":", "--null-value", "NULL", stdin="k:NULL\nk:\n") == done(2)
    first, second = messages(client, topic, 2)
    assert first.has_null_value() and not second.has_null_value()


def test_the_event_time_is_set(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-m", "a", "--event-time", "2023-11-14T22:13:20Z").exit_code == 0
    assert messages(client, topic, 1)[0].event_timestamp() == 1_700_000_000_000


@pytest.mark.parametrize("compression", ["lz4", "ZLIB", "zstd", "snappy", "none"])
def test_the_consumer_decompresses_messages(cli: Cli, client: pulsar.Client, topic: str, compression: str) -> None:
    name = f"{topic}-{compression}"
    assert cli("produce", name, "-m", "a" * 1000, "-z", compression) == done(1)
    assert values(client, name, 1) == [b"a" * 1000]


def test_without_batching_each_message_is_an_entry(cli: Cli, client: pulsar.Client, topic: str) -> None:
    assert cli("produce", topic, "-db", stdin="a\nb\n") == done(2)
    assert len({message.message_id().entry_id() for message in messages(client, topic, 2)}) == 2


def test_every_message_of_a_partitioned_topic_is_counted(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    assert cli("produce", topic, "-db", stdin="".join(f"{n}\n" for n in range(1000))) == done(1000)
    assert sorted(values(client, topic, 1000), key=int) == [b"%d" % n for n in range(1000)]


def test_one_partition_can_be_chosen(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    assert cli("produce", topic, "-m", "a", "--partition", "2") == done(1)
    assert messages(client, topic, 1)[0].topic_name().endswith(f"{topic}-partition-2")


@pytest.mark.parametrize("words", [["produce", "-m", "a"], ["consume", "-e"], ["read", "-e"]])
def test_an_error_for_an_unknown_partition_names_the_number_of_partitions(
    cli: Cli, topic: str, pulsar_broker: EmbeddedBroker, words: list[str]
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    assert cli(words[0], topic, *words[1:], "--partition", "3") == Outcome(
        3, "", f"error: persistent://public/default/{topic} has no partition 3: it has 3 partitions, numbered from 0\n"
    )


def test_json_output_counts_the_messages(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, "-m", "a", "-o", "jsonl").stdout == (
        f'{{"topic":"persistent://public/default/{topic}","messages":1}}\n'
    )


def test_quiet_prints_nothing(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, "-m", "a", "--quiet") == Outcome(0, "", "")


def test_unicode_is_unchanged(cli: Cli, client: pulsar.Client) -> None:
    topic, key, name, value = "größe 50% 🚀", "schlüssel 100% 🔑", "eigen schaft", "Wörter, 🎈"
    assert cli("produce", topic, "-m", value, "-k", key, "-p", f"{name}={value}") == done(1)
    (message,) = messages(client, topic, 1)
    assert message.topic_name() == f"persistent://public/default/{topic}"
    assert (message.data().decode(), message.partition_key()) == (value, key)
    assert message.properties() == {name: value}


def test_a_missing_namespace_is_not_found(cli: Cli) -> None:
    outcome = cli("produce", "public/nowhere/t", "-m", "a")
    assert outcome.exit_code == 3
    assert outcome.stderr == (
        "error: cannot produce to persistent://public/nowhere/t: the topic or its namespace does not exist\n"
        "hint: check the name; see 'pulsarctl namespaces list TENANT' and 'pulsarctl topics list NAMESPACE'\n"
    )


def test_an_exceeded_backlog_quota_is_explained(cli: Cli) -> None:
    cli("namespaces", "create", "public/full")
    cli("namespaces", "set-backlog-quota", "public/full", "-l", "1K", "-p", "producer_exception")
    cli("topics", "create-subscription", "public/full/orders", "-s", "slow")
    cli("produce", "public/full/orders", "-m", "x" * 2000)
    outcome = cli("produce", "public/full/orders", "-m", "one more")
    assert outcome.exit_code == 1
    assert "the backlog quota is exceeded; wait until a subscription catches up" in outcome.stderr


def test_a_missing_broker_exits_with_5(cli_alone: Cli) -> None:
    outcome = cli_alone("produce", "t", "-m", "a", "--url", "pulsar://localhost:1")
    assert (outcome.exit_code, outcome.stdout) == (5, "")
    assert outcome.stderr == (
        "error: cannot connect to pulsar://localhost:1 (from --url): Connection refused\n"
        "hint: start a broker with 'pulsarctl standalone', or choose another one with --url URL\n"
    )


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("-z", "rar"), "unknown compression 'rar'"),
        (("-p", "x"), "'x' is not KEY=VALUE"),
        (("-H", "x"), "'x' is not KEY:VALUE"),
        (("-vs", "avro:{}"), "not an Avro schema"),
        (("--event-time", "soon"), "'soon' is not a time"),
        (("-kvk", "k"), "cannot send KeyValue schemas"),
    ],
)
def test_an_invalid_command_line_is_refused(cli: Cli, words: tuple[str, ...], problem: str) -> None:
    outcome = cli("produce", "t", "-m", "a", *words)
    assert outcome.exit_code == 2
    assert problem in outcome.stderr


@pytest.fixture(scope="module")
def small_broker() -> Iterator[EmbeddedBroker]:
    config = BrokerConfig(
        server=ServerConfig(broker_port=0, web_port=0), connection=ConnectionConfig(max_message_size=100_000)
    )
    with EmbeddedBroker(config=config) as broker:
        yield broker


def test_an_oversized_message_names_its_line_its_size_and_what_to_do(
    tmp_path: Path, small_broker: EmbeddedBroker, topic: str
) -> None:
    cli = Cli(tmp_path, small_broker.http_url, small_broker.service_url)
    lines = tmp_path / "lines"
    lines.write_bytes(b"a\nb\n" + b"x" * 200_000 + b"\nd\n")
    outcome = cli("produce", topic, "--lines", str(lines))
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr == (
        f"error: cannot send line 3 of {lines}: its 200000 bytes exceed the broker's limit; "
        "2 of 3 messages were acknowledged; resume at line 3\n"
        "hint: split it with --chunking, or raise maxMessageSize on the broker\n"
    )


def test_chunking_sends_oversized_messages(tmp_path: Path, small_broker: EmbeddedBroker, topic: str) -> None:
    cli = Cli(tmp_path, small_broker.http_url, small_broker.service_url)
    large = tmp_path / "large"
    large.write_bytes(bytes(range(256)) * 1500)
    assert cli("produce", topic, "-f", str(large), "--chunking") == done(1)
    client = pulsar.Client(small_broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    assert values(client, topic, 1) == [large.read_bytes()]
    client.close()
