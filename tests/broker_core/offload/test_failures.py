"""What goes wrong with stores and objects: the truth is told, nothing wrong is served, and no object is left behind."""

from __future__ import annotations

import asyncio
import io
import json
import urllib.error
from collections.abc import Callable

import pyarrow.parquet as pq
import pytest

from broker_core.offload.worker_process import WorkerProcess
from broker_core.storage.errors import Damaged, Unreachable
from broker_core.storage.position import EARLIEST, Position
from broker_core.topic.offloading import OffloadState
from tests.broker_core.offload.conftest import BUCKET, S3
from tests.broker_core.offload.fault_proxy import Request
from tests.broker_core.offload.offloaded_topic import OffloadedTopic, values
from tests.condition import wait_until
from tests.managed_ledgers import managed_ledger


def of(one: OffloadedTopic, method: str, ending: str) -> Callable[[Request], bool]:
    """Requests for the topic's objects of a kind."""
    local = one.name.rsplit("/", 1)[1]
    return lambda request: request.method == method and f"/{local}/" in request.path and request.path.endswith(ending)


def offloaded(one: OffloadedTopic, count: int = 20) -> list[bytes]:
    """The entries as they were before."""
    one.publish(values(count))
    before = one.entries()
    one.offload()
    one.drop_files()
    return before


def acknowledge_all(one: OffloadedTopic) -> None:
    one.rest("POST", "subscription/keeps/skip_all")


# ---- offloading


def test_f4_a_ledger_that_is_trimmed_while_it_is_offloaded_leaves_no_object_and_no_error(
    one: OffloadedTopic, s3: S3
) -> None:
    one.publish(values(10))
    with s3.proxy.doing("hold", of(one, "PUT", ".parquet")):
        one.start()
        assert s3.proxy.held.wait(30)
        acknowledge_all(one)
        one.rest("POST", "trim")
        assert one.log().ledger_infos() == []
        s3.proxy.release()
        one.wait()
    assert one.topic.offloading.state is OffloadState.SUCCESS
    wait_until(lambda: not s3.of(one), 20)


def test_f5_a_request_with_nothing_to_do_succeeds(one: OffloadedTopic) -> None:
    assert one.rest("GET", "offload") == {"status": "NOT_RUN", "lastError": ""}
    one.offload()
    assert one.rest("GET", "offload") == {"status": "SUCCESS", "lastError": ""}


def test_f5_f7_a_refused_upload_is_an_error_with_the_text_of_the_store(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    with s3.proxy.doing("refuse", of(one, "PUT", ".parquet")):
        one.start()
        one.wait()
    status = one.rest("GET", "offload")
    assert status["status"] == "ERROR"
    assert "the key was revoked" in status["lastError"]
    assert status["firstUnoffloadedMessage"]["ledgerId"] == one.log().ledger_infos()[0].id
    assert len(one.entries()) == 10
    one.offload()
    wait_until(lambda: len(s3.of(one)) == 2, 20)


def test_f5_an_upload_that_cannot_be_read_back_is_an_error(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    with s3.proxy.doing("cut", of(one, "GET", ".parquet")):
        one.start()
        one.wait()
    assert one.topic.offloading.state is OffloadState.ERROR
    wait_until(lambda: not s3.of(one), 20)


def test_f7_an_offload_to_a_bucket_that_does_not_exist_says_so(one: OffloadedTopic) -> None:
    one.publish(values(10))
    one.rest("POST", "offloadPolicies", {"managedLedgerOffloadDriver": "aws-s3", "s3ManagedLedgerOffloadBucket": "no"})
    one.start()
    one.wait()
    assert "ucket" in one.topic.offloading.last_error
    assert len(one.entries()) == 10


async def two_offloads(one: OffloadedTopic, ledger_id: int) -> list[bool]:
    """As by a job and the broker at the same time."""
    rules = one.broker.broker.topics.loaded[one.name].offloading.rules

    async def offload() -> bool:
        async with WorkerProcess() as worker:
            return await one.broker.broker.tier.offload(managed, ledger_id, rules, worker)

    managed = managed_ledger(one.broker.broker.topics.loaded[one.name])
    return list(await asyncio.gather(offload(), offload()))


def test_f14_of_two_offloads_of_one_ledger_one_wins_and_the_other_cleans_up(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    (info,) = one.log().copies.sealed()

    results = one.broker.call(two_offloads(one, info.id))
    assert sorted(results) == [False, True]
    wait_until(lambda: len(s3.of(one)) == 2, 20)
    one.drop_files()
    assert len(one.entries()) == 10


def test_f17_producers_go_on_while_an_upload_waits(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10))
    with s3.proxy.doing("hold", of(one, "PUT", ".parquet")):
        one.start()
        assert s3.proxy.held.wait(30)
        one.publish(values(10))
        assert one.topic.offloading.is_running
        s3.proxy.release()
        one.wait()
    assert len(one.entries()) == 20


# ---- reading


@pytest.mark.parametrize("fault", ["refuse", "busy", "cut"])
def test_f7_a_store_that_fails_is_unreachable_and_read_again_when_it_is_back(
    one: OffloadedTopic, s3: S3, fault: str
) -> None:
    before = offloaded(one)
    with s3.proxy.doing(fault, of(one, "GET", ".parquet")), pytest.raises(Unreachable, match="cannot read ledger"):
        one.entries()
    assert one.entries() == before
    assert one.log().lost == []


def altered(s3: S3, path: str, change: Callable[[bytes], bytes]) -> None:
    with s3.filesystem.open_input_stream(path) as source:
        data = source.read()
    with s3.filesystem.open_output_stream(path) as target:
        target.write(change(data))


def flipped(data: bytes) -> bytes:
    """One bit of the column with the entries."""
    column = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(6)
    at = column.data_page_offset + column.total_compressed_size - 5
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    "change",
    [flipped, lambda data: data[:-100], lambda data: data[:100], lambda data: b"", lambda data: data + b"x"],
    ids=["flipped", "truncated", "shorter", "empty", "longer"],
)
def test_f8_an_altered_object_is_never_served_and_the_other_ledger_is(
    one: OffloadedTopic, s3: S3, change: Callable[[bytes], bytes]
) -> None:
    before = offloaded(one)
    first, second = (info.id for info in one.log().ledger_infos())
    (path,) = [path for path in s3.of(one, ".parquet") if f"/{first}-" in path]
    altered(s3, path, change)
    with pytest.raises(Damaged, match=f"ledger {first}") as error:
        one.broker.call(one.log().read(EARLIEST, 100, 1 << 20))
    assert error.value.lost is not None and error.value.lost.ledger_id == first
    block = one.broker.call(one.log().read(Position(second, 0), 100, 1 << 20))
    assert [block.entry(i) for i in range(len(block))] == before[10:]


def test_f8_an_object_of_another_ledger_is_never_served(one: OffloadedTopic, s3: S3) -> None:
    offloaded(one)
    first, second = s3.of(one, ".parquet")
    with s3.filesystem.open_input_stream(second) as source:
        other = source.read()
    altered(s3, first, lambda _: other)
    with pytest.raises(Damaged, match=r"another footer|bytes instead of"):
        one.entries()


def test_f8_a_deleted_object_is_named_and_skipped_once_the_loss_is_accepted(one: OffloadedTopic, s3: S3) -> None:
    before = offloaded(one)
    s3.filesystem.delete_file(s3.of(one, ".parquet")[0])
    with pytest.raises(Damaged, match="is missing"):
        one.entries()
    assert [lost.ledger_id for lost in one.log().lost] == [one.log().ledger_infos()[0].id]
    one.broker.call(one.broker.broker.accept_loss())
    assert one.entries() == before[10:]


def test_f8_a_deleted_manifest_does_not_keep_the_ledger_from_being_read(one: OffloadedTopic, s3: S3) -> None:
    before = offloaded(one)
    for path in s3.of(one, ".json"):
        s3.filesystem.delete_file(path)
    assert one.entries() == before


# ---- removal


def test_f9_trimmed_ledgers_take_their_objects_with_them_and_no_others(one: OffloadedTopic, s3: S3) -> None:
    neighbor = OffloadedTopic(one.broker, one.client, f"{one.name}-neighbor")
    for topic in (one, neighbor):
        topic.client.subscribe(topic.name, "keeps").close()
        offloaded(topic)
    acknowledge_all(one)
    one.rest("POST", "trim")
    wait_until(lambda: not s3.of(one), 20)
    assert len(s3.of(neighbor)) == 4
    assert len(neighbor.entries()) == 20


def test_f9_a_deleted_topic_takes_its_objects_with_it(one: OffloadedTopic, s3: S3) -> None:
    offloaded(one)
    assert len(s3.of(one)) == 4
    one.rest("DELETE", "?force=true")
    wait_until(lambda: not s3.of(one), 20)


def test_f9_objects_that_cannot_be_removed_stay_on_record_until_they_are(one: OffloadedTopic, s3: S3) -> None:
    offloaded(one)
    tier = one.broker.broker.tier
    uuids = {info.copy.uuid for info in one.log().ledger_infos() if info.copy is not None}
    with s3.proxy.doing("refuse", lambda request: request.method in ("DELETE", "POST", "HEAD")):
        one.rest("DELETE", "?force=true")
        wait_until(lambda: uuids <= tier.unremoved.keys(), 20)
        assert all("AWS Error" in tier.unremoved[uuid] for uuid in uuids)
    wait_until(lambda: not s3.of(one), 20)
    wait_until(lambda: not uuids & tier.unremoved.keys(), 20)


def test_f13_copies_stay_readable_after_the_policy_names_another_bucket(one: OffloadedTopic, s3: S3) -> None:
    before = offloaded(one)
    s3.filesystem.create_dir("elsewhere")
    one.rest(
        "POST",
        "offloadPolicies",
        {
            "managedLedgerOffloadDriver": "aws-s3",
            "s3ManagedLedgerOffloadBucket": "elsewhere",
            "s3ManagedLedgerOffloadRegion": "us-east-1",
            "s3ManagedLedgerOffloadServiceEndpoint": s3.proxy.url,
        },
    )
    one.publish(values(10))
    one.offload()
    assert len(s3.objects("elsewhere")) == 2
    one.drop_files()
    assert one.entries()[:20] == before


def test_objects_that_are_gone_are_listed_although_none_is_left(one: OffloadedTopic, s3: S3) -> None:
    offloaded(one, 10)
    gone = s3.of(one)
    for path in gone:
        s3.filesystem.delete_file(path)
    found = one.rest("POST", "/brokers/offload/audit")
    assert {path.removeprefix(f"{BUCKET}/") for path in gone} <= set(found["missing"])


def test_a_store_that_cannot_be_asked_is_an_error_with_its_text(one: OffloadedTopic, s3: S3) -> None:
    with s3.proxy.doing("refuse"), pytest.raises(urllib.error.HTTPError) as refused:
        one.rest("POST", "/brokers/offload/audit")
    assert refused.value.code == 412
    assert "the key was revoked" in json.loads(refused.value.read())["reason"]


def test_orphans_are_listed_and_swept(one: OffloadedTopic, s3: S3) -> None:
    offloaded(one)
    instance = s3.of(one)[0].split("/")[1]
    stray = f"{BUCKET}/{instance}/public/default/persistent/gone/7-00000000-0000-0000-0000-000000000000.parquet"
    foreign = f"{BUCKET}/pulsarctl-another/public/default/persistent/x/7-00000000-0000-0000-0000-000000000001.parquet"
    for path in (stray, foreign):
        with s3.filesystem.open_output_stream(path) as target:
            target.write(b"left behind")
    found = one.rest("POST", "/brokers/offload/audit")
    assert found["orphans"] == [stray.removeprefix(f"{BUCKET}/")]
    assert one.rest("POST", "/brokers/offload/audit?sweep=true")["removed"] == 1
    assert stray not in s3.objects()
    assert foreign in s3.objects()
    assert one.rest("POST", "/brokers/offload/audit")["orphans"] == []
    s3.filesystem.delete_file(foreign)
