"""`pulsarctl tail`: several topics at once."""

import json
import re
import secrets
from pathlib import Path

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.drawn import Drawn
from tests.cli.publishing import publish
from tests.support.program import Program
from tests.support.runner import Cli
from tests.support.scalable_topic import ScalableTopic


@pytest.fixture
def namespace(cli: Cli) -> str:
    """A new one for each test."""
    name = f"public/live-{secrets.token_hex(4)}"
    assert cli("namespaces", "create", name).exit_code == 0
    return name


def plain(environ: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if value is not None}


def test_each_line_has_the_name_of_its_topic(cli: Cli, client: pulsar.Client, namespace: str) -> None:
    publish(client, f"{namespace}/orders", "a", partition_key="k")
    publish(client, f"{namespace}/pay", "b\nc", None)
    outcome = cli("tail", f"{namespace}/orders", f"{namespace}/pay", "--from", "earliest", "-n", "3")
    assert outcome.exit_code == 0, outcome.stderr
    lines = sorted(re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", line) for line in outcome.stdout.splitlines())
    assert lines == ["orders  TIME  key=k  a", "pay     TIME  (tombstone)", "pay     TIME  b\\nc"]


def test_a_topic_that_only_looks_like_a_partition_is_followed(cli: Cli, client: pulsar.Client, namespace: str) -> None:
    publish(client, f"{namespace}/bar-partition-x", "a")
    for words in ((f"{namespace}/bar-partition-x",), ("--regex", f"{namespace}/bar.*")):
        outcome = cli("tail", *words, "--from", "earliest", "-n", "1")
        assert outcome.exit_code == 0, outcome.stderr
        assert outcome.stdout.split()[0].rpartition("/")[2] == "bar-partition-x"
    assert cli("tail", f"{namespace}/bar", "--from", "earliest", "-n", "1").exit_code == 3


def test_a_namespace_or_a_pattern_has_its_scalable_topics_once(
    cli: Cli, client: pulsar.Client, pulsar_broker: EmbeddedBroker, namespace: str
) -> None:
    publish(client, f"{namespace}/orders", "a")
    assert cli("scalable-topics", "migrate", f"{namespace}/orders").exit_code == 0
    ScalableTopic.create(pulsar_broker, "pay", namespace=namespace).publish(0, ["b"])
    for words, values in (
        ((namespace,), ["a", "b"]),
        (("--regex", f"topic://{namespace}/pa."), ["b"]),
    ):
        outcome = cli("tail", *words, "--from", "earliest", "-n", "0", "--idle-timeout", "1s", "-o", "jsonl")
        assert outcome.exit_code == 0, outcome.stderr
        assert sorted(json.loads(line)["value"] for line in outcome.stdout.splitlines()) == values


def test_topics_of_several_namespaces_have_longer_names(cli: Cli, client: pulsar.Client, namespace: str) -> None:
    publish(client, f"{namespace}/orders", "a")
    publish(client, "other-orders", "b")
    outcome = cli("tail", f"{namespace}/orders", "other-orders", "--from", "earliest", "-n", "2")
    assert {line.split()[0] for line in outcome.stdout.splitlines()} == {
        f"{namespace}/orders",
        "public/default/other-orders",
    }


def test_messages_that_arrive_later_are_printed_and_nothing_is_left(
    cli: Cli, client: pulsar.Client, namespace: str, tmp_path: Path
) -> None:
    topics = [f"{namespace}/a", f"{namespace}/b"]
    for topic in topics:
        publish(client, topic, "before")
    with Program(tmp_path, "tail", *topics, "-o", "jsonl", "-n", "2", environ=plain(cli.environ)) as program:
        for topic in topics:
            while not _subscriptions(cli, topic):
                continue  # until its reader is there
            publish(client, topic, "later")
        assert program.finish() == 0
    found = [json.loads(line) for line in program.stdout.splitlines()]
    assert sorted((one["topic"].rpartition("/")[2], one["value"]) for one in found) == [("a", "later"), ("b", "later")]
    assert not _subscriptions(cli, topics[0])


def _subscriptions(cli: Cli, topic: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(cli("topics", "stats", topic, "-o", "json").stdout)["subscriptions"]
    return found


def test_a_pattern_follows_matching_topics_and_later_ones(
    cli: Cli, client: pulsar.Client, namespace: str, tmp_path: Path
) -> None:
    assert cli("topics", "create-partitioned-topic", f"{namespace}/order-1", "-p", "2").exit_code == 0
    publish(client, f"{namespace}/order-1", "a")
    publish(client, f"{namespace}/payment", "b")
    words = (
        "tail",
        "--regex",
        f"{namespace}/order.*",
        "--from",
        "earliest",
        "-n",
        "2",
        "--refresh",
        "200ms",
        "-o",
        "jsonl",
    )
    with Program(tmp_path, *words, environ=plain(cli.environ)) as program:
        program.read_lines(1)
        publish(client, f"{namespace}/order-2", "c")
        assert program.finish() == 0
    assert [json.loads(line)["value"] for line in program.stdout.splitlines()] == ["a", "c"]


def test_a_namespace_is_followed_with_its_later_topics(
    cli: Cli, client: pulsar.Client, namespace: str, tmp_path: Path
) -> None:
    publish(client, f"{namespace}/orders", "a")
    words = ("tail", namespace, "--from", "earliest", "-n", "2", "--refresh", "200ms")
    with Program(tmp_path, *words, environ=plain(cli.environ)) as program:
        program.read_lines(1)
        publish(client, f"{namespace}/payments", "b")
        assert program.finish() == 0
    assert [(line.split()[0], line.split()[-1]) for line in program.stdout.decode().splitlines()] == [
        ("orders", "a"),
        ("payments", "b"),
    ]


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("absent",), 3, "does not exist"),
        (("--regex", "("), 2, "is not a regular expression"),
        (("orders", "--from", "1:2"), 2, "cannot start several topics at 1:2"),
    ],
)
def test_what_cannot_be_followed(cli: Cli, words: tuple[str, ...], code: int, problem: str) -> None:
    outcome = cli("tail", *words)
    assert outcome.exit_code == code
    assert problem in outcome.stderr


def test_an_idle_timeout_ends_it(cli: Cli, client: pulsar.Client, namespace: str) -> None:
    publish(client, f"{namespace}/quiet", "a")
    assert cli("tail", f"{namespace}/quiet", "--idle-timeout", "500ms").exit_code == 0
    assert cli("tail", f"{namespace}/quiet", "--idle-timeout", "500ms", "-n", "1").exit_code == 7


def test_it_fails_when_no_topic_is_left_to_follow(
    cli: Cli, client: pulsar.Client, namespace: str, tmp_path: Path
) -> None:
    publish(client, f"{namespace}/gone", "a")
    with Program(tmp_path, "tail", f"{namespace}/gone", "--from", "earliest", environ=plain(cli.environ)) as program:
        program.read_lines(1)
        assert cli("topics", "delete", f"{namespace}/gone", "--force").exit_code == 0
        assert program.finish() == 3


def test_a_terminal_shows_each_name_in_a_color_and_escapes_what_others_wrote(
    cli: Cli, client: pulsar.Client, namespace: str, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        publish(client, f"{namespace}/{name}", "\x1b]0;title\x07")
    words = ("tail", f"{namespace}/a", f"{namespace}/b", "--from", "earliest", "-n", "2", "--color", "always")
    with Drawn(tmp_path, *words, environ=cli.environ) as program:
        assert program.finish() == 0
    colors = set(re.findall(r"\x1b\[(\d+)m[ab]\x1b\[0m  ", program.raw))
    assert len(colors) == 2
    assert "\x1b]0" not in program.raw
    assert "\\u001b]0;title" in program.raw
