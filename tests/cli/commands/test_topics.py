"""`pulsarctl topics` and `subscriptions`, exact output."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.storage import StorageConfig
from broker_core.config.topic import TopicConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from tests.cli.publishing import publish
from tests.support.official_client import connect
from tests.support.runner import Cli, Outcome

OK = Outcome(0, "", "")
DEFAULT = "persistent://public/default"


@pytest.fixture
def topic(cli: Cli) -> Iterator[str]:
    assert cli("topics", "create", "plain") == OK
    yield "plain"
    assert cli("topics", "delete", "plain", "--force") == OK


@pytest.fixture
def partitioned(cli: Cli) -> Iterator[str]:
    assert cli("topics", "create-partitioned", "parted", "-p", "3") == OK
    yield "parted"
    assert cli("topics", "delete", "parted", "--force") == OK


def test_text_and_a_table_list_the_same_topics(cli: Cli, topic: str, partitioned: str) -> None:
    listed = "".join(f"{DEFAULT}/{name}\n" for name in (*(f"parted-partition-{i}" for i in range(3)), "plain"))
    assert cli("topics", "list", "public/default") == Outcome(0, listed, "")
    assert cli("topics", "list", "public/default", "-o", "table") == Outcome(0, f"TOPIC\n{listed}", "")
    lines = cli("topics", "list", "public/default", "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"topic": name} for name in listed.split()]
    assert cli("topics", "list-partitioned-topics", "public/default").stdout == f"{DEFAULT}/parted\n"


@pytest.mark.parametrize(
    "words",
    [
        ["create-partitioned", "many", "-p", "2"],
        ["create-partitioned", "many", "2"],
        ["create-partitioned-topic", "many", "--partitions", "2"],
        ["create", "many", "2"],
    ],
)
def test_a_partitioned_topic_is_created_in_every_spelling(cli: Cli, words: list[str]) -> None:
    assert cli("topics", *words) == OK
    metadata = cli("topics", "get-partitioned-topic-metadata", "many", "-o", "jsonl").stdout
    assert metadata.startswith('{"partitions":2')
    assert cli("topics", "delete-partitioned-topic", "many") == OK


def test_the_number_of_partitions_can_only_grow(cli: Cli, partitioned: str) -> None:
    assert cli("topics", "update-partitioned", partitioned, "-p", "4") == OK
    assert cli("topics", "partitioned-lookup", partitioned).stdout.count("parted-partition-") == 4
    (line,) = cli("topics", "partitioned-lookup", partitioned, "-s").stdout.splitlines()
    assert line.startswith("pulsar://") and line.count("parted-partition-") == 4
    refused = cli("topics", "update-partitioned-topic", partitioned, "-p", "2")
    assert refused.exit_code == 1
    assert refused.stderr.startswith("error: Desired partitions 2 can't be less than the current partitions 4. (422 ")


def test_delete_works_for_both_kinds_of_topics(cli: Cli) -> None:
    assert cli("topics", "create", "one") == OK
    assert cli("topics", "create-partitioned", "two", "-p", "2") == OK
    outcome = cli("topics", "delete", "one", "nix", "two", "--yes")
    assert outcome.exit_code == 10
    assert outcome.stderr.startswith(f"error: nix: Topic {DEFAULT}/nix not found (404")
    assert outcome.stderr.endswith("error: cannot delete 1 of 3 topics\n")
    assert cli("topics", "list", "public/default") == Outcome(0, "", "no topic\n")


def test_a_dry_run_shows_what_a_pattern_would_delete(cli: Cli, topic: str, partitioned: str) -> None:
    outcome = cli("topics", "delete", "-r", "p.*", "--dry-run")
    requests = [line.partition("/admin/v2/")[2] for line in outcome.stdout.splitlines()]
    path = DEFAULT.replace("://", "/")
    assert requests == [f"{path}/parted/partitions?force=false", f"{path}/plain?force=false"]


def test_topics_to_delete_can_be_listed_in_a_file(cli: Cli, tmp_path: Path) -> None:
    names = tmp_path / "names"
    names.write_text("a\n\nb\n")
    for name in ("a", "b"):
        assert cli("topics", "create", name) == OK
    assert cli("topics", "delete", "--from-file", str(names), "--yes") == OK
    assert cli("topics", "delete", "--from-file", str(tmp_path / "nix")).exit_code == 2


def test_stats_of_a_partitioned_topic_are_its_sums(cli: Cli, partitioned: str) -> None:
    assert cli("topics", "stats", partitioned).stdout == cli("topics", "partitioned-stats", partitioned).stdout


def test_an_error_for_a_missing_topic_says_where_to_look(cli: Cli) -> None:
    outcome = cli("topics", "stats", "nix")
    assert (outcome.exit_code, outcome.stdout) == (3, "")
    assert outcome.stderr.endswith("hint: list what exists: pulsarctl topics list public/default\n")


def test_a_policy_of_a_topic_is_set_shown_and_removed(cli: Cli, topic: str) -> None:
    for noun in ("topics", "topicPolicies"):
        assert cli(noun, "get-message-ttl", topic) == Outcome(0, "null\n", "")
        assert cli(noun, "get-message-ttl", topic, "-ap") == Outcome(0, "0\n", "")
        assert cli(noun, "set-message-ttl", topic, "--ttl", "2m") == OK
        assert cli(noun, "get-message-ttl", topic) == Outcome(0, "120\n", "")
        assert cli(noun, "remove-message-ttl", topic) == OK


def test_subscriptions_are_created_moved_and_deleted(cli: Cli, topic: str) -> None:
    assert cli("topics", "create-subscription", topic, "-s", "billing", "-m", "earliest") == OK
    assert cli("subscriptions", "create", topic, "audit") == OK
    assert cli("topics", "subscriptions", topic) == Outcome(0, "audit\nbilling\n", "")
    assert cli("topics", "reset-cursor", topic, "-s", "billing", "-t", "1h").exit_code == 0
    assert cli("subscriptions", "seek", topic, "audit", "-m", "earliest") == OK
    assert cli("topics", "clear-backlog", topic, "-s", "billing") == OK
    assert cli("topics", "unsubscribe", topic, "-s", "billing") == OK
    assert cli("subscriptions", "delete", topic, "-s", "audit") == OK
    assert cli("subs", "list", topic) == Outcome(0, "", "no subscription\n")


def test_a_reset_needs_exactly_one_target(cli: Cli, topic: str) -> None:
    for flags in ([], ["-t", "1h", "-m", "earliest"]):
        assert cli("topics", "reset-cursor", topic, "-s", "s", *flags) == Outcome(
            2, "", "error: specify a time or a message ID, and not both\nhint: use -t TIME or -m ID\n"
        )


def test_a_subscription_moves_on_every_partition(cli: Cli, partitioned: str) -> None:
    assert cli("topics", "create-subscription", partitioned, "-s", "s") == OK
    assert cli("topics", "reset-cursor", partitioned, "-s", "s", "-m", "earliest") == OK
    refused = cli("topics", "reset-cursor", partitioned, "-s", "s", "-m", "3:1")
    assert (refused.exit_code, "not allowed for partitioned-topic" in refused.stderr) == (1, True)


@pytest.mark.parametrize("name", ["mit leer zeichen", "100%", "grüße", "😀", "a+b", "tab\tulator", "a:b?c#d"])
def test_any_name_works_for_topic_and_subscription(cli: Cli, name: str) -> None:
    assert cli("topics", "create", name) == OK
    assert cli("topics", "create-subscription", name, "-s", f"{name}/sub") == OK
    assert cli("topics", "subscriptions", name).stdout == f"{name}/sub\n"
    assert cli("topics", "list", "public/default").stdout == f"{DEFAULT}/{name}\n"
    assert cli("topics", "unsubscribe", name, "-s", f"{name}/sub") == OK
    assert cli("topics", "delete", name) == OK


def test_lookup_asks_the_broker(cli: Cli, topic: str, pulsar_broker: EmbeddedBroker) -> None:
    assert cli("topics", "lookup", topic) == Outcome(0, f"{pulsar_broker.service_url}\n", "")


def test_terminate_shows_the_last_message_id(cli: Cli, topic: str) -> None:
    outcome = cli("topics", "terminate", topic, "-o", "jsonl")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith('{"ledgerId":-1,"entryId":-1,')
    assert '"state":"Terminated"' in cli("topics", "stats-internal", topic, "-o", "jsonl").stdout


@pytest.mark.parametrize("verb", ["terminate", "partitioned-terminate"])
def test_a_partitioned_topic_is_terminated_as_a_whole(cli: Cli, partitioned: str, verb: str) -> None:
    outcome = cli("topics", verb, partitioned, "-o", "table")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines() == [
        "PARTITION  LAST MESSAGE ID",
        "0          -1:-1",
        "1          -1:-1",
        "2          -1:-1",
    ]


def test_messages_are_not_expired_by_a_negative_age(cli: Cli) -> None:
    assert cli("topics", "create", "young") == OK
    for words in (("expire-messages", "young", "-s", "s"), ("expire-messages-all-subscriptions", "young", "--yes")):
        refused = cli("topics", *words, "-t", "-1")
        assert (refused.exit_code, refused.stderr.splitlines()[0]) == (
            2,
            "error: the age of messages cannot be negative: -1",
        )


@pytest.mark.parametrize("words", [("create", "nope/nope/x"), ("list", "nope/nope"), ("create", "nope/nope/x", "2")])
def test_a_missing_tenant_is_named(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli("topics", *words)
    assert outcome.exit_code == 3
    assert outcome.stderr.startswith("error: there is no tenant 'nope': Namespace ")
    assert outcome.stderr.endswith("hint: list what exists: pulsarctl tenants list\n")


def test_a_missing_namespace_of_an_existing_tenant_is_not_called_a_missing_tenant(cli: Cli) -> None:
    assert cli("topics", "create", "public/nope/x").stderr.startswith("error: Namespace not found (404 ")


def test_the_list_of_topics_can_be_restricted_to_those_with_properties(cli: Cli, topic: str) -> None:
    assert cli("topics", "update-properties", topic, "-p", "owner=b&b", "-p", "zone=1") == OK
    for owner, outcome in (("b&b", Outcome(0, f"{DEFAULT}/{topic}\n", "")), ("b", Outcome(0, "", "no topic\n"))):
        assert cli("topics", "list", "public/default", "-p", f"owner={owner}", "--properties", "zone=1") == outcome


def test_a_backlog_is_counted_to_its_end_in_parts(tmp_path: Path) -> None:
    config = BrokerConfig(
        server=FREE_PORTS, topics=TopicConfig(scan_entries=3), storage=StorageConfig(max_entries_per_ledger=2)
    )
    with EmbeddedBroker(config=config) as broker, closing(connect(broker.service_url)) as client:
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        assert cli("topics", "create-subscription", "t", "-s", "s", "-m", "earliest").exit_code == 0
        publish(client, "t", *[b"x"] * 8)
        found = json.loads(cli("topics", "analyze-backlog", "t", "-s", "s", "-o", "json").stdout)
    counts = {"entries": 8, "messages": 8, "filterAcceptedEntries": 8, "markerMessages": 0, "aborted": False}
    assert {key: found[key] for key in counts} == counts
    assert found["firstMessageId"] < found["lastMessageId"]
