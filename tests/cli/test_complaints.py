"""What users of the Pulsar tools complain about in their issues works here."""

import json
from pathlib import Path

import pulsar
import pytest

from tests.support.runner import Cli


def test_json_with_commas_is_one_message(cli: Cli, topic: str) -> None:
    cli("topics", "create-subscription", topic, "-s", "s")  # creates the topic
    text = '{"a": 1, "b": [2, 3]}'
    assert cli("produce", topic, "-m", text).exit_code == 0
    assert cli("consume", topic, "-s", "s", "-n", "1", "-p", "earliest", "-F", "%v\n").stdout == f"{text}\n"


def test_a_relative_path_resolves_against_the_current_directory(
    cli: Cli, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "message.txt").write_text("from a file")
    monkeypatch.chdir(tmp_path)
    assert cli("produce", topic, "-f", "message.txt").exit_code == 0
    assert cli("consume", topic, "-s", "s", "-n", "1", "-p", "earliest", "-F", "%v").stdout == "from a file"


def test_json_becomes_a_message_of_the_schema(cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path) -> None:
    definition = {"type": "record", "name": "Order", "fields": [{"name": "price", "type": "double"}]}
    (tmp_path / "schema.json").write_text(json.dumps({"type": "AVRO", "schema": json.dumps(definition)}))
    cli("topics", "create", topic)
    assert cli("schemas", "upload", topic, "-f", str(tmp_path / "schema.json")).exit_code == 0
    assert cli("produce", topic, "--schema", "auto", "-m", '{"price": 12.5}').exit_code == 0
    assert cli("produce", topic, "--schema", "auto", "-m", '{"prize": 12.5}').exit_code == 2


def test_a_list_has_topics_of_both_domains(cli: Cli) -> None:
    names = [f"{domain}://public/default/of-both-domains" for domain in ("persistent", "non-persistent")]
    for name in names:
        assert cli("topics", "create", name).exit_code == 0
    assert set(names) <= set(cli("topics", "list", "public/default").stdout.split())


def test_a_retention_below_its_unit_is_reported(cli: Cli) -> None:
    cli("namespaces", "create", "public/units")
    done = cli("namespaces", "set-retention", "public/units", "-t", "30s", "-s", "10K")
    assert "30s is less than a minute and is stored as 0" in done.stderr
    assert "10K is less than 1 MiB and is stored as 0" in done.stderr


def test_the_backlog_has_the_numbers_of_entries_and_of_messages(cli: Cli, client: pulsar.Client, topic: str) -> None:
    cli("topics", "create-subscription", topic, "-s", "s")
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=1000)
    for _ in range(5):
        producer.send_async(b"x", None)
    producer.flush()
    exact = json.loads(cli("topics", "analyze-backlog", topic, "-s", "s", "-o", "json").stdout)
    assert (exact["entries"], exact["messages"]) == (1, 5)


def test_log_lines_go_to_stderr(cli: Cli) -> None:
    done = cli("tenants", "list", "-v", "-o", "json")
    assert "public" in json.loads(done.stdout)
    assert "GET http://" in done.stderr


def test_json_within_an_answer_is_not_escaped(cli: Cli, topic: str) -> None:
    cli("topics", "create", topic)
    for words in (
        ("topics", "stats", topic),
        ("topics", "stats-internal", topic),
        ("namespaces", "policies", "public/default"),
    ):
        found = json.loads(cli(*words, "-o", "json").stdout)
        assert isinstance(found, dict)
        assert not [value for value in found.values() if isinstance(value, str) and value.startswith(("{", "["))]


def test_lines_become_messages_and_an_idle_consumer_ends(cli: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    cli("topics", "create-subscription", topic, "-s", "s", "-m", "earliest")
    assert cli("produce", topic, "-l", str(tmp_path / "lines")).exit_code == 0
    done = cli("consume", topic, "-s", "s", "-n", "100", "--idle-timeout", "200ms", "-F", "%v\n")
    assert (done.exit_code, done.stdout) == (7, "one\ntwo\n")


def test_an_error_names_the_source_of_the_url(cli_alone: Cli) -> None:
    done = cli_alone("tenants", "list", "--admin-url", "http://localhost:1")
    assert done.exit_code == 5
    assert "http://localhost:1 (URL from --admin-url)" in done.stderr


def test_a_message_shows_a_readable_time(cli: Cli, topic: str) -> None:
    cli("produce", topic, "-m", "x")
    assert cli("consume", topic, "-s", "s", "-n", "1", "-p", "earliest", "-F", "%d{iso}").stdout.startswith("20")


@pytest.mark.parametrize("words", [("--admin-url", "nonsense"), ("--service-url", "nonsense://x")])
def test_an_invalid_context_is_refused(cli_alone: Cli, words: tuple[str, str]) -> None:
    done = cli_alone("context", "create", "wrong", *words)
    assert (done.exit_code, f"'{words[1]}' is not" in done.stderr) == (2, True)
    assert cli_alone("context", "list").stdout == ""
