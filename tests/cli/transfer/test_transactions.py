"""`ops replay --transaction` and `ops import --transaction`: all messages, or none."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.client.client_settings import EncodedAlready
from pulsarctl.raw.entry_reader import EntryReader
from pulsarctl.settings.settings import Settings
from pulsarctl.transfer.replay_state import ReplayFiles, ReplayState
from tests.cli.transfer.moved_topics import by_key, failed, ops
from tests.support.condition import holds_within
from tests.support.official_client import connect
from tests.support.program import Program

NOTHING = "nothing was published"
ITEM = {"name": "item", "type": "string"}
AMOUNT = {"name": "amount", "type": "int", "default": 1}


def publish(client: pulsar.Client, topic: str, count: int = 6) -> None:
    producer = client.create_producer(topic)
    for number in range(count):
        producer.send(f"v{number}".encode(), {"n": str(number)}, partition_key=f"k{number % 2}")
    producer.close()


def transactions(broker: EmbeddedBroker, topic: str) -> set[tuple[int, int]]:
    """The IDs that the visible entries of the topic name."""
    with EntryReader(broker.service_url, topic) as reader:
        return {(entry.metadata.txnid_most_bits, entry.metadata.txnid_least_bits) for entry in reader.to_end()}


def refused(broker: EmbeddedBroker, *words: object) -> tuple[int, str, str | None]:
    """The exit code, the error, and the hint."""
    code, text = failed(broker, *words, "--transaction")
    error = json.loads(text)
    return code, error["error"], error.get("hint")


def open_now(broker: EmbeddedBroker) -> int:
    assert broker.broker.transactions is not None
    return len(list(broker.broker.transactions.active))


@contextmanager
def broker_with(transactions: TransactionConfig) -> Iterator[tuple[EmbeddedBroker, pulsar.Client]]:
    config = BrokerConfig(server=FREE_PORTS, transactions=transactions)
    with EmbeddedBroker(config=config) as broker, closing(connect(broker.service_url)) as client:
        yield broker, client


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_replay_publishes_everything_in_one_transaction(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, partitions: int
) -> None:
    publish(client, topic)
    if partitions:
        pulsar_broker.create_partitioned_topic(f"{topic}-2", partitions)
    done = ops(pulsar_broker, "replay", topic, f"{topic}-2", "--transaction")
    assert (done["sent"], done["storedBefore"]) == (6, 0)
    assert by_key(client, f"{topic}-2") == by_key(client, topic)
    assert len(transactions(pulsar_broker, f"{topic}-2")) == 1


def test_a_replay_that_is_interrupted_publishes_nothing_and_starts_over(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic, 40)
    words = ("ops", "replay", topic, f"{topic}-2", "--transaction", "--rate", "5")
    environ = {"PULSARCTL_SERVICE_URL": pulsar_broker.service_url, "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}
    with Program(tmp_path, *words, environ=environ) as replay:
        assert holds_within(lambda: open_now(pulsar_broker) == 1, 60)
        replay.send(signal.SIGINT)
        assert replay.finish() == 130
    assert replay.stderr.decode() == f"interrupted: {NOTHING}\n"
    assert open_now(pulsar_broker) == 0
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", "--transaction")["sent"] == 40
    assert by_key(client, f"{topic}-2") == by_key(client, topic)


def test_a_replay_over_the_bound_of_the_broker_publishes_nothing() -> None:
    with broker_with(TransactionConfig(max_runs=1)) as (broker, client):
        broker.create_partitioned_topic("persistent://public/default/target", 2)
        publish(client, "persistent://public/default/source")
        code, error, _ = refused(broker, "replay", "source", "target")
        assert code == 1
        assert error.endswith(f"(maxMessageRunsPerTransaction) (NotAllowedError); {NOTHING}")
        assert (by_key(client, "target"), open_now(broker)) == ({}, 0)


def test_a_replay_that_is_slower_than_its_timeout_publishes_nothing(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic)
    words = ("replay", topic, f"{topic}-2", "--transaction-timeout", "200ms", "--rate", "5")
    code, error, hint = refused(pulsar_broker, *words)
    assert (code, hint) == (6, "use a --transaction-timeout above 200ms if that was too short")
    assert error.startswith("the broker has aborted transaction (0,") and error.endswith(f"; {NOTHING}")
    assert by_key(client, f"{topic}-2") == {}


def test_an_interrupted_replay_does_not_continue_in_a_transaction(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic)
    words = (pulsar_broker.service_url, topic, f"{topic}-2", "earliest", "latest", "", "", "True")
    ReplayFiles.of(os.environ, *words).begin(ReplayState.new(5000, "earliest", "latest"))
    code, error, _ = refused(pulsar_broker, "replay", topic, f"{topic}-2")
    assert (code, "cannot continue an interrupted replay in a transaction" in error) == (2, True), error
    assert ops(pulsar_broker, "replay", topic, f"{topic}-2", "--transaction", "--again")["sent"] == 6


def test_an_import_publishes_everything_in_one_transaction_and_only_once(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic)
    ops(pulsar_broker, "export", topic, tmp_path / "out")
    words = ("import", tmp_path / "out", f"{topic}-2", "--transaction")
    done = ops(pulsar_broker, *words)
    assert (done["sent"], done["engine"]) == (6, "local")
    assert by_key(client, f"{topic}-2") == by_key(client, topic)
    assert len(transactions(pulsar_broker, f"{topic}-2")) == 1
    code, text = failed(pulsar_broker, *words)
    assert (code, "is already imported" in text) == (6, True)


def test_an_import_keeps_the_schemas_of_the_values(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    for fields in ([ITEM], [ITEM, AMOUNT]):
        definition = json.dumps({"type": "record", "name": "Order", "fields": fields})
        producer = client.create_producer(topic, schema=EncodedAlready(SchemaInfo("JSON", definition)))
        producer.send(b'{"item":"tea"}')
        producer.close()
    ops(pulsar_broker, "export", topic, tmp_path / "out")
    assert ops(pulsar_broker, "import", tmp_path / "out", f"{topic}-2", "--transaction")["sent"] == 2
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        kept, imported = (admin.schemas.stored_versions(name) for name in (topic, f"{topic}-2"))
    assert (len(kept), kept) == (2, imported)


def test_a_file_that_cannot_be_read_publishes_nothing_of_the_others(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.jsonl").write_text('{"value":"a","key":"k"}\n')
    (tmp_path / "in" / "2.jsonl").write_text('{"value":"b","key":"k"}\nbroken\n')
    code, error, hint = refused(pulsar_broker, "import", tmp_path / "in", topic)
    assert (code, hint) == (1, None)
    assert error.endswith(f"2.jsonl: line 2, column 1: Expecting value; {NOTHING}")
    assert by_key(client, topic) == {}
    (tmp_path / "in" / "2.jsonl").write_text('{"value":"b","key":"k"}\n')
    assert ops(pulsar_broker, "import", tmp_path / "in", topic, "--transaction")["messages"] == 2
    assert [row[0] for row in by_key(client, topic)["k"]] == [b"a", b"b"]


def test_a_broker_without_transactions_is_named(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"value":"a"}\n')
    with broker_with(TransactionConfig(enabled=False)) as (broker, client):
        publish(client, "persistent://public/default/source")
        for words in (("replay", "source", "target"), ("import", str(tmp_path / "in.jsonl"), "target")):
            code, error, _ = refused(broker, *words)
            assert (code, error) == (1, "cannot begin a transaction: transactions are disabled at the broker")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("replay", "t", "non-persistent://public/default/u"), "cannot publish to a non-persistent topic"),
        (("import", "in.jsonl", "non-persistent://public/default/u"), "cannot publish to a non-persistent topic"),
        (("import", "in.jsonl", "u", "--engine", "spark"), "cannot combine --transaction and --engine spark"),
    ],
)
def test_what_a_transaction_cannot_do_is_refused(
    pulsar_broker: EmbeddedBroker, tmp_path: Path, words: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "in.jsonl").write_text('{"value":"a"}\n')
    given = (str(tmp_path / word) if word == "in.jsonl" else word for word in words)
    code, error, _ = refused(pulsar_broker, *given)
    assert (code, problem in error) == (2, True), error
