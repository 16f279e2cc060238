"""What users of the Pulsar tools complain about in their issues: each complaint has a test.

Most have theirs next to the code. The table names them, and the others follow.
"""

import json
from pathlib import Path

import pulsar
import pytest

from tests.support.runner import Cli

CLI = Path(__file__).parent
ELSEWHERE = {
    "every command starts slowly": "test_imports.py::test_an_admin_command_imports_only_its_own_noun_and_light_modules",
    "a failure exits with 0": "targets/test_many_topics.py::test_a_single_failure_keeps_its_exit_code",
    "exit codes differ between tools": "produce/test_produce.py::test_a_missing_broker_exits_with_5",
    "a failed produce exits with 0": "produce/test_produce.py::test_a_missing_namespace_is_not_found",
    "a null body cannot be sent": "produce/test_produce.py::test_a_tombstone_has_no_value",
    "messages are not machine readable": "records/test_record_output.py::test_json_is_one_line_with_every_field",
    "consuming does not stop at the end": "consume/test_consume.py::test_an_empty_topic_ends_at_once",
    "errors hide the reason": "commands/test_topics.py::test_an_error_for_a_missing_topic_says_where_to_look",
    "two verbs delete topics": "commands/test_topics.py::test_delete_works_for_both_kinds_of_topics",
    "topics are deleted one by one": "targets/test_many_topics.py::test_what_fails_is_named_and_the_rest_is_done",
    "stats of a partitioned topic": "commands/test_topics.py::test_stats_of_a_partitioned_topic_are_its_sums",
    "partitions are compacted one by one": "commands/test_compact.py::test_every_partition_is_compacted",
    "a cursor moves to no time or end": "commands/test_topics.py::test_a_subscription_moves_on_every_partition",
    "the configuration file is hard to find": "settings/test_settings.py::test_each_source_outweighs_the_ones_after_it",
    "a token needs a flag": "output/test_notices.py::test_a_token_from_the_environment_or_a_file_prints_no_warning",
    "tables break pipes": "shell/test_grammar.py::test_only_a_terminal_gets_a_table",
    "names are not completed": "shell/test_completion.py::test_names_come_from_the_cluster_up_to_the_next_slash",
    "a setting comes from nowhere": "commands/test_contexts.py::test_resolved_names_the_source_of_every_value",
    "a question hangs in a script": "targets/test_many_topics.py::test_the_question_shows_some_names_and_the_number",
    "standalone does not restart after a kill": "commands/test_standalone.py::test_data_survives_kill_9",
    "quotes and spaces in the shell": "commands/test_shell.py::test_a_line_is_split_as_a_shell_splits_it",
    "there is no version command": "shell/test_grammar.py::test_version_is_one_line",
}


@pytest.mark.parametrize("complaint", ELSEWHERE)
def test_a_complaint_has_its_test(complaint: str) -> None:
    path, name = ELSEWHERE[complaint].split("::")
    assert f"\ndef {name}(" in (CLI / path).read_text()


def test_every_complaint_is_counted() -> None:
    assert len(ELSEWHERE) + Path(__file__).read_text().count("\ndef test_complaint_") == 34


def test_complaint_json_is_cut_at_commas(cli: Cli, topic: str) -> None:
    cli("topics", "create-subscription", topic, "-s", "s")  # creates the topic
    text = '{"a": 1, "b": [2, 3]}'
    assert cli("produce", topic, "-m", text).exit_code == 0
    assert cli("consume", topic, "-s", "s", "-n", "1", "-p", "earliest", "-F", "%v\n").stdout == f"{text}\n"


def test_complaint_relative_paths_do_not_resolve(
    cli: Cli, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "message.txt").write_text("from a file")
    monkeypatch.chdir(tmp_path)
    assert cli("produce", topic, "-f", "message.txt").exit_code == 0
    assert cli("consume", topic, "-s", "s", "-n", "1", "-p", "earliest", "-F", "%v").stdout == "from a file"


def test_complaint_json_does_not_become_a_message_of_the_schema(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    definition = {"type": "record", "name": "Order", "fields": [{"name": "price", "type": "double"}]}
    (tmp_path / "schema.json").write_text(json.dumps({"type": "AVRO", "schema": json.dumps(definition)}))
    cli("topics", "create", topic)
    assert cli("schemas", "upload", topic, "-f", str(tmp_path / "schema.json")).exit_code == 0
    assert cli("produce", topic, "--schema", "auto", "-m", '{"price": 12.5}').exit_code == 0
    assert cli("produce", topic, "--schema", "auto", "-m", '{"prize": 12.5}').exit_code == 2


def test_complaint_lists_leave_out_non_persistent_topics(cli: Cli) -> None:
    names = [f"{domain}://public/default/of-both-domains" for domain in ("persistent", "non-persistent")]
    for name in names:
        assert cli("topics", "create", name).exit_code == 0
    assert set(names) <= set(cli("topics", "list", "public/default").stdout.split())


def test_complaint_units_of_retention_are_confused(cli: Cli) -> None:
    cli("namespaces", "create", "public/units")
    done = cli("namespaces", "set-retention", "public/units", "-t", "30s", "-s", "10K")
    assert "30s is less than a minute and is stored as 0" in done.stderr
    assert "10K is less than 1 MiB and is stored as 0" in done.stderr


def test_complaint_the_backlog_counts_entries_not_messages(cli: Cli, client: pulsar.Client, topic: str) -> None:
    cli("topics", "create-subscription", topic, "-s", "s")
    producer = client.create_producer(topic, batching_enabled=True, batching_max_publish_delay_ms=1000)
    for _ in range(5):
        producer.send_async(b"x", None)
    producer.flush()
    exact = json.loads(cli("topics", "analyze-backlog", topic, "-s", "s", "-o", "json").stdout)
    assert (exact["entries"], exact["messages"]) == (1, 5)


def test_complaint_log_lines_are_mixed_with_data(cli: Cli) -> None:
    done = cli("tenants", "list", "-v", "-o", "json")
    assert "public" in json.loads(done.stdout)
    assert "GET http://" in done.stderr


def test_complaint_json_is_printed_as_an_escaped_string(cli: Cli, topic: str) -> None:
    cli("topics", "create", topic)
    for words in (
        ("topics", "stats", topic),
        ("topics", "stats-internal", topic),
        ("namespaces", "policies", "public/default"),
    ):
        found = json.loads(cli(*words, "-o", "json").stdout)
        assert isinstance(found, dict)
        assert not [value for value in found.values() if isinstance(value, str) and value.startswith(("{", "["))]


def test_complaint_test_messages_are_empty_and_consumers_never_end(cli: Cli, topic: str, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    cli("topics", "create-subscription", topic, "-s", "s", "-m", "earliest")
    assert cli("produce", topic, "-l", str(tmp_path / "lines")).exit_code == 0
    done = cli("consume", topic, "-s", "s", "-n", "100", "--idle-timeout", "200ms", "-F", "%v\n")
    assert (done.exit_code, done.stdout) == (7, "one\ntwo\n")


def test_complaint_a_changed_port_is_not_noticed(cli_alone: Cli) -> None:
    done = cli_alone("tenants", "list", "--admin-url", "http://localhost:1")
    assert done.exit_code == 5
    assert "http://localhost:1 (URL from --admin-url)" in done.stderr


def test_complaint_messages_show_no_readable_time(cli: Cli, topic: str) -> None:
    cli("produce", topic, "-m", "x")
    assert cli("consume", topic, "-s", "s", "-n", "1", "-p", "earliest", "-F", "%d{iso}").stdout.startswith("20")


@pytest.mark.parametrize("words", [("--admin-url", "nonsense"), ("--service-url", "nonsense://x")])
def test_complaint_an_invalid_profile_is_stored_with_success(cli_alone: Cli, words: tuple[str, str]) -> None:
    done = cli_alone("context", "create", "wrong", *words)
    assert (done.exit_code, f"'{words[1]}' is not" in done.stderr) == (2, True)
    assert cli_alone("context", "list").stdout == ""
