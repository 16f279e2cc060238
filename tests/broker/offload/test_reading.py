"""Offloaded ledgers through the official client and the admin API, from a real S3 server."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulsar

from broker_core.storage.records.position import Position
from tests.broker.offload.conftest import S3
from tests.support.condition import wait_until
from tests.support.offloaded_topic import OffloadedTopic, values
from tests.support.runner import Cli


def offload_everything(one: OffloadedTopic, sent: list[bytes]) -> None:
    one.publish(sent)
    one.offload()
    one.drop_files()


def test_a_reader_gets_every_message_from_the_store_in_order(one: OffloadedTopic, s3: S3) -> None:
    sent = values(35)
    offload_everything(one, sent)
    before = len(s3.proxy.requests)
    assert one.read(35) == sent
    assert any(request.method == "GET" for request in s3.proxy.requests[before:])


def test_a_reader_starts_at_any_position_and_at_any_time(one: OffloadedTopic) -> None:
    sent = values(25)
    offload_everything(one, sent)
    reader = one.client.create_reader(one.name, pulsar.MessageId.earliest)
    messages = [reader.read_next(20_000) for _ in sent]
    assert one.read(8, messages[16].message_id()) == sent[17:]
    reader.seek(messages[13].publish_timestamp())
    found = reader.read_next(20_000).data()
    assert found in sent[:14]
    reader.close()


def test_the_first_read_of_an_offloaded_ledger_succeeds_at_once(one: OffloadedTopic) -> None:
    offload_everything(one, values(10))
    assert len(one.entries()) == 10  # raises what the first attempt met


def test_a_cursor_that_reads_while_the_local_files_go_continues_from_the_store(one: OffloadedTopic) -> None:
    sent = values(30)
    one.publish(sent)
    one.offload()
    reader = one.client.create_reader(one.name, pulsar.MessageId.earliest, receiver_queue_size=1)
    first = [reader.read_next(20_000).data() for _ in range(12)]
    one.drop_files(forget=False)
    rest = [reader.read_next(20_000).data() for _ in range(18)]
    reader.close()
    assert first + rest == sent


def test_admin_calls_see_offloaded_messages_as_local_ones(one: OffloadedTopic) -> None:
    one.publish(values(20))
    calls = (
        ("GET", "lastMessageId"),
        ("GET", "examinemessage?initialPosition=earliest&messagePosition=4"),
        ("GET", f"ledger/{one.log().ledger_infos()[0].id}/entry/3"),
        ("GET", "subscription/keeps/position/12"),
        ("POST", "subscription/keeps/analyzeBacklog"),
    )
    local = [one.rest(*call, raw=True) for call in calls]
    one.offload()
    one.drop_files()
    assert [one.rest(*call, raw=True) for call in calls] == local


def test_skip_expire_and_reset_work_on_offloaded_messages(one: OffloadedTopic) -> None:
    offload_everything(one, values(20))

    def backlog() -> int:
        return int(one.rest("GET", "stats")["subscriptions"]["keeps"]["msgBacklog"])

    assert backlog() == 20
    one.rest("POST", "subscription/keeps/skip/5")
    assert backlog() == 15
    first = one.log().ledger_infos()[0].id
    one.rest("POST", "subscription/keeps/resetcursor", {"ledgerId": first, "entryId": 2})
    assert backlog() == 18
    one.rest("POST", "subscription/keeps/expireMessages", {"ledgerId": first, "entryId": 8})
    assert backlog() == 11
    one.rest("POST", "subscription/keeps/skip_all")
    assert backlog() == 0


def test_an_export_has_the_same_messages(one: OffloadedTopic, tmp_path: Path) -> None:
    cli = Cli(tmp_path, one.broker.http_url, one.broker.service_url)

    def exported(name: str) -> list[dict[str, Any]]:
        outcome = cli("ops", "export", one.name, str(tmp_path / name), "-f", "jsonl", "--engine", "local")
        assert outcome.exit_code == 0, outcome.stderr
        files = sorted((tmp_path / name).glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    one.publish(values(20), partition_key="k", properties={"a": "b"})
    local = exported("local")
    one.offload()
    one.drop_files()
    assert exported("offloaded") == local
    assert [row["value"].encode() for row in local] == values(20)


def test_compaction_reads_offloaded_ledgers(one: OffloadedTopic) -> None:
    for number in range(2):
        one.publish([f"{number}-{key}".encode() for key in range(10)], partition_key="k")
    one.offload()
    one.drop_files()
    one.rest("PUT", "compaction")
    wait_until(lambda: one.rest("GET", "compaction")["status"] == "SUCCESS", 20)
    reader = one.client.create_reader(one.name, pulsar.MessageId.earliest, is_read_compacted=True)
    assert reader.read_next(20_000).data() == b"1-9"
    reader.close()


def test_stats_name_what_is_offloaded(one: OffloadedTopic) -> None:
    one.publish(values(20))
    one.offload()
    stats, internal = one.rest("GET", "stats"), one.rest("GET", "internalStats")
    assert stats["offloadedStorageSize"] == stats["storageSize"] > 0
    assert stats["lastOffloadLedgerId"] == internal["ledgers"][1]["ledgerId"]
    assert stats["lastOffloadSuccessTimeStamp"] > 0 == stats["lastOffloadFailureTimeStamp"]
    assert [ledger["offloaded"] for ledger in internal["ledgers"]] == [True, True]
    info = one.rest("GET", "internal-info")
    assert [ledger["isOffloaded"] for ledger in info["ledgers"]] == [True, True]
    assert all(ledger["offloadedContextUuid"] for ledger in info["ledgers"])


def test_the_local_file_goes_in_spite_of_a_consumer_that_has_not_read_it(one: OffloadedTopic) -> None:
    one.publish(values(20))
    one.offload()
    one.rest("POST", "offloadPolicies", {"managedLedgerOffloadDeletionLagInMillis": 0})
    wait_until(lambda: not any(info.is_local for info in one.log().copies.sealed()), 20)
    assert len(one.entries()) == 20


def test_a_restored_ledger_has_the_same_entries_and_its_objects_are_removed(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(20))
    before = one.entries()
    one.offload()
    one.drop_files()
    assert one.rest("POST", "offload/restore") == {one.name: 2}
    one.forget()
    wait_until(lambda: not s3.of(one), 20)
    assert one.entries() == before
    assert all(info.copy is None for info in one.log().ledger_infos())


def test_a_restore_whose_time_is_over_leaves_the_rest_to_the_next_one(one: OffloadedTopic) -> None:
    before = one.publish_and_offload(30)
    restored = [one.broker.call(one.topic.offloading.restore(0)) for _ in range(4)]
    assert restored == [1, 1, 1, 0]
    assert one.entries() == before


def test_measuring_an_unacknowledged_backlog_asks_the_store_nothing(one: OffloadedTopic, s3: S3) -> None:
    offload_everything(one, values(20))
    cursor, before = one.log().cursors["keeps"], len(s3.proxy.requests)
    one.broker.call(cursor.measure())
    assert cursor.backlog_messages == 20
    assert s3.proxy.requests[before:] == []


def test_a_position_in_the_middle_of_an_offloaded_ledger_is_read_without_what_is_before(one: OffloadedTopic) -> None:
    offload_everything(one, values(20))
    second = one.log().ledger_infos()[1].id
    block = one.broker.call(one.log().read(Position(second, 4), 100, 1 << 20))
    assert (block.ledger_id, block.first_entry_id) == (second, 4)


def test_a_copy_of_several_row_groups_is_read_back_in_one_request(one: OffloadedTopic, s3: S3) -> None:
    one.publish(values(10, size=400_000))
    before = len(s3.proxy.requests)
    one.offload()
    reads = [each for each in s3.proxy.requests[before:] if s3.requests(one, "GET", ".parquet")(each)]
    assert len(reads) == 2  # the footer, and all row groups


GROUPS = 10  # row groups of a ledger whose entries are as large as a row group


def test_a_restore_gets_several_row_groups_with_a_request(one: OffloadedTopic) -> None:
    offload_everything(one, values(GROUPS, size=1_100_000))
    before = one.log().ledger_infos()
    assert group_requests(one, lambda: one.rest("POST", "offload/restore")) <= GROUPS // 2
    assert one.log().ledger_infos()[0].entries == before[0].entries == GROUPS
    assert all(info.copy is None for info in one.log().ledger_infos())


def test_a_reader_that_goes_forward_gets_several_row_groups_with_a_request(one: OffloadedTopic) -> None:
    sent = values(GROUPS, size=1_100_000)
    offload_everything(one, sent)
    read: list[bytes] = []
    assert group_requests(one, lambda: read.extend(one.read(GROUPS))) <= GROUPS // 2
    assert read == sent


def test_a_reader_that_jumps_gets_one_row_group_ahead(one: OffloadedTopic) -> None:
    offload_everything(one, values(GROUPS, size=1_100_000))
    ledger, reader = one.log().ledger_infos()[0].id, one.broker.broker.tier.reader
    for entry in (0, 4):
        before = reader.requests
        one.broker.call(one.log().read(Position(ledger, entry), 1, 1 << 20))
        wait_until(lambda before=before: reader.requests == before + 2, 20)  # type: ignore[misc]  # binds now


def group_requests(one: OffloadedTopic, action: Callable[[], object]) -> int:
    """How many reads of row groups it costs, besides that of the footer."""
    reader = one.broker.broker.tier.reader
    before = reader.requests
    action()
    return reader.requests - before
