"""What other users of the machine can read in a data directory, and what they can make a broker overwrite."""

import os
import stat
from pathlib import Path

import pytest

from broker_core.config.storage import StorageConfig
from broker_core.security.private_files import write_private
from broker_core.storage import directory, filenames
from broker_core.storage.disk import RealDisk
from broker_core.storage.errors import NotOurDirectory
from broker_core.testing import EmbeddedBroker


@pytest.fixture(autouse=True)
def _open_umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*")}


def shared(folder: Path) -> list[str]:
    """The files that other users can access."""
    return [name for name, mode in modes(folder).items() if mode & 0o077]


def take(folder: Path) -> None:
    os.close(directory.take(RealDisk(), folder, StorageConfig()))


def test_every_file_is_private_to_its_owner(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "data") as broker:
        broker.create_partitioned_topic("t", 2)
        assert any(name.endswith("-wal") for name in modes(broker.directory))
        assert shared(broker.directory) == []


def test_a_database_that_others_can_read_is_made_private(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path):
        pass
    filenames.metadata_file(tmp_path).chmod(0o644)
    with EmbeddedBroker(tmp_path) as broker:
        broker.create_partitioned_topic("t", 2)
        assert shared(tmp_path) == []


@pytest.mark.parametrize(("mode", "warned"), [(0o700, False), (0o755, True), (0o710, True)])
def test_a_directory_that_others_can_access_logs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    tmp_path.chmod(mode)
    take(tmp_path)
    assert (f"(mode {mode:o})" in caplog.text) == warned


def test_a_link_in_place_of_the_lock_is_refused_and_its_target_kept(tmp_path: Path) -> None:
    precious, data = tmp_path / "precious", tmp_path / "data"
    precious.write_text("keep me")
    data.mkdir()
    filenames.lock_file(data).symlink_to(precious)
    with pytest.raises(NotOurDirectory, match="is a symbolic link"):
        take(data)
    assert precious.read_text() == "keep me"


def test_a_link_in_place_of_a_new_file_is_replaced(tmp_path: Path) -> None:
    precious, target = tmp_path / "precious", tmp_path / "ready"
    precious.write_text("keep me")
    target.with_name(f"ready.{os.getpid()}").symlink_to(precious)
    write_private(target, b"{}\n")
    assert (precious.read_text(), target.read_text()) == ("keep me", "{}\n")


def test_a_durable_file_and_its_name_are_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    write_private(tmp_path / "key", b"secret", is_durable=True)
    assert synced == [(tmp_path / "key").stat().st_ino, tmp_path.stat().st_ino]
