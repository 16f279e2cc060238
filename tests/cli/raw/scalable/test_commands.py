"""What `produce`, `consume`, `read`, and `tail` print for a scalable topic."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import ScalableConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.cli.consume.consumed import consumed
from tests.support.runner import Cli, Outcome

Change = Callable[[str], None]


def produced(count: int) -> Outcome:
    return Outcome(0, "", f"{count} messages successfully produced\n")


def test_messages_are_read_in_the_order_of_their_keys_across_a_split(cli: Cli, scalable: str, change: Change) -> None:
    lines = "".join(f"key-{number % 2},{number}\n" for number in range(4))
    assert cli("produce", scalable, "--lines", "-", "-K", ",", stdin=lines) == produced(4)
    change("split/1")
    assert cli("produce", scalable, "-m", "last", "-k", "key-1") == produced(1)
    outcome = cli("read", scalable, "-m", "earliest", "-e", "-F", "%k %v\\n")
    assert (outcome.exit_code, outcome.stderr) == (0, "5 messages successfully read\n")
    assert [line for line in outcome.stdout.splitlines() if line.startswith("key-0")] == ["key-0 0", "key-0 2"]
    assert outcome.stdout.splitlines()[-1] == "key-1 last"


def test_a_message_has_the_segment_as_its_topic_and_the_id_of_the_segment_as_its_partition(
    cli: Cli, scalable: str
) -> None:
    assert cli("produce", scalable, "-m", "a", "-k", "key-0") == produced(1)  # of the upper half
    name = scalable.partition("://")[2]
    outcome = cli("read", scalable, "-m", "earliest", "-e", "-F", "%t %p %v\\n")
    assert outcome == Outcome(0, f"segment://{name}/8000-ffff-1 1 a\n", "1 messages successfully read\n")


def test_messages_without_a_key_go_to_every_active_segment(cli: Cli, scalable: str) -> None:
    assert cli("produce", scalable, "-m", "a", "-m", "b", "-n", "2") == produced(4)
    outcome = cli("read", scalable, "-m", "earliest", "-e", "-F", "%p %v\\n")
    assert sorted(outcome.stdout.splitlines()) in (["0 a", "0 a", "1 b", "1 b"], ["0 b", "0 b", "1 a", "1 a"])


def test_reading_starts_at_the_last_messages_of_each_segment(cli: Cli, scalable: str) -> None:
    cli("produce", scalable, "-m", "a", "-m", "b", "-m", "c", "-k", "key-0")
    outcome = cli("read", scalable, "--from", "-2", "-e", "-F", "%v\\n")
    assert outcome == Outcome(0, "b\nc\n", "2 messages successfully read\n")


def test_a_message_keeps_its_fields(cli: Cli, scalable: str) -> None:
    words = (
        "-p",
        "a=b",
        "--ordering-key",
        "o",
        "--event-time",
        "1767225600000",
        "-z",
        "zstd",
        "-db",
        "--producer-name",
        "me",
    )
    assert cli("produce", scalable, "-m", "v", *words).exit_code == 0
    outcome = cli("read", scalable, "-m", "earliest", "-e", "-F", "%v %h{%k=%v} %a{ordering-key} %D %a{compression}\\n")
    assert outcome.stdout == "v a=b o 1767225600000 zstd\n"


@pytest.mark.parametrize("kind", ["Exclusive", "Failover", "Shared"])
def test_printed_messages_are_acknowledged(cli: Cli, scalable: str, kind: str) -> None:
    cli("produce", scalable, "-m", "a", "-m", "b", "-m", "c", "-k", "key-0")
    words = ("consume", scalable, "-s", "s", "-t", kind, "-p", "Earliest", "-F", "%p %k %v\\n")
    assert cli(*words, "-n", "2") == consumed("1 key-0 a\n1 key-0 b\n", 2)
    assert cli(*words) == consumed("1 key-0 c\n", 1)


def test_messages_that_are_not_acknowledged_stay(cli: Cli, scalable: str) -> None:
    cli("produce", scalable, "-m", "a", "-k", "key-0")
    words = ("consume", scalable, "-s", "s", "-p", "Earliest", "-F", "%v\\n")
    for _ in range(2):
        assert cli(*words, "--no-ack") == consumed("a\n", 1, "received and not acknowledged")


def test_a_key_is_consumed_in_order_across_a_split(cli: Cli, scalable: str, change: Change) -> None:
    cli("produce", scalable, "-m", "a", "-k", "key-0")
    change("split/1")
    cli("produce", scalable, "-m", "b", "-k", "key-0")
    words = ("consume", scalable, "-s", "s", "-p", "Earliest", "-n", "2", "-F", "%p %v\\n")
    assert cli(*words) == consumed("1 a\n3 b\n", 2)


@pytest.mark.parametrize("kind", ["Exclusive", "Shared"])
def test_a_subscription_without_a_name_is_deleted(cli: Cli, scalable: str, kind: str) -> None:
    assert cli("consume", scalable, "-t", kind, "--idle-timeout", "10ms") == Outcome(
        0,
        "",
        "0 messages successfully consumed\n"
        "a new subscription starts after the last message; use -p Earliest to start at the first\n",
    )
    assert cli("scalable-topics", "describe", scalable).stdout.endswith("\nSubscriptions none\n")


def test_a_subscription_for_the_other_type_of_consumer_is_refused(cli: Cli, scalable: str) -> None:
    cli("scalable-topics", "create-subscription", scalable, "-s", "s", "--type", "QUEUE")
    said = f"Subscription s of {scalable} is for queue consumers (NotAllowedError)"
    assert cli("consume", scalable, "-s", "s") == Outcome(
        1, "", f"error: {scalable} at {cli.environ['PULSARCTL_SERVICE_URL']}: {said}\n"
    )


def test_tail_names_the_topic_and_not_the_segment(cli: Cli, scalable: str) -> None:
    cli("produce", scalable, "-m", "a", "-k", "k")
    outcome = cli("tail", scalable, "--from", "earliest", "-n", "1")
    assert re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", outcome.stdout) == f"{scalable}  TIME  key=k  a\n"


def test_a_missing_topic_is_created_by_produce_alone(cli: Cli, topic: str) -> None:
    name = f"topic://public/default/{topic}"
    assert cli("read", name, "-e") == Outcome(
        3,
        "",
        f"error: {name} at {cli.environ['PULSARCTL_SERVICE_URL']}: Scalable topic not found: {name} (TopicNotFound)\n"
        "hint: check the name; 'pulsarctl scalable-topics list NAMESPACE' shows what exists\n",
    )
    assert cli("tail", name) == Outcome(
        3, "", f"error: {name} does not exist\nhint: pulsarctl scalable-topics list public/default\n"
    )
    assert cli("produce", name, "-m", "a") == produced(1)


def test_a_message_above_the_limit_is_named(cli: Cli, scalable: str) -> None:
    outcome = cli("produce", scalable, "--lines", "-", stdin="a\n" + "b" * 6_000_000 + "\nc\n")
    assert outcome == Outcome(
        1,
        "",
        "error: cannot send line 2 of stdin: its 6000000 bytes exceed the broker's limit;"
        " 1 of 2 messages were acknowledged; resume at line 2\n"
        "hint: split it with --chunking, or raise maxMessageSize on the broker\n",
    )


REFUSED = {
    "produce -m a --transaction": "cannot use --transaction with a scalable topic",
    "produce -m a --chunking": "cannot use --chunking with a scalable topic",
    "produce -m a --schema auto": "cannot use --schema auto with a scalable topic",
    "produce -m a --partition 0": "cannot use --partition with a scalable topic: it has segments",
    "consume -s s --transaction -n 1": "cannot use --transaction with a scalable topic",
    "consume -s s -t Key_Shared": "cannot use -t Key_Shared with a scalable topic",
    "consume -s s -e": "cannot use --to or -e with a scalable topic",
    "consume -s s --nack": "cannot use --nack with a scalable topic",
    "read --compacted": "cannot read a compacted scalable topic: Pulsar does not compact segments",
    "read --from 1:2": "cannot use a message ID or an index with a scalable topic: each segment has its own"
    "\nhint: use earliest, latest, a TIME, -10m, -N, or +N",
}


def test_what_a_scalable_topic_does_not_have_is_refused(cli: Cli, scalable: str) -> None:
    for line, said in REFUSED.items():
        name, *words = line.split()
        assert cli(name, scalable, *words) == Outcome(2, "", f"error: {said}\n"), line


def test_a_broker_without_scalable_topics_is_named(tmp_path: Path) -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(enabled=False))
    with EmbeddedBroker(config=config) as broker:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        said = f"error: {broker.service_url} has no scalable topics (Pulsar 5.0 and later)\n"
        for line in ("produce topic://public/default/x -m a", "consume topic://public/default/x -s s"):
            assert cli(*line.split()) == Outcome(3, "", said)


def test_a_scalable_topic_needs_the_binary_protocol(cli: Cli, scalable: str) -> None:
    assert cli("read", scalable, "-e", "--url", str(cli.environ["PULSARCTL_ADMIN_URL"])) == Outcome(
        2,
        "",
        f"error: cannot reach {scalable} through an http service URL\nhint: use a pulsar:// or pulsar+ssl:// URL\n",
    )
