"""A few rounds of the long run with transactions, and brokers whose bugs it must detect."""

import sys
from pathlib import Path

import pytest

from broker_core.wire import pulsar_api_pb2 as pb
from tests.long.soak_messaging.transactions import STANDALONE, may_be_refused, run

pytestmark = pytest.mark.slow


def careless(bug: str) -> tuple[str, ...]:
    return sys.executable, "-m", "tests.long.soak_messaging.careless_broker", bug


def test_each_message_is_transformed_exactly_once_through_kill_9(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=3, seed=7)
    assert tally.ok, str(tally)
    assert tally.aborted > 20


def test_a_drain_that_outlasts_the_interval_of_pings_completes(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=2, seed=7, program=(*STANDALONE, "-X", "keepAliveIntervalSeconds=0.5"))
    assert tally.ok, str(tally)


def test_only_a_transaction_whose_time_is_over_may_be_aborted_by_the_broker() -> None:
    answer = pb.CommandEndTxnResponse(error=pb.InvalidTxnStatus)
    assert may_be_refused(answer, is_over=True)
    assert not may_be_refused(answer, is_over=False)


def test_a_broker_that_loses_held_acknowledgments_is_detected(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=4, seed=7, program=careless("loses-acks"))
    assert tally.repeated, str(tally)


def test_a_broker_that_shows_open_entries_is_detected(tmp_path: Path) -> None:
    tally = run(tmp_path, rounds=1, seed=7, program=careless("shows-open"))
    assert tally.aborted_seen, str(tally)
