"""A few rounds of the long run with deduplicated publishing."""

from pathlib import Path

import pytest

from tests.long.soak_messaging.dedup import run


@pytest.mark.slow
def test_each_sequence_id_is_stored_once_and_in_order_through_kill_9(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=3, seed=7)
    assert (tally.repeated, tally.missing, tally.out_of_order, tally.refused) == (0, 0, 0, 0)
    assert tally.sent_again > 0
    assert set(tally.read) == {"single", "batched", "chunked", "restarted"}
