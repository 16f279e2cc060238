"""What goes wrong with stores and objects: the truth is told, nothing wrong is served, and no object is left behind."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from broker_core.offload.worker_process import WorkerProcess
from broker_core.storage.errors import Damaged
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.topic.offloading import OffloadState
from tests.broker.offload.conftest import BUCKET, S3
from tests.support.condition import wait_until
from tests.support.managed_ledgers import managed_ledger
from tests.support.offloaded_topic import OffloadedTopic, values

# ---- offloading


def test_a_ledger_that_is_trimmed_while_it_is_offloaded_leaves_no_object_and_no_error(
    one: OffloadedTopic, s3: S3
) -> None:
    one.publish(values(10))
    with s3.proxy.doing("hold", s3.requests(one, "PUT", ".parquet")):
        one.start()
        assert s3.proxy.held.wait(30)
        one.acknowledge_all()
        one.rest("POST", "trim")
        assert one.log().ledger_infos() == []
        s3.proxy.release()
        one.wait()
    assert one.topic.offloading.state is OffloadState.SUCCESS
    wait_until(lambda: not s3.of(one), 20)


def test_a_request_with_nothing_to_do_succeeds(one: OffloadedTopic) -> None:
    assert one.rest("GET", "offload") == {"status": "NOT_RUN", "lastError": ""}
    one.offload()
    found = one.rest("GET", "offload")
    assert (found["status"], found["lastError"]) == ("SUCCESS", "")
    assert found["firstUnoffloadedMessage"]["entryId"] == 0


def test_the_first_message_that_is_not_offloaded_is_the_next_one_when_all_are(one: OffloadedTopic) -> None:
    one.publish(values(10))
    last = one.log().last_confirmed
    one.offload()
    first = one.rest("GET", "offload")["firstUnoffloadedMessage"]
    assert (first["ledgerId"], first["entryId"], first["partitionIndex"]) == (last.ledger_id, last.entry_id + 1, -1)


def test_an_upload_that_cannot_be_read_back_is_an_error(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    with s3.proxy.doing("cut", s3.requests(one, "GET", ".parquet")):
        one.start()
        one.wait()
    assert one.topic.offloading.state is OffloadState.ERROR
    wait_until(lambda: not s3.of(one), 20)


async def two_offloads(one: OffloadedTopic, ledger_id: int) -> list[bool]:
    """As by a job and the broker at the same time."""
    rules = one.broker.broker.topics.loaded[one.name].offloading.rules

    async def offload() -> bool:
        async with WorkerProcess() as worker:
            return await one.broker.broker.tier.offload(managed, ledger_id, rules, worker)

    managed = managed_ledger(one.broker.broker.topics.loaded[one.name])
    return list(await asyncio.gather(offload(), offload()))


def test_of_two_offloads_of_one_ledger_one_wins_and_the_other_cleans_up(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    (info,) = one.log().copies.sealed()

    results = one.broker.call(two_offloads(one, info.id))
    assert sorted(results) == [False, True]
    wait_until(lambda: len(s3.of(one)) == 2, 20)
    one.drop_files()
    assert len(one.entries()) == 10


# ---- reading


def altered(s3: S3, path: str, change: Callable[[bytes], bytes]) -> None:
    with s3.filesystem.open_input_stream(path) as source:
        data = source.read()
    with s3.filesystem.open_output_stream(path) as target:
        target.write(change(data))


def flipped(data: bytes, group: int = 0) -> bytes:
    """One bit of the column with the entries."""
    column = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(group).column(6)
    at = column.data_page_offset + column.total_compressed_size - 5
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_a_reader_of_an_intact_row_group_does_not_hear_of_another_one_in_its_request(
    one: OffloadedTopic, s3: S3
) -> None:
    one.publish(values(8, size=1_100_000))
    one.offload()
    one.drop_files()
    log = one.log()
    ledger = log.ledger_infos()[0].id
    [path] = s3.of(one, ".parquet")
    altered(s3, path, partial(flipped, group=2))
    reader = one.broker.broker.tier.reader
    before = reader.cached_bytes

    async def read(entry: int) -> int:
        return (await log.read(Position(ledger, entry), 1, 1 << 20)).first_entry_id

    async def read_while_held() -> int:
        await read(1)  # in memory; groups from 2 on are requested together
        reading = asyncio.ensure_future(read(4))
        assert await asyncio.to_thread(s3.proxy.held.wait, 30)
        s3.proxy.release()
        return await reading

    one.broker.call(read(0))
    wait_until(lambda: reader.cached_bytes > before + 2_200_000, 20)  # the first two groups
    with s3.proxy.doing("hold", s3.requests(one, "GET", ".parquet")):
        assert one.broker.call(read_while_held()) == 4
    with pytest.raises(Damaged):
        one.broker.call(read(2))


@pytest.mark.parametrize(
    "change",
    [flipped, lambda data: data[:-100], lambda data: data[:100], lambda data: b"", lambda data: data + b"x"],
    ids=["flipped", "truncated", "shorter", "empty", "longer"],
)
def test_an_altered_object_is_never_served_and_the_other_ledger_is(
    one: OffloadedTopic, s3: S3, change: Callable[[bytes], bytes]
) -> None:
    before = one.publish_and_offload()
    first, second = (info.id for info in one.log().ledger_infos())
    (path,) = [path for path in s3.of(one, ".parquet") if f"/{first}-" in path]
    altered(s3, path, change)
    with pytest.raises(Damaged, match=f"ledger {first}") as error:
        one.broker.call(one.log().read(EARLIEST, 100, 1 << 20))
    assert error.value.lost is not None and error.value.lost.ledger_id == first
    block = one.broker.call(one.log().read(Position(second, 0), 100, 1 << 20))
    assert [block.entry(i) for i in range(len(block))] == before[10:]


def test_an_object_of_another_ledger_is_never_served(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    first, second = s3.of(one, ".parquet")
    with s3.filesystem.open_input_stream(second) as source:
        other = source.read()
    altered(s3, first, lambda _: other)
    with pytest.raises(Damaged, match=r"another footer|bytes instead of"):
        one.entries()


def test_a_deleted_object_is_named_and_skipped_once_the_loss_is_accepted(one: OffloadedTopic, s3: S3) -> None:
    before = one.publish_and_offload()
    s3.filesystem.delete_file(s3.of(one, ".parquet")[0])
    with pytest.raises(Damaged, match="is missing"):
        one.entries()
    assert [lost.ledger_id for lost in one.log().lost] == [one.log().ledger_infos()[0].id]
    one.broker.call(one.broker.broker.accept_loss())
    assert one.entries() == before[10:]


def test_a_deleted_manifest_does_not_keep_the_ledger_from_being_read(one: OffloadedTopic, s3: S3) -> None:
    before = one.publish_and_offload()
    for path in s3.of(one, ".json"):
        s3.filesystem.delete_file(path)
    assert one.entries() == before


def test_copies_stay_readable_after_the_policy_names_another_store(one: OffloadedTopic, s3: S3, tmp_path: Path) -> None:
    before = one.publish_and_offload()
    s3.filesystem.create_dir("elsewhere")
    bucket = {
        "managedLedgerOffloadDriver": "aws-s3",
        "s3ManagedLedgerOffloadRegion": "us-east-1",
        "s3ManagedLedgerOffloadServiceEndpoint": s3.proxy.url,
    }
    places = (
        {**bucket, "s3ManagedLedgerOffloadBucket": "elsewhere"},
        {**bucket, "s3ManagedLedgerOffloadBucket": f"{BUCKET}/prefix"},
        {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": f"file://{tmp_path}"},
    )
    for place in places:
        one.rest("POST", "offloadPolicies", place)
        one.publish(values(10))
        one.offload()
        one.drop_files()
    assert len(s3.objects("elsewhere")) == 2
    assert len([path for path in s3.objects() if path.startswith(f"{BUCKET}/prefix/")]) == 2
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 2
    found = one.entries()
    assert (found[:20], len(found)) == (before, 50)
