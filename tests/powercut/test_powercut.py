"""A short recording, cut at some of its calls; `make powercut` takes a long one and cuts at all of them."""

from pathlib import Path

import pytest

from tests.powercut.calls import Receipt
from tests.powercut.recorded_load import record
from tests.powercut.recording_disk import RecordingDisk
from tests.powercut.verify import verify

MESSAGES = 2000
IMAGES = 60

pytestmark = pytest.mark.slow


class ForgetfulDisk(RecordingDisk):
    """A mutant: its sync returns at once and does nothing."""

    def sync(self, fd: int) -> None:
        pass


def some(calls: int) -> range:
    return range(0, calls + 1, max(1, calls // IMAGES))


def test_every_receipted_message_is_there_after_a_power_cut(tmp_path: Path) -> None:
    recording = record(tmp_path / "data", MESSAGES)
    assert any(isinstance(call, Receipt) for call in recording.calls)
    opened, failures = verify(recording, some(len(recording.calls)), torn=1)
    assert opened > IMAGES
    assert [str(failure) for failure in failures] == []


def test_a_disk_that_skips_its_sync_is_found_out(tmp_path: Path) -> None:
    recording = record(tmp_path / "data", MESSAGES // 4, disk_type=ForgetfulDisk)
    _, failures = verify(recording, some(len(recording.calls)), torn=0)
    assert any("lost" in failure.reason for failure in failures)
