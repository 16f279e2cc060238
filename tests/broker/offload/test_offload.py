"""Offloaded ledgers, end to end: written by the worker process, read by the official client."""

import asyncio
from pathlib import Path

import pyarrow.parquet as pq

from broker_core.broker import Broker
from broker_core.names import parse_topic
from broker_core.offload.manifest import Manifest
from broker_core.storage.records.position import LATEST
from broker_core.topic.offloading import OffloadState
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


def test_a_run_that_an_unload_cuts_off_is_no_success(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store", max_threads=1)) as one:
        one.publish(values(10))
        one.broker.call(unload_during_a_run(one.broker.broker, one.name))


async def unload_during_a_run(broker: Broker, name: str) -> None:
    topic = await broker.topics.get(parse_topic(name))
    async with broker.tier.at_a_time:  # the run waits
        topic.offloading.start(LATEST)
        await asyncio.to_thread(int)  # it has begun
        await broker.topics.unload(topic.name)
    assert (topic.offloading.state, topic.offloading.last_error) == (OffloadState.ERROR, "the topic was unloaded")
