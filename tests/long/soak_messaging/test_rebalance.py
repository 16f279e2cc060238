"""A few rounds of Key_Shared through kill -9 of the broker."""

from pathlib import Path

import pytest

from tests.long.soak_messaging.rebalance import run


@pytest.mark.slow
def test_keys_stay_in_order_through_kill_9_of_the_broker(tmp_path: Path) -> None:
    verdict = run(tmp_path, rounds=2, seed=3)
    assert verdict.is_clean, verdict
    assert verdict.messages > 1000
