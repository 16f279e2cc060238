from pathlib import Path

import pytest

from pulsarctl.output.one_writer import locked, one_writer


def test_a_writer_that_never_ends_is_waited_for_until_the_deadline(tmp_path: Path) -> None:
    with locked(tmp_path) as is_ours, pytest.raises(TimeoutError, match="another process is changing it"):
        assert is_ours
        with one_writer(tmp_path / "config", 0.05):
            pytest.fail("both write")


def test_the_next_writer_gets_the_lock_of_one_that_has_ended(tmp_path: Path) -> None:
    with one_writer(tmp_path / "config"):
        pass
    with one_writer(tmp_path / "config", 0):
        pass
