"""`pulsarctl ops sql` of topics whose ledgers are offloaded, and whose newest messages are not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic
from tests.support.runner import Cli

QUERY = "SELECT key, count(*) AS n, min(entry_id) AS first, max(value) AS value FROM orders GROUP BY key ORDER BY key"
WITHIN_A_LEDGER = "SELECT value FROM orders WHERE ledger_id = {} AND entry_id BETWEEN 3 AND 5 ORDER BY entry_id"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tier")


@pytest.fixture(scope="module")
def one(store: Path) -> Iterator[OffloadedTopic]:
    """Three offloaded ledgers of ten messages, whose files are gone, and five messages in the open one."""
    with offloaded_topic(in_directory(store)) as found:
        found.client.subscribe(found.name, "keeps").close()
        for key in ("a", "b", "c"):
            found.publish([f"{key}{number}".encode() for number in range(10)], partition_key=key)
        found.offload()
        found.drop_files()
        live = found.client.create_producer(found.name, batching_enabled=True)
        for number in range(5):
            live.send_async(f"d{number}".encode(), None, partition_key="d")
        live.flush()
        yield found


@pytest.fixture
def cli(one: OffloadedTopic, tmp_path: Path) -> Cli:
    return Cli(tmp_path, one.broker.http_url, one.broker.service_url)


def rows(cli: Cli, *words: str) -> Any:
    outcome = cli("ops", "sql", *words, "--engine", "local", "-o", "json")
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads(outcome.stdout)


@pytest.mark.parametrize("through", ["broker", "store"])
def test_live_and_offloaded_messages_are_one_table(cli: Cli, store: Path, through: str) -> None:
    options = ("--tier-store", f"file://{store}") if through == "store" else ()
    assert rows(cli, QUERY, "--decode", "string", *options) == [
        *({"key": key, "n": 10, "first": 0, "value": f"{key}9"} for key in "abc"),
        {"key": "d", "n": 5, "first": 0, "value": "d4"},
    ]


@pytest.mark.parametrize("through", ["broker", "store"])
def test_a_bound_reads_a_part_of_an_offloaded_ledger(cli: Cli, store: Path, through: str) -> None:
    options = ("--tier-store", f"file://{store}") if through == "store" else ()
    (ledger,) = rows(cli, "SELECT DISTINCT ledger_id AS id FROM orders WHERE key = 'b'", *options)
    query = WITHIN_A_LEDGER.format(ledger["id"])
    assert rows(cli, query, "--decode", "string", *options) == [{"value": f"b{number}"} for number in (3, 4, 5)]


def test_a_query_names_a_tier_file_that_is_cut(cli: Cli, one: OffloadedTopic, store: Path) -> None:
    (tier, *_) = store.rglob("*.parquet")
    data = tier.read_bytes()
    tier.write_bytes(data[: len(data) // 2])
    try:
        outcome = cli("ops", "sql", QUERY, "--tier-store", f"file://{store}", "--engine", "local")
        assert outcome.exit_code != 0
        assert tier.name in outcome.stderr
    finally:
        tier.write_bytes(data)
