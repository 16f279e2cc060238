"""Peeking at messages, exact output."""

import asyncio
import json
import re

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire.markers import Update, encode_update
from broker_core.wire.send import SendRun
from tests.support.runner import Cli, Outcome

EDGE = "+--------+-------------------------------------------------+----------------+\n"
HEAD = (
    "         +-------------------------------------------------+\n"
    "         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n"
) + EDGE
BETWEEN = "-" * 73 + "\n\n"
VALUES = ("-F", "%v\\n")


def dump(hexadecimal: str, text: str) -> str:
    return f"{HEAD}|00000000| {hexadecimal:<47} |{text:<16}|\n{EDGE}"


def timeless(outcome: Outcome) -> Outcome:
    return Outcome(outcome.exit_code, re.sub(r"Publish time: \d+", "Publish time: T", outcome.stdout), outcome.stderr)


@pytest.fixture
def ids(client: pulsar.Client, topic: str) -> list[tuple[int, int]]:
    """Publishes the messages 0 to 2, one entry each, to the subscription s; returns their IDs."""
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    found = [producer.send(b"%d" % number) for number in range(3)]
    producer.close()
    return [(one.ledger_id(), one.entry_id()) for one in found]


def test_the_next_messages_are_printed_as_pulsar_admin_prints_them(cli: Cli, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    first = producer.send(b"hi\n", {"b": "2", "a": "1"}, event_timestamp=5)
    producer.send(bytes(range(0x61, 0x61 + 17)))
    assert timeless(cli("topics", "peek-messages", topic, "-s", "s", "-n", "9")) == Outcome(
        0,
        f"Message ID: {first.ledger_id()}:0\nPublish time: T\nEvent time: 5\nProperties:\na    1\nb    2\n"
        + dump("68 69 0a", "hi.")
        + BETWEEN
        + f"Message ID: {first.ledger_id()}:1\nPublish time: T\nEvent time: 0\n"
        + HEAD
        + "|00000000| 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 |abcdefghijklmnop|\n"
        + f"|00000010| 71{'':45} |q{'':15}|\n"
        + EDGE,
        "",
    )


def test_subscriptions_peek_shows_text_as_text(cli: Cli, client: pulsar.Client, topic: str) -> None:
    client.subscribe(topic, "s").close()
    producer = client.create_producer(topic)
    first = producer.send("grüße\n".encode())
    producer.send(b"\x00")
    assert timeless(cli("subscriptions", "peek", topic, "s", "-n", "2")).stdout == (
        f"Message ID: {first.ledger_id()}:0\nPublish time: T\nEvent time: 0\ngrüße\n\n"
        + BETWEEN
        + f"Message ID: {first.ledger_id()}:1\nPublish time: T\nEvent time: 0\n"
        + dump("00", ".")
    )


@pytest.mark.parametrize("spelled", ["topics peek-messages T -s s", "subscriptions peek T s", "subs peek T -s s"])
def test_peeking_consumes_nothing(cli: Cli, topic: str, ids: list[tuple[int, int]], spelled: str) -> None:
    words = [topic if word == "T" else word for word in spelled.split()]
    assert cli(*words, *VALUES) == Outcome(0, "0\n", "")
    assert cli(*words, *VALUES, "-n", "2") == Outcome(0, "0\n1\n", "")
    assert cli("subscriptions", "skip", topic, "s", "-n", "2").exit_code == 0
    assert cli(*words, *VALUES, "-n", "5") == Outcome(0, "2\n", "")
    assert cli("subscriptions", "skip", topic, "s", "-n", "1").exit_code == 0
    assert cli(*words, *VALUES) == Outcome(0, "", "no messages\n")


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_a_batch_shows_its_messages(cli: Cli, client: pulsar.Client, topic: str, compression: str) -> None:
    client.subscribe(topic, "s").close()
    assert cli("produce", topic, "-k", "key", "-z", compression, stdin="a\nb\nc\n").exit_code == 0
    template = ("-F", "%o{entry}:%o{batch} %y %k=%v %a{compression}\\n")
    three = "".join(f"0:{index} {index} key={value} {compression}\n" for index, value in enumerate("abc"))
    assert cli("topics", "peek-messages", topic, "-s", "s", "-n", "9", *template) == Outcome(0, three, "")
    assert cli("topics", "peek-messages", topic, "-s", "s", "-n", "2", *template).stdout == three[: len(three) * 2 // 3]
    assert cli("topics", "examine-messages", topic, *template) == Outcome(0, three, "")
    shown = cli("topics", "examine-messages", topic).stdout
    assert re.findall(r"Batch Message ID: \d+:0:(\d)", shown) == ["0", "1", "2"]


def test_json_shows_all_fields_of_a_message(cli: Cli, topic: str) -> None:
    words = ("-k", "grüße", "-p", "é=ü", "--ordering-key", "o", "--event-time", "2024-05-01T00:00:00Z")
    assert cli("produce", topic, "-m", "x", *words, "--producer-name", "me", "--sequence-id", "7").exit_code == 0
    peeked = json.loads(cli("topics", "examine-messages", topic, "-o", "jsonl").stdout)
    read = json.loads(cli("read", topic, "-m", "earliest", "-e", "-o", "jsonl").stdout)
    assert peeked == {name: value for name, value in read.items() if name != "index"} | {
        "index": None,
        "partition": -1,
    }


def test_a_message_is_found_by_its_place_from_either_end(cli: Cli, topic: str, ids: list[tuple[int, int]]) -> None:
    words = ("topics", "examine-messages", topic, *VALUES)
    assert [cli(*words, "-m", str(place)).stdout for place in (1, 2, 3)] == ["2\n", "1\n", "0\n"]
    assert cli(*words, "-i", "earliest", "-m", "2") == Outcome(0, "1\n", "")
    assert cli(*words, "--initialPosition", "latest", "--messagePosition", "2") == Outcome(0, "1\n", "")


@pytest.mark.parametrize(("noun", "shown"), [("topics", dump("31", "1")), ("subscriptions", "1\n")])
def test_a_message_is_found_by_its_id(cli: Cli, topic: str, ids: list[tuple[int, int]], noun: str, shown: str) -> None:
    ledger, entry = ids[1]
    words = (noun, "get-message-by-id", topic, "-l", str(ledger))
    assert timeless(cli(*words, "-e", str(entry))) == Outcome(
        0, f"Message ID: {ledger}:{entry}\nPublish time: T\nEvent time: 0\n{shown}", ""
    )
    missing = cli(*words, "-e", "99", *VALUES)
    assert (missing.exit_code, missing.stdout) == (3, "")
    assert missing.stderr.startswith("error: Message id not found (404 for GET ")


def test_an_empty_topic_has_nothing_to_examine(cli: Cli, topic: str) -> None:
    assert cli("topics", "create", topic).exit_code == 0
    refused = cli("topics", "examine-messages", topic)
    assert (refused.exit_code, refused.stdout) == (6, "")
    assert refused.stderr.startswith("error: Could not examine messages due to the total message is zero (412 ")


def test_a_missing_topic_is_not_an_empty_topic(cli: Cli) -> None:
    outcome = cli("topics", "peek-messages", "nix", "-s", "s")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert outcome.stderr.startswith("error: Topic persistent://public/default/nix not found (404 ")


@pytest.mark.parametrize("spelled", ["topics peek-messages T -s typo", "subscriptions peek T typo"])
def test_a_mistyped_subscription_is_refused_and_not_created(cli: Cli, topic: str, spelled: str) -> None:
    assert cli("topics", "create-subscription", topic, "-s", "billing").exit_code == 0
    refused = cli(*(topic if word == "T" else word for word in spelled.split()))
    assert (refused.exit_code, refused.stdout) == (3, "")
    assert refused.stderr == (
        f"error: there is no subscription 'typo' on {topic}\nhint: pulsarctl topics subscriptions {topic}\n"
    )
    assert cli("topics", "subscriptions", topic).stdout == "billing\n"


def test_one_partition_can_be_peeked(cli: Cli, topic: str, pulsar_broker: EmbeddedBroker) -> None:
    pulsar_broker.create_partitioned_topic(topic, 2)
    assert cli("produce", topic, "-m", "x", "--partition", "1").exit_code == 0
    words = ("topics", "examine-messages")
    assert cli(*words, f"{topic}-partition-1", "-F", "%p %v\\n") == Outcome(0, "1 x\n", "")
    assert "not allowed" in cli(*words, topic).stderr


def test_a_tombstone_is_null(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, "-k", "k", "-Z", "-db").exit_code == 0
    assert json.loads(cli("topics", "examine-messages", topic, "-o", "jsonl").stdout)["value"] is None


def test_markers_of_brokers_are_shown_only_if_asked_for(
    cli: Cli, pulsar_broker: EmbeddedBroker, topic: str, ids: list[tuple[int, int]]
) -> None:
    entry = encode_update(Update("other", {"east": (1, 2)}), 1)

    async def write() -> None:
        stored = asyncio.Event()
        marker = SendRun(0, entry, [0], [len(entry)], [b""], [0], [1])
        (await pulsar_broker.broker.topics.get(parse_topic(topic))).publish(marker, lambda *_: stored.set())
        await stored.wait()

    pulsar_broker.call(write())
    assert cli("topics", "peek-messages", topic, "-s", "s", "-n", "9", *VALUES).stdout == "0\n1\n2\n"
    shown = cli("topics", "peek-messages", topic, "-s", "s", "-n", "9", "-ssm", "-F", "%i\\n").stdout
    assert len(shown.splitlines()) == 4
