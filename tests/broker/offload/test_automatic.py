"""Thresholds and lags at work, many ledgers, and every kind of entry; with a directory as the store."""

import datetime
from pathlib import Path
from typing import Any

import pulsar

from broker_core.storage.records.position import EARLIEST
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic, values
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

_PEM = Path(__file__).parents[2] / "clients" / "keys"
KEYS = pulsar.CryptoKeyReader(str(_PEM / "public.pem"), str(_PEM / "private.pem"))


def test_a_threshold_of_0_offloads_what_is_sealed_and_a_lag_of_0_deletes_the_file(tmp_path: Path) -> None:
    config = in_directory(tmp_path / "store", threshold_bytes=0)
    with offloaded_topic(config) as one:
        one.rest("POST", "offloadPolicies", {"managedLedgerOffloadDeletionLagInMillis": 0})
        one.publish(values(30))
        wait_until(lambda: not any(info.is_local for info in one.log().copies.sealed()), 30)
        one.forget()
        assert one.read(30) == values(30)


def test_without_a_lag_the_local_file_stays(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store", threshold_bytes=0)) as one:
        one.publish(values(10))
        wait_until(lambda: one.topic.offloading.offloaded_bytes > 0, 30)
        one.publish(values(10))
        wait_until(lambda: len(list((tmp_path / "store").rglob("*.parquet"))) == 2, 30)
        assert all(info.is_local for info in one.log().copies.sealed())


def test_an_offload_that_fails_is_repeated_by_the_threshold(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.write_bytes(b"not a directory")
    with offloaded_topic(in_directory(store, threshold_bytes=0)) as one:
        one.publish(values(10))
        wait_until(lambda: one.rest("GET", "offload")["status"] == "ERROR", 30)
        store.unlink()
        wait_until(lambda: one.rest("GET", "offload")["status"] == "SUCCESS", 30)
        assert one.rest("GET", "stats")["lastOffloadFailureTimeStamp"] > 0


def test_many_small_ledgers_are_read_with_bounded_memory_and_few_open_objects(tmp_path: Path) -> None:
    config = in_directory(tmp_path / "store", open_objects=4, read_cache_mb=1)
    with offloaded_topic(config) as one:
        sent = values(400, size=10_000)
        one.publish(sent)
        one.offload()
        one.drop_files()
        reader = one.broker.broker.tier.reader
        client = one.client.create_reader(one.name, pulsar.MessageId.earliest, receiver_queue_size=20)
        most = 0
        for expected in sent:
            assert client.read_next(20_000).data() == expected
            most = max(most, reader.open_copies)
        assert most <= 4
        assert reader.cached_bytes <= (1 << 20) + 200_000
        client.close()


def facts(one: OffloadedTopic) -> list[tuple[Any, ...]]:
    """Everything that storage knows of each entry."""
    found: list[tuple[Any, ...]] = []
    position = EARLIEST
    while len(block := one.broker.call(one.log().read(position, 1000, 1 << 30))):
        times = block.delivery_times or [0] * len(block)
        found += [
            (block.entry(i), block.counts[i], block.publish_times[i], times[i], block.first_entry_id + i)
            for i in range(len(block))
        ]
        position = type(EARLIEST)(block.ledger_id, block.last_entry_id + 1)
    return found


def publish_all_kinds(one: OffloadedTopic) -> None:
    """Batched, compressed, encrypted, chunked, delayed, empty, null, of a transaction, and as large as entries get."""
    batching = one.client.create_producer(one.name, batching_enabled=True, compression_type=pulsar.CompressionType.ZSTD)
    for number in range(50):
        batching.send_async(f"{number}".encode() * 20, None, partition_key=str(number % 3), properties={"a": "b"})
    batching.flush()
    batching.close()
    single = one.client.create_producer(one.name, batching_enabled=False)
    single.send(b"")
    single.send(b"later", deliver_after=datetime.timedelta(hours=1))
    single.send(b"x" * (5 * 1024 * 1024 - 1000))
    single.close()
    chunking = one.client.create_producer(one.name, batching_enabled=False, chunking_enabled=True)
    chunking.send(b"c" * (6 * 1024 * 1024))
    chunking.close()
    encrypting = one.client.create_producer(one.name, encryption_key="key", crypto_key_reader=KEYS)
    encrypting.send(b"secret")
    encrypting.close()
    with RawClient(one.broker.service_url) as raw:
        raw.ask(producer(one.name), BaseCommand.PRODUCER_SUCCESS)
        for metadata in ({"null_value": True}, {"txnid_least_bits": 1, "txnid_most_bits": 2}):
            raw.send(send(1, b"", metadata=metadata))
            raw.expect(BaseCommand.SEND_RECEIPT)


def test_every_kind_of_entry_is_the_same_bytes_after_the_offload(tmp_path: Path) -> None:
    with offloaded_topic(in_directory(tmp_path / "store")) as one:
        publish_all_kinds(one)
        one.roll()
        before = facts(one)
        one.offload()
        one.drop_files()
        after = facts(one)
        assert len(after) == len(before) >= 8
        assert after == before
        assert any(entry[3] for entry in after)
        one.rest("POST", "offload/restore")
        one.forget()
        assert facts(one) == before
