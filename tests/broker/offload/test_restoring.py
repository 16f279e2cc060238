"""Offloaded ledgers that are restored or trimmed while the topic is unloaded, or while its messages are read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from broker_core.errors import TopicFenced
from broker_core.names import parse_topic
from broker_core.storage.errors import Closed, Damaged
from broker_core.storage.filenames import ledger_file
from broker_core.storage.log.copy_reader import CopyReader
from broker_core.storage.log.retention import Retention
from broker_core.storage.records.block import Block
from broker_core.storage.records.ledger_file import Ledger
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.position import EARLIEST
from broker_core.storage.records.spans import Spans
from broker_core.topic.topic import Topic
from tests.support.condition import wait_until
from tests.support.managed_ledgers import managed_ledger
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OffloadedTopic]:
    with offloaded_topic(in_directory(tmp_path_factory.mktemp("store"))) as topic:
        yield topic


@pytest.fixture
def one(first: OffloadedTopic, request: pytest.FixtureRequest) -> OffloadedTopic:
    """A topic of the test's own, with a subscription that keeps everything."""
    topic = OffloadedTopic(first.broker, first.client, f"persistent://public/default/{request.node.name}")
    first.client.subscribe(topic.name, "keeps").close()
    return topic


def damage(one: OffloadedTopic) -> list[str]:
    return [str(place.report) for place in one.broker.broker.storage.damage.places]


async def restore_and_unload(one: OffloadedTopic, iterations: int) -> None:
    """Unloads the topic some iterations of the loop later, and loads it while the restore may still run."""
    topics, name = one.broker.broker.topics, parse_topic(one.name)
    topic = await topics.get(name)
    restoring = asyncio.ensure_future(topic.offloading.restore(60))
    for _ in range(iterations):
        await asyncio.sleep(0)
    await topics.unload(name)
    await topics.get(name)
    await asyncio.gather(restoring, return_exceptions=True)


def test_a_topic_that_is_unloaded_while_its_ledgers_are_restored_keeps_every_message(one: OffloadedTopic) -> None:
    before, iterations = one.publish_and_offload(80), 1
    while not all(info.is_local for info in one.log().ledger_infos()):
        one.broker.call(restore_and_unload(one, iterations))
        assert one.entries() == before
        assert damage(one) == []
        iterations *= 2
    one.forget()
    assert one.entries() == before
    assert damage(one) == []


def test_a_restore_that_an_unload_ends_tells_its_caller_to_try_again(one: OffloadedTopic) -> None:
    async def unload_during_restore(topic: Topic) -> None:
        restoring = asyncio.ensure_future(topic.offloading.restore(60))
        await asyncio.sleep(0)
        await one.broker.broker.topics.unload(topic.name)
        await restoring

    one.publish_and_offload(20)
    with pytest.raises(TopicFenced, match="try again"):
        one.broker.call(unload_during_restore(one.topic))
    assert one.rest("POST", "offload/restore") == {one.name: 2}


def test_a_topic_that_was_unloaded_restores_nothing(one: OffloadedTopic) -> None:
    one.publish_and_offload(20)
    unloaded = one.topic
    one.forget()
    with pytest.raises(TopicFenced):
        one.broker.call(unloaded.offloading.restore(60))


def test_the_copies_of_a_closed_log_do_not_change(one: OffloadedTopic) -> None:
    before, closed = one.publish_and_offload(20), one.log()
    one.forget()
    with pytest.raises(Closed):
        one.broker.call(closed.copies.restore(closed.copies.sealed()[0].id))
    assert not any(info.is_local for info in one.log().ledger_infos())
    assert one.entries() == before


class RemovedMeanwhile(CopyReader):
    """The copy is removed while it is read, after `change` made it unwanted."""

    def __init__(self, one: OffloadedTopic, change: Callable[[int], Awaitable[object]]) -> None:
        self._change = change
        self._reader = one.broker.broker.storage.reader
        self._real = self._reader.copies
        self._reader.copies = self

    async def load_spans(self, ledger: Ledger, copy: OffloadedCopy) -> Spans:
        return await self._real.load_spans(ledger, copy)

    async def read(self, ledger: Ledger, copy: OffloadedCopy, span: int) -> Block:
        self._reader.copies = self._real
        await self._change(ledger.info.id)
        raise Damaged(ledger.path, 0, "the copy is missing")

    def forget(self, copy: OffloadedCopy) -> None:
        self._real.forget(copy)


def test_a_read_of_a_copy_that_is_removed_by_a_restore_goes_on_in_the_file(one: OffloadedTopic) -> None:
    before = one.publish_and_offload(10)
    RemovedMeanwhile(one, one.log().copies.restore)
    block = one.broker.call(one.log().read(EARLIEST, 100, 1 << 20))
    assert [block.entry(index) for index in range(len(block))] == before
    assert damage(one) == []


def test_a_read_of_a_copy_whose_ledger_is_trimmed_goes_on_after_it(one: OffloadedTopic) -> None:
    async def trim_the_first(_: int) -> None:
        (cursor,) = managed.cursors.values()
        cursor.acknowledge(first, range(10))
        assert await managed.trim(Retention(), 0) == [first]

    before, managed = one.publish_and_offload(20), one.log()
    first = managed.ledger_infos()[0].id
    RemovedMeanwhile(one, trim_the_first)
    block = one.broker.call(managed.read(EARLIEST, 100, 1 << 20))
    assert [block.entry(index) for index in range(len(block))] == before[10:]
    assert damage(one) == []


def test_a_restore_writes_a_file_again_that_is_no_longer_whole(one: OffloadedTopic) -> None:
    one.publish([b"%d" % i for i in range(10)])
    before = one.entries()
    one.offload()
    file = ledger_file(one.broker.directory, one.log().copies.sealed()[0].id)
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 1
    file.write_bytes(data)
    assert one.rest("POST", "offload/restore") == {one.name: 1}
    one.forget()
    assert one.entries() == before
    assert damage(one) == []


def test_a_file_that_is_due_for_deletion_stays_while_its_ledger_is_restored(one: OffloadedTopic) -> None:
    """With lag 0, housekeeping wants to delete what a restore has just written."""

    async def restore_beside_housekeeping() -> None:
        topic = await one.broker.broker.topics.get(parse_topic(one.name))
        copies = managed_ledger(topic).copies
        restoring = asyncio.ensure_future(topic.offloading.restore(60))
        while not restoring.done():
            await copies.drop_files([info.id for info in copies.sealed()])
            await asyncio.sleep(0)
        assert await restoring == 8

    before = one.publish_and_offload(80)
    one.broker.call(restore_beside_housekeeping())
    one.forget()
    assert one.entries() == before
    assert len([info for info in one.log().ledger_infos() if info.copy is None]) >= 8


def test_a_file_that_a_kill_has_left_is_deleted_by_housekeeping(one: OffloadedTopic) -> None:
    before = one.publish_and_offload(20)
    left = ledger_file(one.broker.directory, one.log().copies.sealed()[0].id)
    left.write_bytes(b"not whole")
    one.forget()
    assert one.entries() == before
    wait_until(lambda: not left.exists(), 20)


class Broken(RemovedMeanwhile):
    """Every read fails with an error of an unexpected type."""

    async def load_spans(self, ledger: Ledger, copy: OffloadedCopy) -> Spans:
        self._reader.copies = self._real
        raise RuntimeError("broken")


def test_a_restore_raises_an_error_of_any_type(one: OffloadedTopic) -> None:
    one.publish_and_offload(10)
    offloading = one.topic.offloading
    Broken(one, one.log().copies.restore)
    with pytest.raises(RuntimeError, match="broken"):
        one.broker.call(offloading.restore(60))
    assert not offloading.is_running
