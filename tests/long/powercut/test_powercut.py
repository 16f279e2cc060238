"""A short recording, cut at some of its calls; `make powercut` cuts a long one at all of them."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.long.powercut.calls import Changed, Ended, Receipt, Subscribed
from tests.long.powercut.recorded_load import Recording, record
from tests.long.powercut.recording_disk import RecordingDisk
from tests.long.powercut.verify import cuts, verify

MESSAGES = 2000
IMAGES = 60

pytestmark = pytest.mark.slow


class ForgetfulDisk(RecordingDisk):
    """A mutant whose sync of a journal does nothing."""

    def sync(self, fd: int) -> None:
        if not self.name_of(fd).endswith(".journal"):
            super().sync(fd)

    def write_synced(self, fd: int, buffers: Sequence[bytes | memoryview], offset: int) -> None:
        self.pwrite(fd, b"".join(buffers), offset)
        self.sync(fd)


def some_cuts(recording: Recording) -> list[int]:
    every = cuts(recording)
    return every[:: max(1, len(every) // IMAGES)]


def test_every_acknowledged_message_survives_a_power_cut(tmp_path: Path) -> None:
    recording = record(tmp_path / "data", MESSAGES)
    assert any(isinstance(call, Receipt) for call in recording.calls)
    assert any(isinstance(call, Subscribed) for call in recording.calls)
    assert max(call.epoch for call in recording.calls if isinstance(call, Changed)) == len(recording.layouts) - 1 >= 8
    assert sum(isinstance(call, Ended) for call in recording.calls) == len(recording.transactions) > 20
    opened, failures = verify(recording, some_cuts(recording), torn=1)
    assert opened > IMAGES
    assert [str(failure) for failure in failures] == []


def test_a_disk_that_skips_its_sync_is_detected(tmp_path: Path) -> None:
    recording = record(tmp_path / "data", MESSAGES // 4, disk_type=ForgetfulDisk)
    _, failures = verify(recording, some_cuts(recording), torn=0)
    assert any("lost" in failure.reason for failure in failures)
