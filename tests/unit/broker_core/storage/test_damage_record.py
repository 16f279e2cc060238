"""Damage is logged and recorded once, is remembered over restarts, and stays open until its loss is accepted."""

import errno
from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.damage import MOST_PLACES, DamageRecord
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import Damaged, DamageReport, StorageError
from broker_core.storage.records import ledger_file
from broker_core.storage.repair.inspection.check import find_damage
from tests.support.faulty_disk import FaultyDisk
from tests.support.storage import opened, read_all
from tests.unit.broker_core.storage.damaged_files import (
    JOURNAL_REGIONS,
    LEDGER_REGIONS,
    flip,
    groups_in,
    journal_of,
    written,
)


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
