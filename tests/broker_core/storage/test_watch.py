"""Files that disappear under a running broker."""

from pathlib import Path

import pytest

from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import DirectoryGone
from broker_core.storage.watch import LOOK_SECONDS, DirectoryWatch


def test_other_looks_do_not_put_off_the_look_at_the_journal_file(tmp_path: Path) -> None:
    now = 100.0
    disk = RealDisk()
    fd = disk.open(tmp_path / "journal", create=True)
    directory = DirectoryWatch(disk, tmp_path, lambda: now)
    directory.begin([tmp_path])
    directory.check_written(fd)
    (tmp_path / "journal").unlink()
    now += 2 * LOOK_SECONDS
    directory.check()  # of a commit of the catalog
    with pytest.raises(DirectoryGone, match="a file that is in use was deleted"):
        directory.check_written(fd)
    disk.close(fd)
