"""A few rounds of `make soak`; the long run is for releases."""

from pathlib import Path

import pytest

from tests.long.soak.__main__ import run
from tests.long.soak.sequence import Sequence


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_by_kill_9(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=5, seed=7)
    assert tally.failures == []
    assert tally.ok
    assert tally.rolls > 0
    assert tally.checkpoints > 0
    assert tally.recovery_kills > 0
    assert tally.policy_changes > 0


def test_a_duplicate_is_not_a_gap_and_a_missing_number_is() -> None:
    sequence = Sequence()
    assert [sequence.see(number) for number in (0, 1, 2, 1, 2, 3)] == [True, True, True, False, False, True]
    assert (sequence.gaps, sequence.repeated) == (0, 2)
    sequence.see(5)
    assert sequence.gaps == 1
