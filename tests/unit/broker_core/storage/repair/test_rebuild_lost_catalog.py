"""A start refuses a lost or damaged catalog, and a rebuild restores everything that was in it."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.catalog.catalog_log import DATA_START, CatalogLog
from broker_core.storage.catalog.database import translated
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import CatalogUnusable, Damaged, StorageError
from broker_core.storage.records.position import EARLIEST
from broker_core.storage.repair.inspection.check import find_damage
from broker_core.storage.repair.rebuild import rebuild
from tests.support.storage import append, contents, crash, opened, run_of

DOCUMENT = {"publishRate": 7}
TOPICS = 40
SUBSCRIPTION = "s"


async def written(path: Path, *, stopped: bool) -> Path:
    """A crashed or stopped directory with acknowledged and open entries in a checkpoint and in the journal."""
    engine = await opened(path)
    for number in range(TOPICS):
        ledger = await engine.open_ledger(f"t{number}")
        cursor = await ledger.open_cursor(SUBSCRIPTION, initial=EARLIEST, properties={"a": "b"})
        first = await append(ledger, run_of(b"0", b"1", b"2"))
        cursor.acknowledge(first.ledger_id, [1])
    await engine.metadata.put("namespace", "a/b", DOCUMENT)
    await engine.checkpoint()
    await append(await engine.open_ledger("t0"), run_of(b"3"))
    await engine.metadata.put("tenant", "later", {})
    if stopped:
        await engine.close()
        return path
    copy = crash(path)
    await engine.close()
    return copy


async def holds_everything(path: Path) -> bool:
    engine = await opened(path)
    try:
        for number in range(TOPICS):
            ledger = await engine.open_ledger(f"t{number}")
            last = [b"3"] if number == 0 else []
            assert await contents(ledger) == [b"0", b"1", b"2", *last]
            cursor = ledger.cursors[SUBSCRIPTION]
            assert cursor.properties == {"a": "b"}
            assert [entry for _, entry, _ in cursor.ack_ranges()] == [1]
        assert engine.metadata.get("namespace", "a/b") == DOCUMENT
        assert engine.metadata.get("tenant", "later") == {}
        assert engine.damage.reports == []
        return True
    finally:
        await engine.close()


def database(path: Path) -> Path:
    return filenames.metadata_file(path)


def delete(path: Path) -> None:
    for file in path.glob("metadata.sqlite*"):
        file.unlink()


def delete_the_main_file(path: Path) -> None:
    database(path).unlink()


def empty(path: Path) -> None:
    database(path).write_bytes(b"")


def cut(path: Path) -> None:
    data = database(path).read_bytes()
    database(path).write_bytes(data[: len(data) // 2])


def zero_a_page(path: Path) -> None:
    data = bytearray(database(path).read_bytes())
    data[8192:12288] = bytes(4096)
    database(path).write_bytes(data)


def fill_with_text(path: Path) -> None:
    database(path).write_bytes(b"not a database" * 1000)


LOSSES = [delete, delete_the_main_file, empty, cut, zero_a_page, fill_with_text]


def ledgers_in(path: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in path.rglob("*.ledger")}


async def refused(path: Path) -> str:
    """The error of a start, which must not change the directory."""
    before = ledgers_in(path)
    with pytest.raises(CatalogUnusable) as caught:
        await opened(path)
    assert ledgers_in(path) == before
    return str(caught.value)


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
async def test_a_directory_that_lost_its_catalog_is_refused_and_rebuilt(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    path = await written(tmp_path / "d", stopped=True)
    lose(path)
    assert f"run `pulsarctl storage rebuild {path}`" in await refused(path)
    rebuilt = rebuild(path)
    assert rebuilt is not None
    assert (rebuilt.sources, rebuilt.unknown) == (["catalog.log"], [])
    assert rebuild(path) is None
    assert await holds_everything(path)


async def test_a_lost_write_ahead_log_is_refused_and_rebuilt(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", stopped=False)
    database(copy).with_name("metadata.sqlite-wal").unlink()
    assert "catalog.log has" in await refused(copy)
    assert rebuild(copy) is not None
    assert await holds_everything(copy)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["metadata.sqlite", "metadata.sqlite-wal", "catalog.log"])
async def test_a_flipped_bit_of_the_catalog_is_never_served(tmp_path: Path, name: str) -> None:
    sound = await written(tmp_path / "d", stopped=name == "metadata.sqlite")
    size = (sound / name).stat().st_size
    chance = random.Random(name)
    for _ in range(12):
        copy = tmp_path / "copy"
        shutil.copytree(sound, copy)
        data = bytearray((copy / name).read_bytes())
        data[chance.randrange(size)] ^= 1 << chance.randrange(8)
        (copy / name).write_bytes(data)
        try:
            await (await opened(copy)).close()
        except StorageError:
            assert rebuild(copy) is not None
        assert await holds_everything(copy)
        shutil.rmtree(copy)


async def test_a_missing_second_copy_is_started_again(tmp_path: Path) -> None:
    path = await written(tmp_path / "d", stopped=True)
    filenames.catalog_log(path).unlink()
    assert await holds_everything(path)
    delete(path)
    assert rebuild(path) is not None
    assert await holds_everything(path)


async def test_an_sqlite_tool_that_moves_pages_does_no_harm(tmp_path: Path) -> None:
    copy = await written(tmp_path / "d", stopped=False)
    sqlite3.connect(database(copy)).execute("VACUUM")
    assert await holds_everything(copy)


async def test_every_entry_survives_the_loss_of_catalog_and_log(tmp_path: Path) -> None:
    path = await written(tmp_path / "d", stopped=True)
    delete(path)
    filenames.catalog_log(path).unlink()
    assert "it is missing" in await refused(path)
    rebuilt = rebuild(path)
    assert rebuilt is not None
    engine = await opened(path)
    found = [entry for name in sorted(engine.catalog.names) for entry in await contents(await engine.open_ledger(name))]
    assert sorted(found) == sorted([b"0", b"1", b"2"] * TOPICS + [b"3"])
    assert len(rebuilt.unknown) == 2 + len(sorted(engine.catalog.names))
    await engine.close()


async def test_the_journal_names_the_owners_of_ledgers_when_catalog_and_log_are_lost(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    await ledger.open_cursor(SUBSCRIPTION, initial=EARLIEST)
    await append(ledger, run_of(b"a"))
    copy = crash(tmp_path / "d")
    await engine.close()
    delete(copy)
    filenames.catalog_log(copy).unlink()
    assert rebuild(copy) is not None
    engine = await opened(copy)
    ledger = await engine.open_ledger("t")
    assert await contents(ledger) == [b"a"]
    assert list(ledger.cursors) == [SUBSCRIPTION]
    await engine.close()


async def test_ids_on_disk_are_never_assigned_again(tmp_path: Path) -> None:
    path = await written(tmp_path / "d", stopped=True)
    stray = filenames.ledger_file(path, 5678)
    stray.parent.mkdir()
    stray.write_bytes(b"of a catalog that is gone")
    engine = await opened(path)
    position = await append(await engine.open_ledger("new"), run_of(b"x"))
    assert position.ledger_id > 5678
    await engine.close()
    assert stray.read_bytes() == b"of a catalog that is gone"


async def test_an_undamaged_directory_and_a_new_one_are_not_changed(tmp_path: Path) -> None:
    path = await written(tmp_path / "d", stopped=True)
    assert rebuild(path) is None
    new = tmp_path / "new"
    await (await opened(new)).close()
    assert rebuild(new) is None


async def test_a_damaged_catalog_of_an_older_format_restores_what_sqlite_can_read(tmp_path: Path) -> None:
    path = tmp_path / "d"
    shutil.copytree(Path(__file__).parents[1] / "formats" / "2", path)
    await (await opened(path)).close()
    filenames.catalog_log(path).unlink()
    data = bytearray(database(path).read_bytes())
    data[-100:] = bytes(100)  # of the last table, that of batches
    data[24:40] = b"\xff" * 16
    database(path).write_bytes(data)
    await refused(path)
    rebuilt = rebuild(path)
    assert rebuilt is not None
    assert "what can be read of metadata.sqlite" in rebuilt.sources
    engine = await opened(path)
    assert await contents(await engine.open_ledger("checkpointed")) == [b"a", b"bb", b"", b"d", b"e"]
    assert engine.metadata.get("tenant", "public") == {"adminRoles": []}
    await engine.close()


def test_an_sqlite_error_becomes_a_storage_error_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    path.write_bytes(b"not a database" * 1000)
    with pytest.raises(Damaged, match=r"metadata\.sqlite is damaged") as damage, translated(path):
        sqlite3.connect(path).execute("SELECT 1 FROM sqlite_master")
    assert damage.value.path == path


def test_a_database_that_cannot_be_opened_is_not_reported_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "metadata.sqlite"
    with pytest.raises(StorageError, match="cannot use") as error, translated(path):
        sqlite3.connect(path)
    assert not isinstance(error.value, Damaged)


def record_ends(path: Path) -> list[int]:
    """Where the records of a catalog log end."""
    ends, log = [DATA_START], CatalogLog(RealDisk(), path)
    for record in log.records():
        ends.append(ends[-1] + len(record))
    return ends


@pytest.mark.parametrize("stopped", [True, False])
async def test_a_catalog_log_cut_between_two_records_never_outvotes_the_database(
    tmp_path: Path, *, stopped: bool
) -> None:
    sound = await written(tmp_path / "d", stopped=stopped)
    for end in record_ends(filenames.catalog_log(sound))[:-1]:
        copy = tmp_path / "copy"
        shutil.copytree(sound, copy)
        os.truncate(filenames.catalog_log(copy), end)
        try:
            await (await opened(copy)).close()
        except StorageError:
            assert rebuild(copy) is not None
        assert await holds_everything(copy)
        shutil.rmtree(copy)


async def test_a_rebuild_from_a_cut_catalog_log_keeps_every_entry_and_says_what_is_not_known(tmp_path: Path) -> None:
    path = await written(tmp_path / "d", stopped=True)
    delete(path)
    log = filenames.catalog_log(path)
    os.truncate(log, record_ends(log)[2])
    rebuilt = rebuild(path)
    assert rebuilt is not None
    assert rebuilt.unknown
    engine = await opened(path)
    found = [entry for name in sorted(engine.catalog.names) for entry in await contents(await engine.open_ledger(name))]
    assert sorted(found) == sorted([b"0", b"1", b"2"] * TOPICS + [b"3"])
    await engine.close()


async def test_a_check_finds_a_catalog_log_that_lost_its_end(tmp_path: Path) -> None:
    path = await written(tmp_path / "d", stopped=True)
    log = filenames.catalog_log(path)
    os.truncate(log, record_ends(log)[1])
    assert [place.path for place in find_damage(path)] == [log]
