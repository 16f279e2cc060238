"""The mark of the journal's synced end distinguishes a loss at the end from a torn tail."""

from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import DamageReport
from broker_core.storage.filenames import ledger_file
from broker_core.storage.log.synced_mark import Mark, read_mark, write_mark
from broker_core.storage.repair.inspection.check import find_damage
from tests.support.condition import until
from tests.support.storage import append, crash, opened, run_of
from tests.unit.broker_core.storage.damaged_files import flip, groups_in, journal_of, salvaged

ENTRIES = [b"%d" % number for number in range(4)]


async def crashed(path: Path) -> Path:
    """A directory whose journal is synced and marked up to its end."""
    engine = await opened(path)
    ledger = await engine.open_ledger("t")
    for entry in ENTRIES:
        await append(ledger, run_of(entry))
    mark = filenames.synced_file(path)
    await until(lambda: read_mark(RealDisk(), mark) == Mark(*engine.journal.synced_end))
    copy = crash(path)
    await engine.close()
    return copy


async def start(directory: Path) -> tuple[list[bytes], list[DamageReport]]:
    """The remaining entries of the topic, and the damage that a start reports."""
    engine = await opened(directory)
    found = engine.damage.open
    left = await salvaged(engine, "t") if engine.exists("t") else []
    await engine.close()
    return left, found


async def test_a_journal_that_ends_at_its_synced_end_is_undamaged(tmp_path: Path) -> None:
    assert await start(await crashed(tmp_path / "d")) == (ENTRIES, [])


async def test_damage_to_the_last_group_is_not_mistaken_for_a_torn_tail(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    _, end = groups_in(journal_of(copy).read_bytes())[-1]
    flip(journal_of(copy), end - 5)
    assert [report.path for report in find_damage(copy)] == [journal_of(copy)]
    left, found = await start(copy)
    assert left == ENTRIES[:-1]
    assert any(report.topic == "t" and report.lost is not None and report.lost.first == 3 for report in found)


@pytest.mark.parametrize("keep", [0, 10, 200])
async def test_a_truncated_journal_is_reported(tmp_path: Path, keep: int) -> None:
    copy = await crashed(tmp_path / "d")
    with journal_of(copy).open("r+b") as file:
        file.truncate(keep)
    assert {report.path for report in find_damage(copy)} == {journal_of(copy)}
    left, found = await start(copy)
    assert left == ENTRIES[: len(left)]
    assert (found[0].path, found[-1].path) == (journal_of(copy), journal_of(copy))


async def test_a_deleted_last_journal_is_reported(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    journal_of(copy).unlink()
    assert find_damage(copy) == [DamageReport(journal_of(copy), 0, "journal file is missing")]
    assert await start(copy) == ([], [DamageReport(journal_of(copy), 0, "journal file is missing")])


async def test_data_after_the_mark_may_be_torn(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    start_of_last, _ = groups_in(journal_of(copy).read_bytes())[-1]
    write_mark(RealDisk(), filenames.synced_file(copy), Mark(1, start_of_last))
    with journal_of(copy).open("r+b") as file:
        file.truncate(start_of_last + 20)
    assert find_damage(copy) == []
    assert await start(copy) == (ENTRIES[:-1], [])


async def test_a_damaged_mark_is_ignored(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    flip(filenames.synced_file(copy), 12)
    assert find_damage(copy) == []
    assert await start(copy) == (ENTRIES, [])


async def test_a_start_looks_for_every_ledger_file(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    path = ledger_file(engine.path, (await append(await engine.open_ledger("t"), run_of(b"x"))).ledger_id)
    await engine.close()
    path.unlink()
    engine = await opened(tmp_path)
    assert [(report.path, report.topic, report.reason) for report in engine.damage.open] == [
        (path, "t", "ledger file is missing")
    ]
    await engine.close()


async def test_entries_of_a_ledger_whose_record_is_lost_are_named(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    [(first, _), *_] = groups_in(journal_of(copy).read_bytes())
    data = bytearray(journal_of(copy).read_bytes())
    data[data.index(b'"ledger"')] ^= 1
    journal_of(copy).write_bytes(data)
    _, found = await start(copy)
    assert found[0].offset == first
    assert any(report.lost is not None and report.topic == "" for report in found)
