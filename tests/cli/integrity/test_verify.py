"""`pulsarctl ops verify` of topics, offloaded ledgers, and exports."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.testing import EmbeddedBroker
from pulsarctl.integrity.findings import merged
from pulsarctl.integrity.part_check import PartCheck, columns
from tests.cli.tables.topics import table
from tests.support.official_client import connect
from tests.support.runner import Cli


def publish(client: pulsar.Client, topic: str, first: int = 0, **settings: Any) -> None:
    """Five messages of the producer `p`, whose sequence IDs start at `first`; a subscription keeps them."""
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, producer_name="p", batching_enabled=False, **settings)
    for number in range(first, first + 5):
        producer.send(f"{number}".encode(), sequence_id=number, partition_key="k")
    producer.close()


def verify(cli: Cli, *words: str) -> tuple[int, dict[str, Any]]:
    outcome = cli("ops", "verify", *words, "-o", "json")
    return outcome.exit_code, json.loads(outcome.stdout)


def test_a_whole_topic_has_no_problem(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic)
    code, found = verify(cli, topic)
    assert (code, found["messages"], found["producers"], found["isComplete"]) == (0, 5, 1, True)
    assert (found["damaged"], found["missing"], found["repeated"], found["outOfOrder"]) == ([], [], 0, 0)


def test_a_producer_that_sends_again_after_a_restart_repeats_sequence_ids(
    cli: Cli, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, 10)
    publish(client, topic, 13)
    code, found = verify(cli, topic)
    assert (code, found["repeated"], len(found["examples"])) == (1, 2, 2)


def test_a_producer_that_starts_at_zero_again_repeats_nothing(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic)
    publish(client, topic)
    code, found = verify(cli, topic)
    assert (code, found["repeated"], found["restarts"]) == (0, 0, 1)


def test_a_smaller_sequence_id_that_was_not_seen_is_out_of_order(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, 10)
    publish(client, topic, 2)
    code, found = verify(cli, topic)
    assert (code, found["repeated"], found["outOfOrder"]) == (1, 0, 5)
    assert "is not intact: 5 out of order" in cli("ops", "verify", topic).stderr


def test_an_entry_with_a_flipped_bit_is_named_and_the_rest_is_checked(tmp_path: Path, topic: str) -> None:
    directory = tmp_path / "data"
    for first in (0, 5):  # a restart seals the ledger
        with EmbeddedBroker(directory) as broker, closing(connect(broker.service_url)) as client:
            publish(client, topic, first)
    with EmbeddedBroker(directory) as broker:
        part = next(part for part in table(broker, topic, data_directory=str(directory)).plan() if part.place.path)
        content = bytearray(Path(part.place.path).read_bytes())
        content[len(content) // 3] ^= 1
        Path(part.place.path).write_bytes(content)
        cli = Cli(tmp_path, broker.http_url, broker.service_url)
        code, found = verify(cli, topic, "--data-directory", str(directory))
    assert (code, found["messages"] + len(found["damaged"])) == (1, 10)
    assert found["messages"] >= 5, "the other ledger"
    assert f"cannot read ledger {part.ledger_id}" in found["damaged"][0]


def test_offloaded_messages_are_verified_through_the_broker(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic)
    assert cli("topics", "unload", topic).exit_code == 0
    assert cli("ops", "offload", topic, "--to", f"file://{tmp_path}").exit_code == 0
    publish(client, topic, 5)
    code, found = verify(cli, topic)
    assert (code, found["messages"], found["repeated"], found["restarts"]) == (0, 10, 0, 0)


def test_copies_in_a_store_are_verified_without_the_broker(
    cli: Cli, client: pulsar.Client, topic: str, tmp_path: Path
) -> None:
    publish(client, topic)
    assert cli("topics", "unload", topic).exit_code == 0
    assert cli("ops", "offload", topic, "--to", f"file://{tmp_path}").exit_code == 0
    code, found = verify(cli, topic, "--tier-store", f"file://{tmp_path}")
    assert (code, found["messages"], found["damaged"]) == (0, 5, [])
    (file,) = tmp_path.rglob("*.parquet")
    content = bytearray(file.read_bytes())
    content[len(content) // 4] ^= 1
    file.write_bytes(content)
    code, found = verify(cli, topic, "--tier-store", f"file://{tmp_path}")
    assert (code, found["messages"]) == (1, 0)
    assert file.name in found["damaged"][0]


def test_entries_that_are_gone_since_the_plan_are_missing(
    cli: Cli, client: pulsar.Client, topic: str, pulsar_broker: EmbeddedBroker
) -> None:
    publish(client, topic)
    whole = table(pulsar_broker, topic, tasks_min="1")
    check = PartCheck(table(pulsar_broker, topic, columns=",".join(columns(whole))))
    (part,) = whole.plan()
    assert cli("topics", "unload", topic).exit_code == 0
    assert cli("topics", "truncate", topic).exit_code == 0
    found = merged([check(part)])
    assert (found.messages, len(found.missing), found.problems) == (0, 5, 5)


@pytest.mark.parametrize("format", ["parquet", "jsonl"])
def test_an_export_is_checked_against_its_manifest(
    cli: Cli, client: pulsar.Client, tmp_path: Path, format: str
) -> None:
    topic, directory = f"exported-{format}", tmp_path / "out"
    publish(client, topic)
    assert cli("ops", "export", topic, str(directory), "--format", format).exit_code == 0
    code, found = verify(cli, "--export", str(directory))
    assert (code, found["messages"], found["repeated"]) == (0, 5, 0)
    (file,) = directory.glob(f"part-*.{format}*")
    file.write_bytes(file.read_bytes()[:-20])
    code, found = verify(cli, "--export", str(directory))
    assert (code, f"{file.name} has" in found["damaged"][0]) == (1, True)
    file.unlink()
    assert verify(cli, "--export", str(directory))[1]["missing"] == [f"{file.name} is missing"]


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ((), 2, "specify what to verify"),
        (("t", "--orphans"), 2, "specify what to verify"),
        (("t", "--sweep"), 2, "--sweep and --to need --orphans"),
        (("nowhere",), 3, "nowhere"),
        (("--export", "/no/such/directory"), 3, "has no complete export"),
    ],
)
def test_a_wrong_use_is_an_error(cli: Cli, words: tuple[str, ...], code: int, error: str) -> None:
    outcome = cli("ops", "verify", *words)
    assert (outcome.exit_code, error in outcome.stderr) == (code, True), outcome.stderr
