"""`consume --transaction`: all messages are acknowledged after the last, or none."""

import signal
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.cli.consume.consumed import consumed
from tests.cli.publishing import publish
from tests.support.losing_relay import LosingRelay
from tests.support.program import Program
from tests.support.runner import Cli, Outcome

TOGETHER = "successfully consumed in one transaction"
NOTHING = "nothing was acknowledged"


def words(topic: str, count: int, *more: str) -> tuple[str, ...]:
    return ("consume", topic, "-s", "s", "-p", "Earliest", "-n", str(count), "-F", "%v\\n", *more)


def left(cli: Cli, topic: str) -> list[str]:
    """What the subscription still has; acknowledges it."""
    return cli(*words(topic, 0, "-e")).stdout.splitlines()


@pytest.mark.parametrize("kind", ["Exclusive", "Shared", "Failover", "Key_Shared"])
def test_the_messages_are_acknowledged(cli: Cli, client: pulsar.Client, topic: str, kind: str) -> None:
    publish(client, topic, b"a", b"b", b"c")
    outcome = cli(*words(topic, 2, "--transaction", "-t", kind))
    assert (outcome.exit_code, outcome.stdout) == (0, "a\nb\n")
    assert outcome.stderr.endswith(f"2 messages {TOGETHER}\n")  # a Failover consumer may have to wait
    assert left(cli, topic) == ["c"]


def test_messages_of_a_batch_are_acknowledged_one_by_one(cli: Cli, topic: str) -> None:
    lines = [str(number) for number in range(130)]
    assert cli("produce", topic, "--transaction", stdin="\n".join(lines)).exit_code == 0  # a single batch
    for first in (0, 65):
        expected = "".join(f"{line}\n" for line in lines[first : first + 65])
        assert cli(*words(topic, 65, "--transaction")) == consumed(expected, 65, TOGETHER)
    assert left(cli, topic) == []


def test_fewer_messages_are_not_acknowledged(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a", b"b")
    assert cli(*words(topic, 3, "--transaction", "--idle-timeout", "200ms")) == Outcome(
        7, "a\nb\n", f"error: received only 2 of 3 messages before the idle timeout; {NOTHING}\n"
    )
    assert left(cli, topic) == ["a", "b"]


def test_ctrl_c_acknowledges_nothing(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    publish(client, topic, b"a", b"b")
    environ = {"PULSARCTL_SERVICE_URL": pulsar_broker.service_url, "PULSARCTL_ADMIN_URL": pulsar_broker.http_url}
    with Program(tmp_path, *words(topic, 3, "--transaction"), environ=environ) as consumer:
        assert consumer.read_lines(2) == [b"a\n", b"b\n"]
        consumer.send(signal.SIGINT)
        assert consumer.finish() == 130
    assert left(cli, topic) == ["a", "b"]


def test_a_lost_answer_to_the_commit_is_asked_for_again(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    publish(client, topic, b"a", b"b")
    with LosingRelay(pulsar_broker, BaseCommand.END_TXN_RESPONSE) as relay:
        behind = Cli(tmp_path, pulsar_broker.http_url, relay.url)
        assert behind(*words(topic, 1, "--transaction")) == consumed("a\n", 1, TOGETHER)
        assert relay.losses == 1
    assert left(cli, topic) == ["b"]


def test_a_lost_acknowledgment_acknowledges_nothing(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker, tmp_path: Path
) -> None:
    publish(client, topic, b"a", b"b")
    with LosingRelay(pulsar_broker, BaseCommand.ACK_RESPONSE) as relay:
        behind = Cli(tmp_path, pulsar_broker.http_url, relay.url)
        outcome = behind(*words(topic, 1, "--transaction"))
    assert (outcome.exit_code, outcome.stdout) == (5, "a\n")
    assert outcome.stderr.endswith(f"; {NOTHING}\n")
    assert left(cli, topic) == ["a", "b"]


def test_one_partition_can_be_consumed(cli: Cli, topic: str, pulsar_broker: EmbeddedBroker) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    cli("produce", topic, "-m", "a", "--partition", "1")
    assert cli(*words(topic, 1, "--transaction", "--partition", "1")) == consumed("a\n", 1, TOGETHER)
    assert cli(*words(topic, 1, "--transaction")) == Outcome(
        2,
        "",
        f"error: cannot consume the 2 partitions of persistent://public/default/{topic} in a transaction\n"
        "hint: choose one with --partition\n",
    )


def test_nothing_is_printed_if_transactions_are_disabled(tmp_path: Path) -> None:
    config = BrokerConfig(server=FREE_PORTS, transactions=TransactionConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        cli("produce", "t", "-m", "a")
        assert cli(*words("t", 1, "--transaction")) == Outcome(
            1,
            "",
            "error: cannot begin a transaction: transactions are disabled at the broker\n"
            "hint: set transactionCoordinatorEnabled=true in the configuration of the brokers\n",
        )


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("-s", "s", "-e"), "cannot combine --transaction and --to or -e"),
        (("-s", "s", "--from", "earliest"), "cannot combine --transaction and --from"),
        (("-s", "s", "--no-ack"), "cannot combine --transaction and --no-ack or --nack"),
        (("-s", "s", "--compacted"), "cannot combine --transaction and --compacted"),
        (("-s", "s", "-n", "0"), "--transaction requires -n between 1 and 50000"),
    ],
)
def test_what_a_transaction_cannot_do_is_refused(cli_alone: Cli, more: tuple[str, ...], problem: str) -> None:
    assert cli_alone("consume", "t", "--transaction", *more) == Outcome(2, "", f"error: {problem}\n")


def test_a_subscription_that_is_deleted_at_the_end_is_refused(cli_alone: Cli) -> None:
    assert cli_alone("consume", "t", "--transaction") == Outcome(
        2, "", "error: --transaction requires a subscription that remains\nhint: name it with -s\n"
    )
