"""Files that survive a power cut: what is on disk, and when."""

import os
from pathlib import Path

import pytest

from pulsarctl.errors import CliError
from pulsarctl.output import whole_file


def test_the_content_is_on_disk_before_the_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state" / "progress.json"
    whole_file.replace(path, "old", mkdir=True)
    synced: dict[int, str] = {}  # the file at each sync, by what was synced
    monkeypatch.setattr(os, "fsync", lambda fd: synced.update({os.fstat(fd).st_ino: path.read_text()}))
    whole_file.replace(path, "new")
    assert synced == {path.stat().st_ino: "old", path.parent.stat().st_ino: "new"}


def test_the_names_of_new_directories_are_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pulsarctl" / "import" / "progress.json"
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda fd: synced.add(os.fstat(fd).st_ino))
    whole_file.replace(path, "new", mkdir=True)
    assert {place.stat().st_ino for place in (path, *path.parents[:3])} == synced


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "progress.json"
    whole_file.replace(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CliError, match=r"cannot write .*progress\.json: No space left on device"):
        whole_file.replace(path, "new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("progress.json", "old")]


def test_a_link_in_place_of_the_new_file_is_replaced(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "config"
    precious.write_text("keep me")
    path.with_name(f".config.{os.getpid()}").symlink_to(precious)
    whole_file.replace(path, "token", mode=0o600)
    assert (precious.read_text(), path.read_text(), path.stat().st_mode & 0o777) == ("keep me", "token", 0o600)


def test_a_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(CliError, match=r"cannot write .*state/progress\.json: File exists"):
        whole_file.replace(tmp_path / "state" / "progress.json", "new", mkdir=True)
