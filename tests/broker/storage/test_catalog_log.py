"""The second copy of the catalog when the disk fails in the middle of it."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.storage.catalog.catalog_log import CatalogLog
from broker_core.storage.catalog.tables import put
from broker_core.storage.disk import RealDisk
from broker_core.testing import EmbeddedBroker


class DirectoryDisk(RealDisk):
    """Syncs of directories fail when told to."""

    fails = False

    def sync_directory(self, path: Path) -> None:
        if self.fails:
            raise OSError(errno.EIO, "Input/output error", str(path))
        super().sync_directory(path)


def test_nothing_is_appended_to_a_log_that_was_replaced(tmp_path: Path) -> None:
    disk = DirectoryDisk()
    catalog_log = CatalogLog(disk, tmp_path / "catalog.log")
    catalog_log.begin(1, [put("instance", "commit", 1)])
    disk.fails = True
    with pytest.raises(OSError, match="Input/output"):
        catalog_log.begin(2, [put("instance", "commit", 2)])
    assert not catalog_log.is_open
    disk.fails = False
    catalog_log.begin(3, [put("instance", "commit", 3)])
    catalog_log.append_commit(4, [put("instance", "commit", 4)])
    assert catalog_log.read().commit == 4
    catalog_log.close()


def test_another_process_that_opens_the_database_leaves_its_wal_alone(tmp_path: Path) -> None:
    read = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM ledger').fetchall()"
    with EmbeddedBroker(tmp_path / "data"):
        database = tmp_path / "data" / "metadata.sqlite"
        subprocess.run([sys.executable, "-c", read, str(database)], check=True, timeout=60)
        assert database.with_name("metadata.sqlite-wal").exists()
