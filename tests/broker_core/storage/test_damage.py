"""One test for each kind of damage. A torn tail is dropped silently, other damage is reported, the rest is served."""

import errno
import shutil
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage import filenames, journal_group, ledger_file, tables
from broker_core.storage.block import ACKS, HEADER_SIZE, ROW_SIZE, encode_run
from broker_core.storage.damage import MOST_PLACES, DamageRecord
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import (
    CatalogUnusable,
    Damaged,
    DamageReport,
    DirectoryLocked,
    FormatTooNew,
    Lost,
    NotOurDirectory,
    StorageError,
)
from broker_core.storage.inspection.check import find_damage
from broker_core.storage.position import EARLIEST, Position
from tests.broker_core.storage.damaged_files import flip, groups_in, journal_of, salvaged
from tests.broker_core.storage.faulty_disk import FaultyDisk
from tests.broker_core.storage.storage import append, contents, crash, opened, read_all, run_of

RUNS = 4
ENTRIES = [b"entry %d" % i for i in range(RUNS * 3)]


async def written(path: Path, *, checkpoint: bool = False) -> Path:
    """A crashed directory with two topics of four runs each, in the journal or in a checkpoint."""
    engine = await opened(path)
    for name in ("t", "other"):
        ledger = await engine.open_ledger(name)
        for i in range(0, len(ENTRIES), 3):
            await append(ledger, run_of(*ENTRIES[i : i + 3]))
    if checkpoint:
        await engine.checkpoint()
    copy = crash(path)
    await engine.close()
    return copy


async def all_of(path: Path, name: str) -> tuple[list[bytes], list[str]]:
    """The readable entries of a topic, and the reported damage."""
    engine = await opened(path)
    try:
        found = await contents(await engine.open_ledger(name))
        return found, [report.reason for report in engine.damage.reports]
    finally:
        await engine.close()


async def test_a_torn_tail_is_dropped_at_every_byte_of_the_last_group(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d")
    whole = journal_of(copy).read_bytes()
    journal_of(copy).unlink()  # each trial writes its own
    start, end = groups_in(whole)[-1]
    for cut in range(start, end):
        for filler in (b"", bytes(5000)) if cut % 8 == 0 else (bytes(5000),):
            directory = tmp_path / "cut"
            shutil.rmtree(directory, ignore_errors=True)
            shutil.copytree(copy, directory)
            journal_of(directory).write_bytes(whole[:cut] + filler)
            assert await all_of(directory, "other") == (ENTRIES[:-3], []), cut
            shutil.rmtree(directory)


JOURNAL_REGIONS = {
    "group magic": 1,
    "group crc": 5,
    "group number": 9,
    "group offset": 18,
    "group length": 25,
    "record crc": journal_group.GROUP_HEADER.size,
    "record length": journal_group.GROUP_HEADER.size + 5,
    "record header": journal_group.GROUP_HEADER.size + 20,
    "record table": journal_group.GROUP_HEADER.size + HEADER_SIZE + 4,
    "record blob": journal_group.GROUP_HEADER.size + HEADER_SIZE + 3 * ROW_SIZE + 10,
}


@pytest.mark.parametrize("region", JOURNAL_REGIONS)
async def test_a_flipped_bit_before_the_tail_of_the_journal_is_reported(tmp_path: Path, region: str) -> None:
    copy = await written(tmp_path / "d")
    data = journal_of(copy).read_bytes()
    groups = groups_in(data)
    flip(journal_of(copy), groups[1][0] + JOURNAL_REGIONS[region])
    engine = await opened(copy)
    assert engine.damage.reports[0].path == journal_of(copy)
    assert engine.damage.reports[0].offset == groups[1][0]
    assert await contents(await engine.open_ledger("other")) == ENTRIES
    kept = (
        ENTRIES if region.startswith("group") else ENTRIES[:3] + ENTRIES[6:]
    )  # the records of a group have their own checksums
    assert await salvaged(engine, "t") == kept
    await append(await engine.open_ledger("t"), run_of(b"new"))
    assert await contents(await engine.open_ledger("t")) == [*kept, b"new"]
    await engine.close()


async def test_a_flipped_bit_in_the_header_of_a_journal_is_reported_and_its_groups_are_kept(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d")
    flip(journal_of(copy), 3)
    found, reasons = await all_of(copy, "t")
    assert found == ENTRIES
    assert len(reasons) == 1


async def test_a_zeroed_page_in_the_journal_is_reported(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    for i in range(30):
        await append(ledger, run_of(b"%03d" % i + b"." * 1000))
    copy = crash(tmp_path / "d")
    await engine.close()
    data = bytearray(journal_of(copy).read_bytes())
    data[8192:12288] = bytes(4096)
    journal_of(copy).write_bytes(data)
    engine = await opened(copy)
    reopened = await engine.open_ledger("t")
    [lost] = reopened.lost
    found = await salvaged(engine, "t")
    assert [int(entry[:3]) for entry in found] == [i for i in range(30) if not lost.first <= i <= lost.last]
    assert 3 <= lost.last - lost.first + 1 <= 6
    await engine.close()


async def test_a_missing_journal_file_is_reported(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    for i in range(3):
        await append(ledger, run_of(b"%d" % i))
        await engine.journal.rotate()
    copy = crash(tmp_path / "d")
    await engine.close()
    journal_of(copy, 2).unlink()
    engine = await opened(copy)
    assert [(report.path.name, report.reason) for report in engine.damage.reports] == [
        ("0000000002.journal", "journal file is missing"),
        (
            filenames.ledger_file(engine.path, (await engine.open_ledger("t")).first_position.ledger_id).name,
            "entries 1 to 1 are lost",
        ),
    ]
    assert await salvaged(engine, "t") == [b"0", b"2"]
    await engine.close()


async def test_data_after_the_synced_end_of_a_journal_is_ignored(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await append(ledger, run_of(b"0"))
    await engine.journal.rotate()
    await append(ledger, run_of(b"1"))
    copy = crash(tmp_path / "d")
    await engine.close()
    data = journal_of(copy, 1).read_bytes()
    end = groups_in(data)[-1][1]
    journal_of(copy, 1).write_bytes(data[:end] + b"a group whose sync failed" * 10)
    assert await all_of(copy, "t") == ([b"0", b"1"], [])


async def test_a_torn_group_is_not_completed_by_old_data_of_its_blocks(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    first = await append(ledger, run_of(b"a"))
    cursor.acknowledge(first.ledger_id, [0])
    await cursor.flush()
    await cursor.reset(EARLIEST)
    copy = crash(tmp_path / "d")
    await engine.close()
    data = bytearray(journal_of(copy).read_bytes())
    groups = groups_in(data)
    ack = next(data[a:b] for a, b in groups if data[a + journal_group.GROUP_HEADER.size + 8] == ACKS)
    end = groups[-1][1]
    header = journal_group.group_header(1, end, journal_group.GROUP_HEADER.unpack_from(ack)[4], 1)
    data[end : end + len(ack)] = header + ack[len(header) : -4] + bytes(4)
    journal_of(copy).write_bytes(data)
    engine = await opened(copy)
    assert engine.damage.reports == []
    assert (await engine.open_ledger("t")).cursors["s"].backlog_entries == 1
    await engine.close()


LEDGER_REGIONS = {
    "record crc": ledger_file.DATA_START,
    "record length": ledger_file.DATA_START + 5,
    "record header": ledger_file.DATA_START + 20,
    "record table": ledger_file.DATA_START + HEADER_SIZE + 4,
    "record blob": ledger_file.DATA_START + HEADER_SIZE + 3 * ROW_SIZE + 10,
}


@pytest.mark.parametrize("region", LEDGER_REGIONS)
async def test_a_flipped_bit_in_a_ledger_is_reported_with_file_and_offset(tmp_path: Path, region: str) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    path = filenames.ledger_file(engine.path, ledger.first_position.ledger_id)
    flip(path, LEDGER_REGIONS[region])
    with pytest.raises(Damaged) as caught:
        await read_all(ledger)
    assert (caught.value.path, caught.value.offset) == (path, ledger_file.DATA_START)
    assert caught.value.lost == (ledger.first_position.ledger_id, 0, 2)
    assert await salvaged(engine, "t") == ENTRIES[3:]
    assert await contents(await engine.open_ledger("other")) == ENTRIES
    await engine.close()


async def test_a_flipped_bit_in_the_header_of_a_ledger_is_recorded_and_its_entries_are_served(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    flip(filenames.ledger_file(engine.path, ledger.first_position.ledger_id), 3)
    assert await contents(ledger) == ENTRIES
    assert [(report.offset, report.lost) for report in engine.damage.open] == [(0, None)]
    await engine.close()


async def test_an_entry_that_looks_like_records_is_not_parsed_as_records(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    ledger_id = (await append(ledger, run_of(b"first"))).ledger_id
    forged, _, _ = encode_run(run_of(b"for", b"ged"), ledger_id, 2)
    forged += run_of(b"for", b"ged").data
    await append(ledger, run_of(b"." * 300 + forged + b"." * 300))
    await append(ledger, run_of(b"last"))
    await ledger.close()
    path = filenames.ledger_file(engine.path, ledger_id)
    ledger = await engine.open_ledger("t")
    flip(path, path.read_bytes().index(b"." * 300) - ROW_SIZE - HEADER_SIZE + 5)  # the record's length
    assert await salvaged(engine, "t") == [b"first", b"last"]
    await engine.close()


async def test_a_missing_ledger_file_is_reported_and_the_rest_served(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    path = filenames.ledger_file(engine.path, ledger.first_position.ledger_id)
    await ledger.close()
    path.unlink()
    ledger = await engine.open_ledger("t")
    assert [(report.path, report.reason) for report in engine.damage.reports] == [(path, "ledger file is missing")]
    with pytest.raises(Damaged, match="missing"):
        await read_all(ledger)
    new = await append(ledger, run_of(b"new"))
    assert [entry for _, entry in await read_all(ledger, new)] == [b"new"]
    assert await contents(await engine.open_ledger("other")) == ENTRIES
    await engine.close()


async def test_a_truncated_ledger_file_is_reported(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    path = filenames.ledger_file(engine.path, ledger.first_position.ledger_id)
    await ledger.close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    ledger = await engine.open_ledger("t")
    assert "file ends before" in engine.damage.reports[0].reason
    with pytest.raises(Damaged):
        await read_all(ledger)
    await engine.close()


async def test_a_damaged_index_is_rebuilt(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    for i in range(0, len(ENTRIES), 3):
        await append(ledger, run_of(*ENTRIES[i : i + 3]))
    await ledger.close()
    path = filenames.ledger_file(engine.path, ledger.first_position.ledger_id)
    flip(path, path.stat().st_size - 60)
    assert await contents(await engine.open_ledger("t")) == ENTRIES
    await engine.close()


async def test_a_damaged_metadata_file_is_refused_by_name(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.close()
    filenames.metadata_file(tmp_path).write_bytes(b"not a database" * 1000)
    with pytest.raises(CatalogUnusable, match=r"metadata\.sqlite: file is not a database; run"):
        await opened(tmp_path)


async def test_a_newer_directory_is_refused_with_both_format_numbers(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.close()
    filenames.format_file(tmp_path).write_text(filenames.FORMAT_TEXT.format(7))
    with pytest.raises(FormatTooNew, match=f"format 7; this release reads formats up to {filenames.FORMAT_VERSION}"):
        await opened(tmp_path)
    filenames.format_file(tmp_path).write_text(filenames.FORMAT_TEXT.format(1))
    await (await opened(tmp_path)).close()


async def test_a_newer_journal_is_refused_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = await written(tmp_path / "d")
    header = bytearray(journal_of(copy).read_bytes())
    with monkeypatch.context() as newer:
        newer.setattr(filenames, "FORMAT_VERSION", 9)
        header[: journal_group.FILE_HEADER.size] = journal_group.file_header(1, 0)
    journal_of(copy).write_bytes(header)
    with pytest.raises(FormatTooNew, match="format 9"):
        await opened(copy)
    assert journal_of(copy).read_bytes() == header


async def test_a_second_process_is_refused_with_the_name_of_the_owner(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    with pytest.raises(DirectoryLocked, match=r"in use by process \d+") as caught:
        await opened(tmp_path)
    assert caught.value.directory == tmp_path
    await engine.close()
    await (await opened(tmp_path)).close()


async def test_a_leftover_lock_file_does_not_block(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.close()
    filenames.lock_file(tmp_path).write_text("process 1")
    await (await opened(tmp_path)).close()


async def test_a_directory_with_unknown_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"x")
    with pytest.raises(NotOurDirectory, match="no FORMAT file"):
        await opened(tmp_path)
    assert RealDisk().list_directory(tmp_path) == ["photo.jpg"]


async def test_a_failed_write_leaves_the_metadata_file_consistent(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.metadata.put("tenant", "a", {"x": 1})
    with pytest.raises(StorageError):
        engine.metadata.commit([tables.delete("document", "tenant"), tables.put("ledger", 1)])
    await engine.close()
    engine = await opened(tmp_path)
    assert engine.metadata.list("tenant") == {"a": {"x": 1}}
    await engine.close()


async def a_flipped_group(tmp_path: Path) -> Path:
    """A crashed directory whose journal lost a run of topic `t`."""
    copy = await written(tmp_path / "d")
    groups = groups_in(journal_of(copy).read_bytes())
    flip(journal_of(copy), groups[1][0] + JOURNAL_REGIONS["record blob"])
    return copy


async def test_damage_is_logged_once_with_file_offset_topic_and_what_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = await a_flipped_group(tmp_path)
    await (await opened(copy)).close()
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert any("0000000001.journal at offset" in error for error in errors)
    assert any("lost: entries" in error and error.endswith(" of t") for error in errors)
    assert len(errors) == len(set(errors))


async def test_damage_is_remembered_over_restarts_until_it_is_accepted(tmp_path: Path) -> None:
    copy = await a_flipped_group(tmp_path)
    engine = await opened(copy)
    found = engine.damage.reports
    await engine.close()
    engine = await opened(copy)
    assert found == engine.damage.reports == engine.damage.open
    assert await engine.accept_loss() == found
    await engine.close()
    engine = await opened(copy)
    assert (engine.damage.reports, engine.damage.open) == (found, [])
    await engine.close()


async def test_a_loss_is_not_accepted_where_that_cannot_be_recorded(tmp_path: Path) -> None:
    disk = FaultyDisk()
    engine = await opened(await a_flipped_group(tmp_path), disk=disk)
    disk.failures["open", "DAMAGE.new"] = errno.EROFS
    with pytest.raises(StorageError, match="cannot record that the loss is accepted"):
        await engine.accept_loss()
    assert engine.damage.open == engine.damage.reports
    disk.failures.clear()
    await engine.close()


async def test_the_damage_record_survives_the_loss_of_the_catalog(tmp_path: Path) -> None:
    copy = await a_flipped_group(tmp_path)
    await (await opened(copy)).close()
    for path in copy.glob("metadata.sqlite*"):
        path.unlink()
    assert find_damage(copy)


async def test_a_damaged_damage_record_is_reported_as_damage(tmp_path: Path) -> None:
    copy = await a_flipped_group(tmp_path)
    engine = await opened(copy)
    known = len(engine.damage.reports)
    await engine.accept_loss()
    await engine.close()
    flip(filenames.damage_file(copy), 30)
    engine = await opened(copy)
    assert len(engine.damage.reports) == known
    assert [report.path for report in engine.damage.open] == [filenames.damage_file(copy)]
    await engine.close()


async def test_damage_beyond_the_size_of_the_record_is_reported_once(tmp_path: Path) -> None:
    record = DamageRecord(RealDisk(), tmp_path, lambda: 1)
    for offset in range(MOST_PLACES + 100):
        record.report(DamageReport(tmp_path / "x", offset, "bad"))
    assert len(record.reports) == MOST_PLACES + 1
    assert "more damage" in record.reports[-1].reason


async def test_damage_found_by_a_read_is_recorded(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    path = filenames.ledger_file(engine.path, ledger.first_position.ledger_id)
    flip(path, LEDGER_REGIONS["record blob"])
    with pytest.raises(Damaged):
        await read_all(ledger)
    [report] = engine.damage.open
    assert (report.path, report.offset, report.topic) == (path, ledger_file.DATA_START, "t")
    await engine.close()
    assert (await reopened_damage(copy)) == [report]


async def reopened_damage(directory: Path) -> list[DamageReport]:
    engine = await opened(directory)
    await engine.close()
    return engine.damage.open


async def test_lost_entries_are_skipped_by_configuration_and_count_as_acknowledged(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy, StorageConfig(reserve_mb=0, auto_skip_lost=True))
    ledger = await engine.open_ledger("t")
    ledger_id = ledger.first_position.ledger_id
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    flip(filenames.ledger_file(engine.path, ledger_id), LEDGER_REGIONS["record blob"])
    assert await contents(ledger) == ENTRIES[3:]
    assert (cursor.mark_delete, cursor.backlog_entries) == (Position(ledger_id, 2), len(ENTRIES) - 3)
    assert ledger.lost == [Lost(ledger_id, 0, 2)]
    assert engine.damage.open
    await engine.close()


async def test_the_backlog_is_measured_despite_lost_entries(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    path = filenames.ledger_file(engine.path, ledger.first_position.ledger_id)
    flip(path, LEDGER_REGIONS["record blob"])
    cursor.acknowledge(ledger.first_position.ledger_id, [5])
    await cursor.measure()
    assert cursor.backlog_entries == len(ENTRIES) - 1
    await engine.close()


async def test_a_search_by_time_skips_lost_entries(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", checkpoint=True)
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    ledger_id = ledger.first_position.ledger_id
    flip(filenames.ledger_file(engine.path, ledger_id), LEDGER_REGIONS["record blob"])
    assert await ledger.find_by_time(1000) == Position(ledger_id, 3)
    await engine.close()
