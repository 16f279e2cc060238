"""The soak passes with the broker, and fails with one that hands out children before their parents are drained."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.long.soak_scalable.__main__ import STANDALONE, Soak
from tests.long.soak_scalable.order import Verdict

CARELESS = (sys.executable, "-m", "tests.long.soak_scalable.careless_broker")


def run(folder: Path, program: Sequence[str], messages: int) -> Verdict:
    folder.mkdir(exist_ok=True)
    soak = Soak(folder, program, seed=1)
    try:
        return soak.run(messages, keys=200)[0]
    finally:
        soak.close()


def test_the_broker_keeps_the_order_of_keys(tmp_path: Path) -> None:
    verdict = run(tmp_path, STANDALONE, 10_000)
    assert verdict.ok, verdict


def test_children_that_are_read_too_early_are_detected(tmp_path: Path) -> None:
    """A run shows it only if two consumers are at work at the same moment, which a busy machine may prevent."""
    verdicts = (run(tmp_path / str(attempt), CARELESS, 40_000) for attempt in range(3))
    assert any("after" in fault for verdict in verdicts for fault in verdict.faults)
