"""Directories that an engine does not open: damaged, newer, in use, or not its own. It says why and changes nothing."""

from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import CatalogUnusable, DirectoryLocked, FormatTooNew, NotOurDirectory
from broker_core.storage.records import journal_group
from tests.support.storage import opened
from tests.unit.broker_core.storage.damaged_files import journal_of, written


async def test_a_damaged_metadata_file_is_refused_by_name(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.close()
    filenames.metadata_file(tmp_path).write_bytes(b"not a database" * 1000)
    with pytest.raises(CatalogUnusable, match=r"metadata\.sqlite: file is not a database; run"):
        await opened(tmp_path)


async def test_a_newer_directory_is_refused_with_both_format_numbers(tmp_path: Path) -> None:
    engine = await opened(tmp_path)
    await engine.close()
    newer = filenames.FORMAT_VERSION + 1
    filenames.format_file(tmp_path).write_text(filenames.FORMAT_TEXT.format(newer))
    expected = f"format {newer}; this release reads formats up to {filenames.FORMAT_VERSION}"
    with pytest.raises(FormatTooNew, match=expected):
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
