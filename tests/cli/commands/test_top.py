"""`pulsarctl top`: on a terminal with a size, and for scripts."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path

import pulsar
import pytest

from tests.cli.drawn import Drawn
from tests.cli.publishing import publish
from tests.support.runner import Cli


@pytest.fixture
def namespace(cli: Cli) -> str:
    """A new one for each test."""
    name = f"public/live-{secrets.token_hex(4)}"
    assert cli("namespaces", "create", name).exit_code == 0
    return name


@pytest.fixture
def two_topics(client: pulsar.Client, namespace: str) -> Iterator[str]:
    """`small` with a backlog of 1, and `large` with one of 3 and a consumer; returns their namespace."""
    client.subscribe(f"{namespace}/small", "billing").close()
    consumer = client.subscribe(f"{namespace}/large", "billing", consumer_name="worker")
    publish(client, f"{namespace}/small", "a")
    publish(client, f"{namespace}/large", "a", "b", "c")
    yield namespace
    consumer.close()


def test_once_prints_a_table_sorted_by_the_column(cli: Cli, two_topics: str) -> None:
    outcome = cli("top", "--once", "--namespace", two_topics, "--sort", "backlog")
    lines = [line.split() for line in outcome.stdout.splitlines()]
    assert lines[0] == ["TOPIC", "HEALTH", "IN/S", "OUT/S", "BYTES", "IN/S", "BACKLOG", "SUBS", "PRODUCERS", "STORAGE"]
    assert [line[0].rpartition("/")[2] for line in lines[1:]] == ["large", "small"]
    reversed_lines = cli(
        "top", "--once", "--namespace", two_topics, "--sort", "backlog", "--reverse"
    ).stdout.splitlines()
    assert [line.split()[0].rpartition("/")[2] for line in reversed_lines[1:]] == ["small", "large"]


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("topics", {"topic": "large", "backlog": 3, "subscriptions": 1}),
        ("subscriptions", {"topic": "large", "subscription": "billing", "type": "Exclusive", "consumers": 1}),
        ("consumers", {"topic": "large", "subscription": "billing", "consumer": "worker"}),
    ],
)
def test_json_has_the_rows_of_each_kind(cli: Cli, two_topics: str, what: str, expected: dict[str, object]) -> None:
    outcome = cli("top", what, "--once", "--namespace", two_topics, "--sort", "topic", "-o", "json")
    first = json.loads(outcome.stdout)[0] | {"topic": "large"}
    assert expected.items() <= first.items()


def test_several_looks_print_several_times(cli: Cli, two_topics: str) -> None:
    outcome = cli("top", "-n", "3", "-i", "200ms", "--namespace", two_topics, "-o", "jsonl")
    assert len(outcome.stdout.splitlines()) == 6


def test_without_a_terminal_it_says_how_to_run_it(cli: Cli, two_topics: str) -> None:
    outcome = cli("top", "--namespace", two_topics)
    assert outcome.exit_code == 2
    assert "--once" in outcome.stderr


def test_an_unknown_column_is_a_usage_error(cli: Cli) -> None:
    assert cli("top", "--once", "--sort", "size").exit_code == 2


def test_a_backlog_without_a_consumer_is_a_problem_in_words_and_in_color(cli: Cli, two_topics: str) -> None:
    words = ("top", "subscriptions", "--once", "--namespace", two_topics, "--sort", "topic")
    large, small = cli(*words).stdout.splitlines()[1:]
    assert (large.split()[2], small.split()[2]) == ("ok", "problem")
    large, small = cli("--color", "always", *words).stdout.splitlines()[1:]
    assert "  \x1b[32mok\x1b[0m       " in large and "  \x1b[1;31mproblem\x1b[0m  " in small


def test_numbers_are_aligned_on_the_right(cli: Cli, two_topics: str) -> None:
    heading, *rows = cli("top", "--once", "--namespace", two_topics, "--sort", "topic").stdout.splitlines()
    end = heading.index("BACKLOG") + len("BACKLOG")
    assert [row[:end].split(" ")[-1] for row in rows] == ["3", "1"]


def topics_of(screen: Drawn) -> list[str]:
    return [word for line in screen.frame for word in line.split()[:1] if word in ("large", "small")]


def test_the_screen_sorts_changes_its_view_follows_the_size_and_quits(
    cli: Cli, two_topics: str, tmp_path: Path
) -> None:
    words = ("top", "--namespace", two_topics, "--sort", "backlog", "-i", "300ms")
    with Drawn(tmp_path, *words, environ=cli.environ, size=(20, 110)) as screen:
        screen.wait_for(lambda it: topics_of(it) == ["large", "small"])
        assert "2 topics" in screen.frame[0]
        assert "backlog 4" in screen.frame[0]
        assert len(screen.frame) <= 20
        assert max(map(len, screen.frame)) <= 110
        screen.press("r")
        screen.wait_for(lambda it: topics_of(it) == ["small", "large"])
        screen.press("c")
        screen.wait_for(lambda it: "worker" in "\n".join(it.frame))
        screen.press("t")
        screen.wait_for(lambda it: "PRODUCERS" in "\n".join(it.frame))
        screen.resize(7, 60)
        screen.wait_for(lambda it: len(it.frame) <= 7 and max(map(len, it.frame)) <= 60)
        assert topics_of(screen)
        screen.press("q")
        assert screen.finish() == 0
    assert screen.raw.endswith("\x1b[?25h\x1b[?1049l"), "the terminal is as before"


def test_rates_of_a_running_producer_are_drawn_as_bars(
    cli: Cli, client: pulsar.Client, namespace: str, tmp_path: Path
) -> None:
    producer = client.create_producer(f"{namespace}/busy")

    def has_bars(screen: Drawn) -> bool:
        producer.send(b"a")
        return "█" in "\n".join(screen.frame)

    with Drawn(tmp_path, "top", "--namespace", namespace, "-i", "200ms", environ=cli.environ) as screen:
        screen.wait_for(has_bars)
        screen.press("q")
        assert screen.finish() == 0


def test_a_number_of_looks_ends_the_screen(cli: Cli, two_topics: str, tmp_path: Path) -> None:
    with Drawn(tmp_path, "top", "-n", "1", "--namespace", two_topics, environ=cli.environ) as screen:
        assert screen.finish() == 0
        assert "large" in screen.text


def test_a_broker_that_stops_answering_is_said_on_the_screen(tmp_path: Path) -> None:
    nowhere = {"PULSARCTL_ADMIN_URL": "http://127.0.0.1:1", "HOME": str(tmp_path)}
    with Drawn(tmp_path, "top", environ=nowhere) as screen:
        screen.wait_for(lambda it: "cannot reach the broker" in "\n".join(it.frame))
        screen.press("q")
        assert screen.finish() == 0


def test_the_screen_shows_health_in_color(cli: Cli, two_topics: str, tmp_path: Path) -> None:
    words = ("top", "-n", "1", "--namespace", two_topics)
    with Drawn(tmp_path, *words, environ=cli.environ | {"NO_COLOR": "", "TERM": "xterm"}) as screen:
        assert screen.finish() == 0
    assert "\x1b[1;31mproblem" in screen.raw and "\x1b[32mok" in screen.raw
