"""The page sums of metadata.sqlite: taken in blocks, and compared page by page."""

from pathlib import Path

import pytest

from broker_core.storage import filenames
from broker_core.storage.catalog.page_sums import PAGE
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import CatalogUnusable
from tests.support.storage import opened

DOCUMENT = {"text": "x" * (1 << 20)}
DOCUMENTS = 8  # of a megabyte: several blocks
MOST = 2 << 20


class ReadingDisk(RealDisk):
    """Remembers the longest read of the database and its write-ahead log."""

    def __init__(self) -> None:
        self.longest = 0
        self._watched: set[int] = set()

    def open(self, path: Path, *, create: bool = False) -> int:
        fd = super().open(path, create=create)
        (self._watched.add if path.name.startswith("metadata.sqlite") else self._watched.discard)(fd)
        return fd

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        if fd in self._watched:
            self.longest = max(self.longest, len(data))
        return data


async def with_a_large_database(path: Path) -> Path:
    engine = await opened(path)
    for number in range(DOCUMENTS):
        await engine.metadata.put("large", str(number), DOCUMENT)
    await engine.close()
    return path


async def test_a_large_database_is_read_in_small_blocks(tmp_path: Path) -> None:
    path = await with_a_large_database(tmp_path / "data")
    disk = ReadingDisk()
    engine = await opened(path, disk=disk)
    await engine.close()
    assert 0 < disk.longest <= MOST < filenames.metadata_file(path).stat().st_size


@pytest.mark.parametrize("page", [300, 1500])
async def test_a_changed_page_of_any_block_is_found(tmp_path: Path, page: int) -> None:
    path = await with_a_large_database(tmp_path / "data")
    database = filenames.metadata_file(path)
    with database.open("r+b") as file:
        file.seek(page * PAGE + 100)
        file.write(b"y")
    with pytest.raises(CatalogUnusable, match=f"the page at offset {page * PAGE} is not what was written"):
        await opened(path)
