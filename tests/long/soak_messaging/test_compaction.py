"""A few rounds of the long run with compaction."""

from pathlib import Path

import pytest

from tests.long.soak_messaging.compaction import run


@pytest.mark.slow
def test_the_last_value_of_each_key_is_read_through_kill_9(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=3, seed=7)
    assert tally.ok, tally
    assert tally.compactions > 0
