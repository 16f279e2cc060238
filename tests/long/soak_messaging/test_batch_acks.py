"""A few rounds of the long run with acknowledgments inside batches."""

from pathlib import Path

import pytest

from tests.long.soak_messaging.batch_acks import run


@pytest.mark.slow
def test_no_acknowledged_message_of_a_batch_is_redelivered_after_kill_9(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=3, seed=7)
    assert (tally.came_back, tally.lost) == (0, 0)
    assert tally.receipts > 100
