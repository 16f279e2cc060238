"""Each kind of damage to a ledger file. It is reported; reads, counts, and searches go on without what is lost."""

from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.storage import filenames
from broker_core.storage.errors import Damaged, Lost
from broker_core.storage.records import ledger_file
from broker_core.storage.records.block import HEADER_SIZE, ROW_SIZE, encode_run
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.storage import append, contents, opened, read_all, run_of
from tests.unit.broker_core.storage.damaged_files import ENTRIES, LEDGER_REGIONS, flip, salvaged, written


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
