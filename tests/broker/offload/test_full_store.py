"""A disk that is full, at the other end of an offload, an export, and a table: after there is room, all is there."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker_process import PULSARCTL
from tests.support.offloaded_topic import OffloadedTopic, in_directory, offloaded_topic

VALUES = [random.Random(number).randbytes(400_000) for number in range(10)]
FULL, ROOM = "2m", "60m"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FULL}", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root can mount a file system")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def make_room(disk: Path) -> None:
    subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(disk)], check=True)


def files(disk: Path, ending: str) -> list[Path]:
    return list(disk.rglob(f"*{ending}"))


def test_an_offload_to_a_full_disk_leaves_nothing_there_and_succeeds_later(disk: Path, tmp_path: Path) -> None:
    with offloaded_topic(in_directory(disk / "store"), tmp_path / "d") as one:
        one.publish(VALUES)
        one.start()
        one.wait()
        assert one.topic.offloading.last_error.endswith(": No space left on device")
        assert not files(disk, ".parquet")
        assert one.read(len(VALUES)) == VALUES
        make_room(disk)
        one.offload()
        one.drop_files()
        assert one.read(len(VALUES)) == VALUES


def run(one: OffloadedTopic, *arguments: str) -> subprocess.CompletedProcess[str]:
    urls = ("--service-url", one.broker.service_url, "--admin-url", one.broker.http_url)
    return subprocess.run([str(PULSARCTL), *urls, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize("command", [("export",), ("lake", "--to")])
def test_files_for_a_full_disk_are_removed_and_written_later(
    disk: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    verb, *option = command
    arguments = ("ops", verb, f"persistent://public/default/{verb}", *option, str(disk / "out"))
    with offloaded_topic(in_directory(tmp_path / "store"), tmp_path / "d", arguments[2]) as one:
        one.publish(VALUES)
        full = run(one, *arguments)
        assert full.returncode == 1
        assert "No space left on device" in full.stderr
        assert "Traceback" not in full.stderr
        assert not files(disk, ".parquet")
        make_room(disk)
        assert run(one, *arguments).returncode == 0
        assert len(files(disk, ".parquet")) == 1
