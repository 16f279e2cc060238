"""The directory of a Spark command: gone with it, or with the next one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import DirectoryLocked
from pulsarctl.spark.scratch import scratch_directory

HOLD = """
from pulsarctl.spark.scratch import scratch_directory
with scratch_directory() as scratch:
    (scratch / "blockmgr-1").mkdir()
    print(scratch, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def held(temporary: Path) -> tuple["subprocess.Popen[str]", Path]:
    """Another command, and its directory."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env=os.environ | {"TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_the_directory_ends_with_its_command_even_after_a_failure(temporary: Path) -> None:
    with pytest.raises(RuntimeError), scratch_directory() as scratch:
        (scratch / "spark-1").mkdir()
        raise RuntimeError
    assert list(temporary.iterdir()) == []


def test_a_command_removes_the_directory_of_one_that_was_killed_and_leaves_that_of_one_that_runs(
    temporary: Path,
) -> None:
    process, other = held(temporary)
    with scratch_directory() as scratch:
        assert set(temporary.iterdir()) == {scratch, other}
    process.kill()
    process.communicate()
    assert (other / "blockmgr-1").is_dir()
    with scratch_directory() as scratch:
        assert list(temporary.iterdir()) == [scratch]


class WithoutLocks(RealDisk):
    def lock(self, path: Path, owner: str) -> int:
        path.touch()
        raise DirectoryLocked(path.parent, owner)


def test_a_directory_that_cannot_be_locked_is_used_and_left_alone_by_others(temporary: Path) -> None:
    with scratch_directory(WithoutLocks()) as one:
        with scratch_directory() as other:
            assert set(temporary.iterdir()) == {one, other}
        assert list(temporary.iterdir()) == [one]
    assert list(temporary.iterdir()) == []


def test_what_has_no_lock_file_is_not_ours_to_remove(temporary: Path) -> None:
    strange = temporary / "pulsarctl-spark-data"
    strange.mkdir()
    (temporary / "pulsarctl-spark-link").symlink_to(strange)
    with scratch_directory():
        pass
    assert {path.name for path in temporary.iterdir()} == {"pulsarctl-spark-data", "pulsarctl-spark-link"}
