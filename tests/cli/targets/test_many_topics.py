"""Verbs on several topics: named, from a file, from stdin, or matched; failures by name."""

import json
from pathlib import Path

import pulsar
import pytest

from pulsarctl.commands.topics.request_table import ROWS
from pulsarctl.requests.on_topics import takes_topics
from tests.support.condition import wait_until
from tests.support.runner import Cli, Outcome

NAMESPACE = "public/many"


@pytest.fixture(autouse=True)
def place(cli: Cli) -> None:
    cli("namespaces", "create", NAMESPACE)
    cli("topics", "delete", f"{NAMESPACE}/.*", "-r", "--yes", "--force")


def create(cli: Cli, *names: str) -> list[str]:
    topics = [f"persistent://{NAMESPACE}/{name}" for name in names]
    for topic in topics:
        cli("topics", "create", topic)
    return topics


def left(cli: Cli) -> list[str]:
    return cli("topics", "list", NAMESPACE).stdout.split()


@pytest.mark.parametrize("verb", ["unload", "trim"])
def test_a_verb_acts_on_several_named_topics(cli: Cli, verb: str) -> None:
    topics = create(cli, "a", "b", "c")
    done = cli("topics", verb, *topics, "-v")
    sent = [line.split()[1] for line in done.stderr.splitlines() if line.startswith(("PUT", "POST"))]
    assert done.exit_code == 0
    assert sorted(url.split("/")[-2] for url in sent) == ["a", "b", "c"]


ACTIONS: dict[str, tuple[str, ...]] = {
    "terminate": ("--yes",),
    "truncate": ("--yes",),
    "create-subscription": ("-s", "other"),
    "skip": ("-s", "sub", "-n", "1", "--yes"),
    "reset-cursor": ("-s", "sub", "-m", "earliest", "--yes"),
    "offload": ("-s", "1G"),
    "grant-permission": ("--role", "app", "--actions", "consume"),
    "revoke-permission": ("--role", "app"),
    "set-replicated-subscription-status": ("-s", "sub", "--enable"),
    "enable-deduplication": (),
    "remove-shadow-topics": (),
}


def test_every_verb_of_the_tables_that_changes_a_topic_takes_several() -> None:
    taking = {row.name for row in ROWS if takes_topics(row)}
    others = {"set-shadow-topics", "create-shadow-topic", "disable-deduplication"}
    assert taking <= {*ACTIONS, *others}


@pytest.mark.parametrize("verb", ACTIONS)
def test_a_verb_acts_on_the_others_if_one_fails(cli: Cli, verb: str) -> None:
    topics = create(cli, "a", "b")
    for topic in topics:
        cli("topics", "create-subscription", topic, "-s", "sub")
        cli("topics", "grant-permission", topic, "--role", "app", "--actions", "produce")
    missing = "persistent://public/no-such-namespace/t"
    done = cli("topics", verb, topics[0], missing, topics[1], *ACTIONS[verb], "-v")
    sent = {name for name in ("a", "b") if f"/{NAMESPACE}/{name}" in done.stderr}
    assert (sent, done.exit_code) == ({"a", "b"}, 10), done.stderr
    assert f"error: {missing}: " in done.stderr
    assert f"error: {topics[1]}: " not in done.stderr


@pytest.mark.parametrize("verb", ["partitioned-terminate", "delete-partitioned-topic", "create-missed-partitions"])
def test_a_verb_of_partitioned_topics_takes_a_pattern(cli: Cli, verb: str) -> None:
    for name in ("p-1", "p-2"):
        cli("topics", "create", f"{NAMESPACE}/{name}", "2")
    consent = () if verb == "create-missed-partitions" else ("--yes",)
    done = cli("topics", verb, f"{NAMESPACE}/p-.", "--regex", *consent, "-v")
    assert done.exit_code == 0, done.stderr
    assert all(f"/{NAMESPACE}/{name}/" in done.stderr for name in ("p-1", "p-2"))


def test_several_topics_are_created_with_a_number_of_partitions(cli: Cli) -> None:
    names = [f"{NAMESPACE}/{name}" for name in ("a", "b")]
    assert cli("topics", "create", *names, "2") == Outcome(0, "", "")
    assert left(cli) == [f"persistent://{name}-partition-{number}" for name in names for number in (0, 1)]


def test_topics_of_a_file_are_created_and_those_that_exist_are_named(cli: Cli) -> None:
    topics = create(cli, "a")
    done = cli("topics", "create", "--from-file", "-", stdin=f"{topics[0]}\n{NAMESPACE}/b\n{NAMESPACE}/c")
    assert done.exit_code == 10
    assert f"error: {topics[0]}: " in done.stderr
    assert left(cli) == [f"persistent://{NAMESPACE}/{name}" for name in ("a", "b", "c")]


def test_partitions_of_several_topics_are_increased(cli: Cli) -> None:
    cli("topics", "create-partitioned", f"{NAMESPACE}/p-1", f"{NAMESPACE}/p-2", "-p", "1")
    assert cli("topics", "update-partitioned", f"{NAMESPACE}/p-.", "3", "--regex") == Outcome(0, "", "")
    assert len(left(cli)) == 6
    assert cli("topics", "update-partitioned", "--namespace", NAMESPACE, "-p", "4").exit_code == 0
    assert len(left(cli)) == 8


def test_a_number_of_partitions_of_zero_is_left_to_the_broker(cli: Cli) -> None:
    done = cli("topics", "create-partitioned", f"{NAMESPACE}/p-1", f"{NAMESPACE}/p-2", "-p", "0")
    assert (done.exit_code, left(cli)) == (10, [])


@pytest.mark.parametrize("verb", ["create-partitioned", "update-partitioned"])
def test_a_number_of_partitions_that_is_given_twice_names_no_topic(cli: Cli, verb: str) -> None:
    done = cli("topics", verb, f"{NAMESPACE}/p-1", "3", "-p", "4")
    assert (done.exit_code, left(cli)) == (2, [])
    assert "the number of partitions is given twice: 3 and -p 4" in done.stderr


@pytest.mark.parametrize("words", [("terminate",), ("truncate",), ("reset-cursor", "-s", "sub", "-t", "1h")])
def test_changing_what_a_pattern_matches_requires_consent(cli: Cli, words: tuple[str, ...]) -> None:
    create(cli, "a", "b")
    verb, *flags = words
    done = cli("topics", verb, f"{NAMESPACE}/.", "--regex", *flags)
    assert (done.exit_code, "confirm with --yes" in done.stderr) == (2, True)


def test_what_several_topics_answer_is_shown_by_topic(cli: Cli) -> None:
    first, second = create(cli, "a", "b")
    done = cli("topics", "terminate", first, second, "--yes", "-o", "json")
    assert list(json.loads(done.stdout)) == [first, second]


def test_the_time_to_which_several_subscriptions_move_is_echoed_once(cli: Cli) -> None:
    topics = create(cli, "a", "b")
    cli("topics", "create-subscription", *topics, "-s", "sub")
    done = cli("topics", "reset-cursor", *topics, "-s", "sub", "-t", "1h", "--yes")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith("subscription sub of 2 topics moved to 20")


def test_a_topic_without_the_subscription_is_not_said_to_be_moved(cli: Cli) -> None:
    _, with_it = create(cli, "a", "b")
    cli("topics", "create-subscription", with_it, "-s", "sub")
    done = cli("topics", "reset-cursor", "-s", "sub", "-t", "1h", "--namespace", NAMESPACE, "--yes")
    assert done.stderr.startswith(f"subscription sub of {with_it} moved to 20")


def test_topics_come_from_stdin(cli: Cli) -> None:
    topics = create(cli, "a", "b")
    assert cli("topics", "delete", "--from-file", "-", "--yes", stdin="\n".join(topics)).exit_code == 0
    assert left(cli) == []


def test_a_pattern_matches_whole_names_and_partitioned_topics_once(cli: Cli) -> None:
    create(cli, "day-1", "day-2", "other-day-1")
    cli("topics", "create", f"{NAMESPACE}/day-3", "4")
    done = cli("topics", "delete", f"{NAMESPACE}/day-.", "--regex", "--dry-run")
    assert [line.partition("/admin/v2/")[2] for line in done.stdout.splitlines()] == [
        f"persistent/{NAMESPACE}/day-1?force=false",
        f"persistent/{NAMESPACE}/day-2?force=false",
        f"persistent/{NAMESPACE}/day-3/partitions?force=false",
    ]
    assert cli("topics", "delete", f"{NAMESPACE}/day-.", "--regex", "--yes").exit_code == 0
    assert left(cli) == [f"persistent://{NAMESPACE}/other-day-1"]


def test_topics_that_a_pattern_matches_are_not_asked_one_by_one_whether_they_are_partitioned(cli: Cli) -> None:
    create(cli, "day-1", "day-2")
    cli("topics", "create", f"{NAMESPACE}/day-3", "4")
    done = cli("topics", "delete", f"{NAMESPACE}/day-.", "--regex", "--yes", "--verbose")
    assert done.exit_code == 0, done.stderr
    asked = [line for line in done.stderr.splitlines() if "GET" in line]
    assert asked
    assert [line for line in asked if "/day-" in line] == []


def test_a_topic_that_is_named_twice_is_deleted_once(cli: Cli) -> None:
    (topic,) = create(cli, "a")
    assert cli("topics", "delete", topic, topic, "--yes").exit_code == 0


def test_what_fails_is_named_and_the_rest_is_done(cli: Cli) -> None:
    topics = create(cli, *(f"t{number}" for number in range(20)))
    missing = f"persistent://{NAMESPACE}/missing"
    done = cli("topics", "delete", *topics[:10], missing, *topics[10:], "--yes", "--parallel", "4")
    assert done.exit_code == 10
    assert f"error: {missing}: " in done.stderr
    assert "error: cannot delete 1 of 21 topics" in done.stderr
    assert left(cli) == []


def test_a_single_failure_keeps_its_exit_code(cli: Cli) -> None:
    assert cli("topics", "unload", f"{NAMESPACE}/missing").exit_code == 3


def test_no_match_is_no_failure_and_is_said(cli: Cli) -> None:
    done = cli("topics", "delete", f"{NAMESPACE}/none-.*", "--regex", "--yes")
    assert (done.exit_code, done.stderr) == (0, f"no topic matches {NAMESPACE}/none-.*\n")


def test_an_empty_namespace_is_no_news_for_a_scheduler(cli: Cli) -> None:
    for words in (("compact", "--wait", "--skip-if-running"), ("unload",)):
        done = cli("topics", *words, "--namespace", NAMESPACE)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_a_wrong_pattern_is_refused(cli: Cli) -> None:
    done = cli("topics", "delete", f"{NAMESPACE}/(", "--regex", "--yes")
    assert done.exit_code == 2
    assert "is not a regular expression" in done.stderr


def test_no_topic_is_refused(cli: Cli) -> None:
    assert cli("topics", "unload").exit_code == 2


def test_a_file_that_is_not_text_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(b"\xff\xfe")
    done = cli("topics", "delete", "--from-file", str(tmp_path / "names"), "--yes")
    assert (done.exit_code, "it is not UTF-8" in done.stderr) == (2, True)


def test_the_question_shows_some_names_and_the_number(cli: Cli) -> None:
    topics = create(cli, *(f"t{number}" for number in range(7)))
    done = cli("topics", "delete", *topics)
    assert done.exit_code == 2
    assert f"Delete 7 topics: {', '.join(topics[:5])}, and 2 more?" in done.stderr


def test_all_topics_of_a_namespace_are_meant_without_a_name(cli: Cli) -> None:
    topics = create(cli, "a", "b")
    assert cli("topics", "delete", "--namespace", NAMESPACE).exit_code == 2  # without --yes
    assert left(cli) == topics
    assert cli("topics", "delete", "--namespace", NAMESPACE, "--yes").exit_code == 0
    assert left(cli) == []


@pytest.mark.parametrize("words", [(), ("--regex",)])
def test_a_file_without_names_names_no_topic_of_the_namespace(cli: Cli, words: tuple[str, ...]) -> None:
    topics = create(cli, "a")
    done = cli("topics", "delete", "--from-file", "-", "--namespace", NAMESPACE, "--yes", *words, stdin="\n \n")
    assert (done.exit_code, done.stderr) == (0, "no topic in stdin\n")
    assert left(cli) == topics


def test_a_file_whose_name_is_empty_is_refused(cli: Cli) -> None:
    topics = create(cli, "a")
    assert cli("topics", "delete", "--from-file", "", "--namespace", NAMESPACE, "--yes").exit_code != 0
    assert left(cli) == topics


def test_names_and_patterns_belong_to_the_namespace_that_is_given(cli: Cli) -> None:
    create(cli, "day-1", "day-2", "night-1")
    assert cli("topics", "delete", "day-.*", "--regex", "--namespace", NAMESPACE, "--yes").exit_code == 0
    assert cli("topics", "delete", "night-1", "--namespace", NAMESPACE).exit_code == 0
    assert left(cli) == []


BACKLOG_VERBS = [
    ("clear-backlog", "-s", "billing", "--yes"),
    ("expire-messages", "-s", "billing", "-t", "1h", "--yes"),
    ("expire-messages-all-subscriptions", "-t", "1h", "--yes"),
    ("unsubscribe", "-s", "billing", "--yes"),
]


@pytest.mark.parametrize("words", BACKLOG_VERBS, ids=[words[0] for words in BACKLOG_VERBS])
def test_topics_of_a_namespace_without_the_subscription_are_passed_over(cli: Cli, words: tuple[str, ...]) -> None:
    topics = create(cli, "a", "b", "c")
    for topic in topics[:2]:
        cli("topics", "create-subscription", topic, "-s", "billing")
    done = cli("topics", *words, "--namespace", NAMESPACE, "--parallel", "2")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


def test_a_subscription_that_no_topic_has_is_a_failure(cli: Cli) -> None:
    create(cli, "a", "b")
    done = cli("topics", "clear-backlog", "--namespace", NAMESPACE, "-s", "bilinlg", "--yes")
    assert done.exit_code == 3
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1


def test_a_named_topic_without_the_subscription_is_a_failure(cli: Cli) -> None:
    topics = create(cli, "a", "b")
    cli("topics", "create-subscription", topics[0], "-s", "billing")
    done = cli("topics", "clear-backlog", *topics, "-s", "billing", "--yes")
    assert done.exit_code == 10
    assert f"error: {topics[1]}: " in done.stderr


@pytest.mark.parametrize("words", BACKLOG_VERBS, ids=[words[0] for words in BACKLOG_VERBS])
def test_acknowledging_in_several_topics_needs_a_confirmation(cli: Cli, words: tuple[str, ...]) -> None:
    create(cli, "a")
    done = cli("topics", *words[:-1], f"{NAMESPACE}/.*", "--regex")
    assert done.exit_code == 2
    assert "confirm with --yes" in done.stderr


def test_a_position_is_refused_for_several_topics(cli: Cli) -> None:
    done = cli("topics", "expire-messages", "a", "b", "-s", "billing", "-p", "1:1", "--yes")
    assert (done.exit_code, "a position belongs to one topic" in done.stderr) == (2, True)


def test_old_messages_of_all_topics_are_acknowledged(cli: Cli, client: pulsar.Client) -> None:
    topics = create(cli, "a", "b")
    for topic in topics:
        cli("topics", "create-subscription", topic, "-s", "billing")
    producer = client.create_producer(topics[0])
    producer.send(b"old")
    producer.send(b"new")

    def expired() -> bool:
        words = ("-s", "billing", "-t", "1s", "--namespace", NAMESPACE, "--yes")
        assert cli("topics", "expire-messages", *words) == Outcome(0, "", "")
        stats = json.loads(cli("topics", "stats", topics[0], "-o", "json").stdout)
        return bool(stats["subscriptions"]["billing"]["msgBacklog"] == 0)

    wait_until(expired, 30)
