"""Offloaded ledgers, end to end: written by the worker process, read by the official client."""

from pathlib import Path

import pyarrow.parquet as pq

from broker_core.offload.manifest import Manifest
from tests.support.offloaded_topic import in_directory, offloaded_topic, values


def test_a_reader_gets_every_message_after_all_local_files_are_deleted(tmp_path: Path) -> None:
    sent = values(35)
    with offloaded_topic(in_directory(tmp_path / "store")) as one:
        one.publish(sent)
        one.offload()
        one.drop_files()
        assert one.ledger_files() == []
        assert one.read(35) == sent


def test_the_tier_file_is_ordinary_parquet_with_the_bytes_of_each_entry(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store")) as one:
        one.publish(values(10))
        one.offload()
    (manifest,) = (Manifest.decode(path.read_bytes()) for path in (tmp_path / "store").rglob("*.json"))
    (file,) = (tmp_path / "store").rglob("*.parquet")
    table = pq.read_table(file)
    assert table.column("entry_id").to_pylist() == list(range(10))
    assert (manifest.entries, manifest.messages) == (10, 10)
    assert manifest.size == sum(map(len, table.column("entry").to_pylist()))
    assert file.stat().st_size == manifest.tier.size
