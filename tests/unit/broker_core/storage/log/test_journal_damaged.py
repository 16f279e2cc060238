"""Each kind of damage to a journal. A torn tail is dropped silently, other damage is reported, the rest is served."""

import shutil
from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.records import journal_group
from broker_core.storage.records.block import ACKS
from broker_core.storage.records.position import EARLIEST
from tests.support.storage import append, contents, crash, opened, run_of
from tests.unit.broker_core.storage.damaged_files import (
    ENTRIES,
    JOURNAL_REGIONS,
    flip,
    groups_in,
    journal_of,
    salvaged,
    written,
)


async def all_of(path: Path, name: str) -> tuple[list[bytes], list[str]]:
    """The readable entries of a topic, and the reported damage."""
    engine = await opened(path)
    try:
        found = await contents(await engine.open_ledger(name))
        return found, [report.reason for report in engine.damage.reports]
    finally:
        await engine.close()


@pytest.mark.slow
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
