"""When a topic asks other clusters for a snapshot, and when their answers make one."""

import pytest

from broker_core.replication.snapshot_rounds import SnapshotRounds
from broker_core.wire.markers import SnapshotResponse

TIMEOUT = 30.0


@pytest.fixture
def rounds() -> SnapshotRounds:
    return SnapshotRounds(TIMEOUT, 3)


def answer(rounds: SnapshotRounds, snapshot: str, cluster: str, entry: int) -> bool:
    """Whether the snapshot is complete."""
    found = rounds.answered(SnapshotResponse(snapshot, cluster, (1, entry)))
    return found is not None and not found.rounds_left


def test_an_empty_topic_needs_none(rounds: SnapshotRounds) -> None:
    assert not rounds.is_due(0)
    assert rounds.is_due(1)


def test_after_a_complete_one_only_new_messages_start_another(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east"], 0.0, 5)
    assert rounds.is_due(5)
    assert answer(rounds, "a", "east", 1)
    assert not rounds.is_due(5)
    assert rounds.is_due(6)


def test_messages_that_arrive_while_it_waits_need_another(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east"], 0.0, 5)
    answer(rounds, "a", "east", 1)
    rounds.begin("b", ["east"], 0.0, 6)
    assert not rounds.may_begin(6)
    assert rounds.may_begin(7)


def test_clusters_that_have_never_answered_are_asked_one_snapshot_at_a_time(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east"], 0.0, 5)
    assert not rounds.may_begin(6)
    answer(rounds, "a", "east", 1)
    assert rounds.may_begin(6)


def test_no_more_than_the_limit_wait_at_once(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east"], 0.0, 1)
    answer(rounds, "a", "east", 1)
    for number in (2, 3, 4):
        assert rounds.may_begin(number)
        rounds.begin(str(number), ["east"], 0.0, number)
    assert not rounds.may_begin(5)


def test_one_that_waits_too_long_is_given_up_until_there_are_new_messages(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east"], 0.0, 5)
    assert rounds.expire(TIMEOUT - 1) == 0
    assert rounds.expire(TIMEOUT) == 1
    assert not rounds.is_due(5)
    assert rounds.is_due(6)


def test_an_answer_that_comes_too_late_starts_another(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east"], 0.0, 5)
    rounds.expire(TIMEOUT)
    assert not answer(rounds, "a", "east", 1)
    assert rounds.is_due(5)


def test_several_clusters_are_asked_twice_and_their_first_answers_count(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east", "south"], 0.0, 5)
    assert not answer(rounds, "a", "east", 1)
    assert not answer(rounds, "a", "south", 2)
    assert not answer(rounds, "a", "east", 3)
    found = rounds.answered(SnapshotResponse("a", "south", (1, 4)))
    assert found is not None
    assert (found.rounds_left, found.elsewhere) == (0, {"east": (1, 1), "south": (1, 2)})


def test_a_first_answer_that_arrives_twice_is_no_second_answer(rounds: SnapshotRounds) -> None:
    rounds.begin("a", ["east", "south"], 0.0, 5)
    answer(rounds, "a", "east", 1)
    answer(rounds, "a", "south", 2)
    answer(rounds, "a", "east", 1)
    assert not answer(rounds, "a", "south", 4)
    assert answer(rounds, "a", "east", 3)
