"""Which engine imports what, in which waves, and where an import continues."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.commands.ops.on_spark import explained
from pulsarctl.errors import CliError, Conflict, TimedOut
from pulsarctl.transfer.import_progress import ImportProgress, file_of_same, restarted, save
from pulsarctl.transfer.routed_rows import WAVE_BYTES_MAX, WAVE_FILES_MAX, waves
from tests.support.runner import Cli

MANY = WAVE_FILES_MAX + 1


@pytest.mark.parametrize(
    ("sizes", "first", "found"),
    [
        ([], 0, []),
        ([1, 1, 1], 0, [range(3)]),
        ([1, 1, 1], 2, [range(2, 3)]),
        ([1] * MANY, 0, [range(MANY - 1), range(MANY - 1, MANY)]),
        ([WAVE_BYTES_MAX, 1, WAVE_BYTES_MAX + 1, 1], 0, [range(1), range(1, 2), range(2, 3), range(3, 4)]),
    ],
)
def test_a_wave_has_files_up_to_a_number_and_a_size(sizes: list[int], first: int, found: list[range]) -> None:
    assert waves(sizes, first) == found


def test_an_interrupted_import_does_not_continue_with_other_partitions() -> None:
    before = ImportProgress(files=1, messages=10).begun("t", 3, {})
    assert before.begun("t", 3, {}) == before
    with pytest.raises(Conflict, match="it has 4 partitions, and had 3"):
        before.begun("t", 4, {})
    assert before.ended().begun("t", 4, {}).partitions == 4  # more data, all of it with the new partitions


@pytest.mark.parametrize("now", [{}, {"t-partition-0": "later"}])
@pytest.mark.parametrize("done", [False, True])
def test_an_import_does_not_continue_where_its_rows_are_gone(now: dict[str, str], done: bool) -> None:
    before = replace(ImportProgress(files=1, messages=10).begun("t", 1, {"t-partition-0": "once"}), done=done)
    with pytest.raises(Conflict, match="t-partition-0 was deleted or created again"):
        before.begun("t", 1, now)
    grown = {"t-partition-0": "once", "t-partition-1": "later"}
    assert before.ended().begun("t", 2, grown).created == grown


def test_partitions_are_asked_for_only_if_the_same_data_was_imported_before(tmp_path: Path) -> None:
    asked: list[bool] = []

    def created() -> dict[str, str]:
        asked.append(True)
        return {"t-partition-0": "once"}

    new, other, same = (tmp_path / f"{name}.json" for name in ("new", "other", "same"))
    save(other, ImportProgress(topic="else", source="s", created={"t-partition-0": "once"}))
    assert file_of_same(new, "t", "s", created) == new
    assert asked == []
    save(same, ImportProgress(topic="t", source="s", created={"t-partition-0": "once"}))
    assert file_of_same(new, "t", "s", created) == same


def interrupted_import(cli: Cli, folder: Path, topic: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """One that ends after the first of two files, and what continues it."""
    (folder / "in").mkdir()
    for name, text in (("1.jsonl", '{"value": "a"}\n'), ("2.jsonl", "unreadable\n")):
        (folder / "in" / name).write_text(text)
    words = ("ops", "import", str(folder / "in"), topic)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    assert cli(*words).exit_code == 1
    (progress,) = (folder / "state" / "pulsarctl" / "import").glob("*.json")
    assert json.loads(progress.read_text())["files"] == 1
    return words


@pytest.mark.parametrize("partitions", [0, 2])
def test_an_import_into_a_topic_that_was_created_again_is_refused(
    pulsar_broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    topic = f"persistent://public/default/again-{partitions}"
    cli = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)
    one_of = ("create-partitioned-topic", topic, "-p", "2") if partitions else ("create", topic)
    delete = "delete-partitioned-topic" if partitions else "delete"
    if partitions:
        assert cli("topics", *one_of).exit_code == 0
    words = interrupted_import(cli, tmp_path, topic, monkeypatch)
    assert cli("topics", delete, topic, "--force", "--yes").exit_code == 0
    assert cli("topics", *one_of).exit_code == 0
    outcome = cli(*words)
    assert (outcome.exit_code, "created again since" in outcome.stderr, "--again" in outcome.stderr) == (6, True, True)


def test_an_import_continues_after_a_restart_of_its_topic(
    pulsar_broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)
    words = interrupted_import(cli, tmp_path, "persistent://public/default/unloaded", monkeypatch)
    assert cli("topics", "unload", "unloaded").exit_code == 0
    outcome = cli(*words)
    assert (outcome.exit_code, "2.jsonl" in outcome.stderr) == (1, True), outcome.stderr


def test_an_import_needs_no_admin_address(
    pulsar_broker: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "rows.csv").write_text("key,value\na,1\n")
    cli = Cli(tmp_path, "http://127.0.0.1:1", pulsar_broker.service_url)
    outcome = cli("ops", "import", str(tmp_path / "rows.csv"), "persistent://public/default/no-admin")
    assert outcome.exit_code == 0, outcome.stderr


def test_again_starts_over_after_progress_that_is_unreadable(tmp_path: Path) -> None:
    save(tmp_path / "good", ImportProgress(files=3, attempt=4))
    (tmp_path / "bad").write_text("{")
    assert restarted(tmp_path / "good", 77) == ImportProgress(attempt=5)
    assert restarted(tmp_path / "bad", 77) == ImportProgress(attempt=77)


def dry_run(broker: EmbeddedBroker, folder: Path, topic: str, *options: str) -> dict[str, Any]:
    (folder / "rows.csv").write_text("key,value\na,1\nb,2\n")
    cli = Cli(folder, broker.http_url, broker.service_url)
    outcome = cli("ops", "import", str(folder / "rows.csv"), topic, "--dry-run", "-o", "json", *options)
    assert outcome.exit_code == 0, outcome.stderr
    found: dict[str, Any] = json.loads(outcome.stdout)
    return found


def test_large_files_go_to_spark_if_the_topic_has_partitions(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    pulsar_broker.create_partitioned_topic("persistent://public/default/parted", 3)
    plans = [
        dry_run(pulsar_broker, tmp_path, topic, "--local-max", size)
        for topic, size in (("parted", "1"), ("parted", "64M"), ("unknown", "1"))
    ]
    assert [(each["engine"], each["partitions"]) for each in plans] == [("spark", 3), ("local", 3), ("local", 1)]
    assert (plans[0]["files"], plans[0]["bytes"], plans[0]["continuesAfter"]) == (1, 18, 0)


def test_a_topic_that_cannot_be_created_is_not_found(pulsar_broker: EmbeddedBroker, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("key,value\na,1\n")
    cli = Cli(tmp_path, pulsar_broker.http_url, pulsar_broker.service_url)
    outcome = cli("ops", "import", str(tmp_path / "rows.csv"), "public/missing/t")
    assert outcome.exit_code == 3
    assert "the topic or its namespace does not exist" in outcome.stderr


def test_a_kind_of_records_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    outcome = Cli(tmp_path)("ops", "import", "./orders", "t", "--record-schema", "foo")
    assert (outcome.exit_code, "avro" in outcome.stderr) == (2, True)


@pytest.mark.parametrize(
    ("reason", "kind", "message"),
    [
        ("TimedOut: cannot write to t: no answer", TimedOut, "cannot write to t: no answer"),
        ("CliError: cannot read x", CliError, "cannot read x"),
        ("KeyError: 'x'", CliError, "the Spark job failed: KeyError: 'x'"),
    ],
)
def test_an_error_of_a_spark_task_keeps_its_kind(reason: str, kind: type[CliError], message: str) -> None:
    py4j = pytest.importorskip("py4j.protocol")

    def failing() -> None:
        raise py4j.Py4JError(f"Traceback (most recent call last):\n  x\npulsarctl.errors.{reason}\n")

    with pytest.raises(CliError) as caught:
        explained(failing)
    assert (type(caught.value), caught.value.message) == (kind, message)


def test_the_command_for_spark_submit_sends_on_spark(tmp_path: Path) -> None:
    outcome = Cli(tmp_path)("ops", "import", "./orders", "t", "--master", "yarn", "--spark-submit")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("spark-submit --master yarn ")
