"""A few rounds of the long run with delayed delivery."""

from pathlib import Path

import pytest

from tests.long.soak_messaging.delayed import run


@pytest.mark.slow
def test_no_delayed_message_is_lost_or_early_through_kill_9(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=3, seed=7)
    assert (tally.early, tally.lost, tally.refused) == (0, 0, 0)
    assert tally.far > 0
    assert len(tally.late_ms) > 100
