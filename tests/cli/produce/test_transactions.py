"""`produce --transaction` with real brokers: all messages, or none."""

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig, TransactionConfig
from broker_core.config.server import ConnectionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.client.routing import java_string_hash
from pulsarctl.errors import TimedOut
from pulsarctl.produce.transaction_publisher import TransactionPublisher
from pulsarctl.raw import transaction_producer
from pulsarctl.raw.all_or_nothing import all_or_nothing, tell_interrupted
from pulsarctl.raw.broker_connection import NotOpen
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.settings.settings import Settings
from tests.support import secured
from tests.support.broker_process import BrokerProcess
from tests.support.condition import holds_within
from tests.support.faulty_disk import FaultyDisk
from tests.support.losing_relay import LosingRelay
from tests.support.official_client import connect
from tests.support.program import Program
from tests.support.runner import Cli, Outcome

RECEIVE_MS = 20_000
SILENCE_MS = 100
NOTHING = "nothing was published"
DISABLED = (
    "error: cannot begin a transaction: transactions are disabled at the broker\n"
    "hint: set transactionCoordinatorEnabled=true in the configuration of the brokers\n"
)


def done(count: int) -> Outcome:
    return Outcome(0, "", f"{count} messages successfully produced in one transaction\n")


def consumer_of(client: pulsar.Client, topic: str) -> pulsar.Consumer:
    return client.subscribe(topic, "check", initial_position=pulsar.InitialPosition.Earliest)


def received(consumer: pulsar.Consumer, count: int) -> list[bytes]:
    """Receives that many values, and checks that no more follow."""
    values = [consumer.receive(RECEIVE_MS).data() for _ in range(count)]
    with pytest.raises(pulsar.Timeout):
        consumer.receive(SILENCE_MS)
    return values


def records(cli: Cli, topic: str) -> list[dict[str, object]]:
    return [
        json.loads(line)
        for line in cli("read", topic, "--from", "earliest", "-e", "-n", "0", "-o", "jsonl").stdout.splitlines()
    ]


@contextmanager
def publishing(service_url: str, topic: str, *, batching: bool = True) -> Iterator[TransactionPublisher]:
    settings = Settings(service_url=service_url)
    name = f"persistent://public/default/{topic}"
    options = PublishOptions(batching=batching)
    publisher = TransactionPublisher(settings, name, options, ttl_seconds=600, timeout_seconds=30)
    with closing(publisher):
        yield publisher


def test_consumers_get_all_messages_at_the_commit(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    consumer = consumer_of(client, topic)
    with publishing(pulsar_broker.service_url, topic) as publisher:
        for value in (b"a", b"b", b"c"):
            publisher.send(value)
            publisher.flush()
        assert received(consumer, 0) == []
        publisher.transaction.commit()
        assert received(consumer, 3) == [b"a", b"b", b"c"]


def test_every_line_arrives_over_all_partitions(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    assert cli("produce", topic, "--transaction", stdin="".join(f"{n}\n" for n in range(5000))) == done(5000)
    assert sorted(received(consumer_of(client, topic), 5000), key=int) == [b"%d" % n for n in range(5000)]


def test_a_key_goes_to_the_partition_of_java_producers(cli: Cli, topic: str, pulsar_broker: EmbeddedBroker) -> None:
    pulsar_broker.create_partitioned_topic(topic, 3)
    lines = "".join(f"key-{n}:{n}\n" for n in range(30))
    assert cli("produce", topic, "--transaction", "-K", ":", stdin=lines) == done(30)
    partitions = {record["key"]: record["partition"] for record in records(cli, topic)}
    assert partitions == {f"key-{n}": java_string_hash(f"key-{n}") % 3 for n in range(30)}


@pytest.mark.parametrize("batching", [(), ("-db",)])
def test_messages_have_everything_that_the_options_give_them(cli: Cli, topic: str, batching: tuple[str, ...]) -> None:
    given = ("-k", "key", "-p", "x=1", "-H", "y:z", "--ordering-key", "o", "--event-time", "2023-11-14T22:13:20Z")
    outcome = cli("produce", topic, "--transaction", "-m", "a", "-m", "", "--tombstone", "-z", "lz4", *given, *batching)
    assert outcome.exit_code == 0
    first, second = records(cli, topic)
    assert (first["value"], second["value"]) == ("a", None)
    for record in (first, second):
        assert (record["key"], record["orderingKey"]) == ("key", "o")
        assert record["properties"] == {"x": "1", "y": "z"}
        assert (record["eventTime"], record["compression"]) == (1_700_000_000_000, "lz4")
    assert (first["sequenceId"], second["sequenceId"]) == (0, 1)


@pytest.mark.parametrize("batching", [True, False])
def test_entries_name_their_transaction(pulsar_broker: EmbeddedBroker, topic: str, batching: bool) -> None:
    name = f"{topic}-{batching}"
    with publishing(pulsar_broker.service_url, name, batching=batching) as publisher:
        publisher.send(b"a")
        publisher.flush()
        publisher.transaction.commit()
        with EntryReader(pulsar_broker.service_url, f"persistent://public/default/{name}") as reader:
            (entry,) = reader.to_end()
        ids = (entry.metadata.txnid_most_bits, entry.metadata.txnid_least_bits)
        assert ids == publisher.transaction.id


def test_delivery_is_delayed(cli: Cli, topic: str) -> None:
    cli("produce", topic, "--transaction", "-m", "a", "--deliver-at", "2023-11-14T22:13:20Z")
    assert [record["deliverAt"] for record in records(cli, topic)] == [1_700_000_000_000]


def test_the_schema_of_the_producer_becomes_the_one_of_the_topic(cli: Cli, topic: str) -> None:
    definition = '{"type":"record","name":"r","fields":[{"name":"id","type":"int"}]}'
    assert cli("produce", topic, "--transaction", "--schema", f"json:{definition}", "-m", '{"id":1}') == done(1)
    assert [record["schemaVersion"] for record in records(cli, topic)] == ["0000000000000000"]


def test_a_failure_that_no_command_foresees_aborts_the_transaction_too(
    pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    tell = tell_interrupted(lambda: 0, quiet=True)
    with publishing(pulsar_broker.service_url, topic) as publisher:
        with pytest.raises(OSError, match="disk"), all_or_nothing(publisher.transaction, "10m", tell):
            publisher.send(b"a")
            publisher.flush()
            raise OSError("disk")
        with pytest.raises(NotOpen):
            publisher.transaction.commit()


def test_an_abort_waits_only_briefly_for_a_broker_that_is_busy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pulsarctl.raw.transaction.ABORT_SECONDS", 0.2)
    disk, config = FaultyDisk(), BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=True))
    with EmbeddedBroker(tmp_path, config=config, disk=disk) as broker:
        with publishing(broker.service_url, "t") as publisher:
            publisher.send(b"a")
            publisher.flush()
            disk.sync_seconds = 2.0
            with pytest.raises(TimedOut):
                publisher.transaction.abort()
        disk.sync_seconds = 0.0


def test_a_failure_in_the_middle_publishes_nothing(cli: Cli, client: pulsar.Client, topic: str) -> None:
    together = ("produce", topic, "--transaction", "-db")
    assert cli(*together, "-m", "a", "-f", "no/such/file") == Outcome(
        1, "", f"error: cannot read no/such/file: No such file or directory; {NOTHING}\n"
    )
    assert cli(*together, "-K", ":", stdin=b"a:1\n\xff:2\n") == Outcome(
        2, "", f"error: cannot send line 2 of stdin: the key is not UTF-8 (invalid start byte); {NOTHING}\n"
    )
    assert cli("produce", topic, "--transaction", "-m", "later") == done(1)
    assert received(consumer_of(client, topic), 1) == [b"later"]


def test_a_message_over_the_limit_publishes_nothing(tmp_path: Path) -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_message_size=1000))
    with EmbeddedBroker(config=config) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        outcome = cli("produce", "t", "--transaction", "-m", "a", "-m", "x" * 1001)
        assert outcome == Outcome(
            1,
            "",
            f"error: cannot send message 2: its 1001 bytes exceed the broker's limit; {NOTHING}\n"
            "hint: raise maxMessageSize on the broker\n",
        )
        assert cli("produce", "t", "--transaction", stdin="x" * 900 + "\n" + "y" * 900 + "\n") == done(2)


def test_ctrl_c_publishes_nothing(tmp_path: Path, pulsar_broker: EmbeddedBroker, cli: Cli, topic: str) -> None:
    environ = {"PULSARCTL_SERVICE_URL": pulsar_broker.service_url, "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}
    with Program(tmp_path, "produce", topic, "--transaction", "-db", environ=environ, stdin=True) as producer:
        producer.write(b"a\nb\n")
        assert holds_within(lambda: stats(cli, topic).get("msgInCounter") == 2, 30)
        producer.send(signal.SIGINT)
        assert producer.finish() == 130
    assert (producer.stdout, producer.stderr.decode()) == (b"", f"interrupted: {NOTHING}\n")
    assert stats(cli, topic)["ongoingTxnCount"] == 0
    assert records(cli, topic) == []


def stats(cli: Cli, topic: str) -> dict[str, object]:
    outcome = cli("topics", "stats", topic, "-o", "json")
    return dict(json.loads(outcome.stdout)) if outcome.exit_code == 0 else {}


@pytest.mark.parametrize("late", [b"", b"b\n"])
def test_a_transaction_that_times_out_publishes_nothing(
    cli: Cli, pulsar_broker: EmbeddedBroker, topic: str, tmp_path: Path, late: bytes
) -> None:
    environ = {"PULSARCTL_SERVICE_URL": pulsar_broker.service_url, "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}
    words = ("produce", topic, "--transaction", "--transaction-timeout", "500ms", "-db")
    with Program(tmp_path, *words, environ=environ, stdin=True) as producer:
        producer.write(b"a\n")
        assert holds_within(lambda: stats(cli, topic).get("abortedTxnCount") == 1, 30)
        producer.write(late)
        assert producer.finish() == 6
    error, hint = producer.stderr.decode().splitlines()
    assert error.startswith("error: the broker has aborted transaction (0,") and error.endswith(f"); {NOTHING}")
    assert hint == "hint: use a --transaction-timeout above 500ms if that was too short"
    assert records(cli, topic) == []


def test_a_lost_answer_to_the_commit_is_asked_for_again(pulsar_broker: EmbeddedBroker, cli: Cli, topic: str) -> None:
    with LosingRelay(pulsar_broker, BaseCommand.END_TXN_RESPONSE) as relay:
        behind = Cli(Path(cli.environ["HOME"] or ""), pulsar_broker.http_url, relay.url)
        assert behind("produce", topic, "--transaction", "-m", "a", "-m", "b") == done(2)
        assert relay.losses == 1
    assert [record["value"] for record in records(cli, topic)] == ["a", "b"]


def test_an_outcome_that_the_broker_cannot_tell_is_called_unknown(
    pulsar_broker: EmbeddedBroker, cli: Cli, topic: str
) -> None:
    """The broker forgets the transaction between the loss and the next question, as Apache Pulsar always does."""

    def abort_all() -> None:
        transactions = pulsar_broker.broker.transactions
        assert transactions is not None
        for transaction in transactions.active:
            most, least = (str(half) for half in transaction.id)
            assert cli("transactions", "abort-transaction", "-m", most, "-l", least).exit_code == 0

    with LosingRelay(pulsar_broker, BaseCommand.END_TXN, abort_all) as relay:
        behind = Cli(Path(cli.environ["HOME"] or ""), pulsar_broker.http_url, relay.url)
        outcome = behind("produce", topic, "--transaction", "-m", "a")
    assert outcome.exit_code == 1
    error, hint = outcome.stderr.splitlines()
    assert error.startswith("error: it is unknown whether transaction (0,")
    assert hint == "hint: look whether it took effect before you run the command again"


def test_a_broker_that_is_killed_before_the_commit_publishes_everything(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data").start()
    try:
        with publishing(broker.service_url, "t") as publisher:
            for value in (b"a", b"b"):
                publisher.send(value)
            publisher.flush()
            broker.kill()
            restart = threading.Thread(target=broker.start)
            restart.start()
            publisher.transaction.commit()
            restart.join()
        with closing(connect(broker.service_url)) as client:
            assert received(consumer_of(client, "t"), 2) == [b"a", b"b"]
    finally:
        broker.kill()


def test_a_run_continues_after_a_pause_over_new_connections(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_producer, "IDLE_SECONDS", 0)
    with publishing(pulsar_broker.service_url, topic) as publisher:
        for value in (b"a", b"b", b"c"):
            publisher.send(value)
            publisher.flush()
        publisher.transaction.commit()
    assert received(consumer_of(client, topic), 3) == [b"a", b"b", b"c"]


def test_a_producer_name_can_be_used_again_where_the_broker_deduplicates(tmp_path: Path) -> None:
    with EmbeddedBroker(
        config=BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True))
    ) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        for value in ("a", "b"):
            assert cli("produce", "t", "--transaction", "--producer-name", "p", "-m", value) == done(1)
        assert [record["value"] for record in records(cli, "t")] == ["a", "b"]


def test_a_broker_without_transactions_is_named(tmp_path: Path) -> None:
    config = BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        assert cli("produce", "t", "--transaction", "-m", "a") == Outcome(1, "", DISABLED)


def test_a_service_url_of_http_works(pulsar_broker: EmbeddedBroker, cli: Cli, topic: str) -> None:
    assert cli("produce", topic, "--transaction", "-m", "a", "--url", pulsar_broker.http_url) == done(1)
    assert [record["value"] for record in records(cli, topic)] == ["a"]


def test_a_role_needs_only_the_permission_to_produce(tmp_path: Path) -> None:
    with EmbeddedBroker(config=secured.config()) as broker:
        secured.prepare(broker)
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        for role, expected in (("producer", 0), ("consumer", 4)):
            file = tmp_path / role
            file.write_text(secured.token(role))
            file.chmod(0o600)
            outcome = cli("produce", secured.PARTED, "--transaction", "-m", "a", "--token-file", str(file))
            assert outcome.exit_code == expected, outcome


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("t", "-c"), "cannot combine --transaction and --chunking"),
        (("t", "-ekn", "k", "-ekv", "key.pem"), "cannot combine --transaction and -ekn"),
        (("t", "--access-mode", "Exclusive"), "cannot combine --transaction and --access-mode"),
        (("t", "--sequence-id", "7"), "cannot combine --transaction and --sequence-id"),
        (("non-persistent://public/default/t",), "cannot publish to a non-persistent topic in a transaction"),
    ],
)
def test_what_a_transaction_cannot_do_is_refused(cli_alone: Cli, words: tuple[str, ...], problem: str) -> None:
    assert cli_alone("produce", *words, "--transaction", "-m", "a") == Outcome(2, "", f"error: {problem}\n")
