"""A disk that fails while a compaction switches to its result, or deletes the old one."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.compaction.compaction import CompactionState
from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.clients.compacting import compact, start
from tests.support.condition import wait_until
from tests.support.faulty_disk import FaultyDisk
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish_keys

TOPIC = "persistent://public/default/t"


class DiskOfResults(FaultyDisk):
    """`fails_after`: the journal fails once a compacted ledger is complete. `keeps`: no compacted ledger goes."""

    fails_after = False
    keeps = False

    def sync(self, fd: int) -> None:
        super().sync(fd)
        if self.fails_after and self._paths[fd].suffix == ".compacted":
            self.failures["sync", ".journal"] = errno.EIO

    def remove(self, path: Path) -> None:
        if self.keeps and path.suffix == ".compacted":
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        super().remove(path)


@pytest.fixture
def disk() -> DiskOfResults:
    return DiskOfResults()


@pytest.fixture
def broker(disk: DiskOfResults) -> Iterator[EmbeddedBroker]:
    """Its topic is compacted, and has a newer message."""
    with EmbeddedBroker(disk=disk) as broker:
        publish(broker, "a", "b", "a")
        compact(broker, TOPIC)
        publish(broker, "a")
        yield broker
        disk.failures.clear()


def publish(broker: EmbeddedBroker, *keys: str) -> None:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        publish_keys(client, *keys)


def results(broker: EmbeddedBroker) -> list[Path]:
    return list(broker.broker.storage.path.rglob("*.compacted"))


def test_failed_switches_leave_at_most_one_file(broker: EmbeddedBroker, disk: DiskOfResults) -> None:
    disk.fails_after = True
    compaction = loaded(broker, TOPIC).compaction
    for _ in range(3):
        start(broker, TOPIC)
        wait_until(lambda: not compaction.is_running, 20)
        assert compaction.state is CompactionState.ERROR
        disk.failures.clear()
        assert len(results(broker)) <= 2, "the result in force, and one that could not be deleted"
    disk.fails_after = False
    compact(broker, TOPIC)
    assert len(results(broker)) == 1


def test_a_compaction_succeeds_whose_old_result_cannot_be_deleted(broker: EmbeddedBroker, disk: DiskOfResults) -> None:
    disk.keeps = True
    before = loaded(broker, TOPIC).compaction.horizon
    assert compact(broker, TOPIC).compaction.horizon > before
    disk.keeps = False
    publish(broker, "b")
    compact(broker, TOPIC)
    assert len(results(broker)) == 1
