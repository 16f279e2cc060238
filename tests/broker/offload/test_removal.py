"""Objects leave the store with what they are copies of, and nothing of a neighbor goes with them."""

from __future__ import annotations

import asyncio
import json
import urllib.error
from pathlib import Path
from threading import Event, Thread

import pytest

from broker_core.storage.errors import DiskFull
from tests.broker.offload.conftest import BUCKET, S3
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, offloaded_topic


def test_trimmed_ledgers_take_their_objects_with_them_and_no_others(one: OffloadedTopic, s3: S3) -> None:
    neighbor = OffloadedTopic(one.broker, one.client, f"{one.name}-neighbor")
    for topic in (one, neighbor):
        topic.client.subscribe(topic.name, "keeps").close()
        topic.publish_and_offload()
    one.acknowledge_all()
    one.rest("POST", "trim")
    wait_until(lambda: not s3.of(one), 20)
    assert len(s3.of(neighbor)) == 4
    assert len(neighbor.entries()) == 20


def test_the_last_object_of_a_topic_leaves_no_folder_behind(one: OffloadedTopic, s3: S3) -> None:
    """Arrow writes an empty object in place of a folder when it deletes the last object in it."""
    one.publish_and_offload()
    assert s3.folders(one)
    one.rest("DELETE", "?force=true")
    wait_until(lambda: not s3.of(one) and not s3.folders(one), 20)
    assert not [path for path in one.rest("POST", "/brokers/offload/audit")["orphans"] if one.local_name in path]


def test_an_empty_folder_is_an_orphan_and_swept(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    instance = one.broker.call(one.broker.broker.tier.instance())
    folder = f"{instance}/gone/default/persistent/{one.local_name}-gone"
    s3.filesystem.create_dir(f"{BUCKET}/{folder}", recursive=True)
    audit = one.rest("POST", "/brokers/offload/audit")
    assert f"{folder}/" in audit["orphans"]
    one.rest("POST", "/brokers/offload/audit?sweep=true")
    assert f"{folder}/" not in one.rest("POST", "/brokers/offload/audit")["orphans"]
    assert len(one.entries()) == 20


def test_a_deleted_topic_takes_its_objects_with_it(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    assert len(s3.of(one)) == 4
    one.rest("DELETE", "?force=true")
    wait_until(lambda: not s3.of(one), 20)


def test_objects_are_removed_later_if_the_disk_has_no_space_to_note_it(
    one: OffloadedTopic, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    one.publish_and_offload()
    copies = one.broker.broker.storage.copies
    note, refused = copies.removed, Event()

    async def full(uuids: list[str]) -> None:
        if not refused.is_set():
            refused.set()
            raise DiskFull("no space left")
        await note(uuids)

    monkeypatch.setattr(copies, "removed", full)
    one.rest("DELETE", "?force=true")
    assert refused.wait(20)
    wait_until(lambda: not copies.unwanted(), 20)
    assert not s3.of(one)


def test_a_truncated_topic_takes_its_objects_with_it(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    one.rest("DELETE", "truncate")
    wait_until(lambda: not s3.of(one), 20)
    assert one.entries() == []


def test_a_terminated_topic_is_read_from_its_objects_until_they_are_acknowledged(one: OffloadedTopic, s3: S3) -> None:
    before = one.publish_and_offload()
    one.rest("POST", "terminate")
    one.forget()
    assert one.entries() == before
    assert len(s3.of(one)) == 4
    one.acknowledge_all()
    one.rest("POST", "trim")
    wait_until(lambda: not s3.of(one), 20)


def test_a_deleted_namespace_takes_its_objects_with_it_and_no_others(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    one.rest("PUT", "/namespaces/public/leaving", {})
    leaving = OffloadedTopic(one.broker, one.client, "persistent://public/leaving/left-behind")
    leaving.client.subscribe(leaving.name, "keeps").close()
    leaving.publish_and_offload()
    assert len(s3.of(leaving)) == 4
    one.rest("DELETE", "/namespaces/public/leaving?force=true")
    wait_until(lambda: not [path for path in s3.objects() if "/public/leaving/" in path], 20)
    assert len(s3.of(one)) == 4


def test_retention_keeps_the_objects_of_acknowledged_messages_until_it_ends(one: OffloadedTopic, s3: S3) -> None:
    one.rest("POST", "retention", {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1})
    before = one.publish_and_offload()
    one.acknowledge_all()
    one.rest("POST", "trim")
    assert one.entries() == before
    assert len(s3.of(one)) == 4
    one.rest("POST", "retention", {"retentionTimeInMinutes": 0, "retentionSizeInMB": 0})
    one.rest("POST", "trim")
    wait_until(lambda: not s3.of(one), 20)


def test_a_store_that_does_not_answer_removals_and_audits_holds_no_reader_of_local_files(s3: S3) -> None:
    with offloaded_topic(s3.config(request_timeout_ms=30_000), name="persistent://public/default/unanswered") as one:
        one.publish_and_offload()
        tier, storage = one.broker.broker.tier, one.broker.broker.storage
        rules = one.topic.offloading.rules
        audit = Thread(target=lambda: one.broker.call(tier.audit(rules.driver, rules.settings, sweep=False)))
        with s3.proxy.doing("hold"):
            one.rest("DELETE", "truncate")
            assert s3.proxy.held.wait(30)
            before = len(s3.proxy.requests)
            audit.start()
            wait_until(lambda: len(s3.proxy.requests) > before, 30)
            assert one.broker.call(asyncio.wait_for(storage.read_thread(lambda: True), 10))
        audit.join(30)
        wait_until(lambda: not s3.of(one), 20)


def test_objects_that_cannot_be_removed_stay_on_record_until_they_are(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    tier = one.broker.broker.tier
    uuids = {info.copy.uuid for info in one.log().ledger_infos() if info.copy is not None}
    with s3.proxy.doing("refuse", lambda request: request.method in ("DELETE", "POST", "HEAD")):
        one.rest("DELETE", "?force=true")
        wait_until(lambda: uuids <= tier.unremoved.keys(), 20)
        assert all("ACCESS_DENIED" in tier.unremoved[uuid] for uuid in uuids)
    wait_until(lambda: not s3.of(one), 20)
    wait_until(lambda: not uuids & tier.unremoved.keys(), 20)


def test_objects_that_are_gone_are_listed_although_none_is_left(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload(10)
    gone = s3.of(one)
    for path in gone:
        s3.filesystem.delete_file(path)
    found = one.rest("POST", "/brokers/offload/audit")
    assert {path.removeprefix(f"{BUCKET}/") for path in gone} <= set(found["missing"])


def test_a_store_that_cannot_be_asked_is_an_error_whose_text_is_in_the_log_alone(
    one: OffloadedTopic, s3: S3, caplog: pytest.LogCaptureFixture
) -> None:
    with s3.proxy.doing("refuse"), pytest.raises(urllib.error.HTTPError) as refused:
        one.rest("POST", "/brokers/offload/audit")
    assert refused.value.code == 412
    reason = json.loads(refused.value.read())["reason"]
    assert reason == "cannot scan the store: the store failed with ACCESS_DENIED"
    assert "the key was revoked" in caplog.text


def test_orphans_are_listed_and_swept(one: OffloadedTopic, s3: S3) -> None:
    one.publish_and_offload()
    instance = s3.of(one)[0].split("/")[1]
    stray = f"{BUCKET}/{instance}/public/default/persistent/gone/7-00000000-0000-0000-0000-000000000000.parquet"
    foreign = f"{BUCKET}/pulsarctl-another/public/default/persistent/x/7-00000000-0000-0000-0000-000000000001.parquet"
    for path in (stray, foreign):
        with s3.filesystem.open_output_stream(path) as target:
            target.write(b"left behind")
    found = one.rest("POST", "/brokers/offload/audit")
    files = [path for path in found["orphans"] if not path.endswith("/")]  # folders of other tests are on their way out
    assert files == [stray.removeprefix(f"{BUCKET}/")]
    assert one.rest("POST", "/brokers/offload/audit?sweep=true")["removed"] >= 1
    assert stray not in s3.objects()
    assert foreign in s3.objects()
    left = one.rest("POST", "/brokers/offload/audit")["orphans"]
    assert [path for path in left if not path.endswith("/")] == []
    s3.filesystem.delete_file(foreign)


def test_a_store_that_does_not_answer_about_its_folders_holds_up_no_other_store(
    one: OffloadedTopic, s3: S3, tmp_path: Path
) -> None:
    other = OffloadedTopic(one.broker, one.client, f"{one.name}-elsewhere")
    one.client.subscribe(other.name, "keeps").close()
    other.rest(
        "POST", "offloadPolicies", {"managedLedgerOffloadDriver": "filesystem", "fileSystemURI": f"file://{tmp_path}"}
    )
    one.publish_and_offload()
    other.publish([b"x"])
    with s3.proxy.doing("hold", lambda each: each.method == "GET" and each.path.strip("/") == BUCKET):
        one.rest("DELETE", "?force=true")
        assert s3.proxy.held.wait(20)
        other.offload()
        assert list(tmp_path.rglob("*.parquet"))
    wait_until(lambda: not s3.of(one) and not s3.folders(one), 20)
