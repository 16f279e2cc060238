"""A data directory whose FORMAT or LOCK is not what it was: refused with what to do, and repaired by a rebuild."""

from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.errors import NotOurDirectory
from broker_core.storage.repair.inspection.check import find_damage
from broker_core.storage.repair.rebuild import rebuild
from tests.support.storage import append, contents, opened, run_of


async def written(path: Path) -> Path:
    engine = await opened(path)
    await append(await engine.open_ledger("t"), run_of(b"0", b"1"))
    await engine.close()
    return path


async def lose_format(path: Path, text: bytes | None) -> Path:
    await written(path)
    marker = filenames.format_file(path)
    marker.unlink()
    if text is not None:
        marker.write_bytes(text)
    return path


LOST = pytest.mark.parametrize("text", [None, b"", b"\xff\xfe\x00", b"pulsarctl storage format x"])


@LOST
async def test_a_start_without_a_valid_format_file_names_the_repair(tmp_path: Path, text: bytes | None) -> None:
    path = await lose_format(tmp_path / "data", text)
    with pytest.raises(NotOurDirectory, match=f"run 'pulsarctl storage rebuild {path}'"):
        await opened(path)


@LOST
async def test_a_check_without_a_valid_format_file_names_the_repair(tmp_path: Path, text: bytes | None) -> None:
    path = await lose_format(tmp_path / "data", text)
    assert f"run 'pulsarctl storage rebuild {path}'" in str(find_damage(path)[0])


@LOST
async def test_a_rebuild_restores_the_format_file(tmp_path: Path, text: bytes | None) -> None:
    path = await lose_format(tmp_path / "data", text)
    rebuilt = rebuild(path)
    assert rebuilt is not None
    assert (rebuilt.restored, rebuilt.sources) == ([filenames.format_file(path)], [])
    assert find_damage(path) == []
    engine = await opened(path)
    assert await contents(await engine.open_ledger("t")) == [b"0", b"1"]
    await engine.close()


async def test_a_rebuild_restores_the_format_file_and_the_database(tmp_path: Path) -> None:
    path = await lose_format(tmp_path / "data", None)
    for file in path.glob("metadata.sqlite*"):
        file.unlink()
    rebuilt = rebuild(path)
    assert rebuilt is not None
    assert (rebuilt.restored, rebuilt.sources) == ([filenames.format_file(path)], ["catalog.log"])
    engine = await opened(path)
    assert await contents(await engine.open_ledger("t")) == [b"0", b"1"]
    await engine.close()


def test_a_rebuild_refuses_a_directory_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(NotOurDirectory, match="no files of a broker"):
        rebuild(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


async def test_a_directory_in_place_of_the_lock_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = await written(tmp_path / "data")
    lock = filenames.lock_file(path)
    lock.unlink()
    lock.mkdir()
    advice = "a directory, not the lock of a data directory; remove it"
    with pytest.raises(NotOurDirectory, match=advice):
        await opened(path)
    with pytest.raises(NotOurDirectory, match=advice):
        rebuild(path)
    assert advice in str(find_damage(path)[0])
