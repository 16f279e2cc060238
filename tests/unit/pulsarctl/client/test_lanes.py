"""How far a run over several partitions has come."""

from dataclasses import dataclass

import pytest

from pulsarctl.client.lanes import Lanes
from pulsarctl.client.publish_window import Refusal


@dataclass
class CountingProducer:
    """Replaces the official producer of one partition; `last` is its last acknowledged sequence ID."""

    partition: int
    last: int = -1

    def last_sequence_id(self) -> int:
        return self.last


def lanes(partitions: int) -> Lanes:
    return Lanes(partitions, CountingProducer, size_is_final=True)


def send(run: Lanes, *partitions: int) -> None:
    for partition in partitions:
        run.lane(partition).window.hand_in(1)


def settle(run: Lanes, partition: int, position: int, result: str | None = None) -> None:
    lane = next(lane for lane in run.open if lane.producer.partition == partition)
    lane.window.settle(position, 1, position, result)


def test_only_partitions_that_get_a_message_are_opened() -> None:
    run = lanes(100)
    send(run, 7, 7, 9)
    assert [lane.producer.partition for lane in run.open] == [7, 9]


def test_resuming_starts_before_the_first_gap() -> None:
    run = lanes(2)
    send(run, 0, 1, 0, 1, 0)
    settle(run, 0, 3)
    assert (run.sent, run.acknowledged, run.acknowledged_in_order) == (5, 3, 1)
    settle(run, 1, 1)
    assert (run.acknowledged, run.acknowledged_in_order) == (4, 3)
    settle(run, 1, 2)
    assert (run.acknowledged, run.acknowledged_in_order) == (5, 5)


def test_a_refusal_is_located_in_the_run() -> None:
    run = lanes(2)
    send(run, 0, 1, 1, 0)
    settle(run, 0, 2, "Timeout")
    settle(run, 1, 2, "MessageTooBig")
    assert run.refusal == Refusal(3, 1, "MessageTooBig")


def test_positions_stay_correct_while_others_are_confirmed() -> None:
    run = lanes(2)
    for number in range(100):
        send(run, number % 2)
        settle(run, number % 2, number // 2 + 1)
    send(run, 1, 1)
    settle(run, 1, 52, "Timeout")
    assert run.refusal == Refusal(102, 1, "Timeout")
    assert run.acknowledged_in_order == 100


def test_a_topic_without_partitions_has_one_lane() -> None:
    run = lanes(1)
    send(run, 0, 0, 0)
    settle(run, 0, 2)
    settle(run, 0, 3, "Timeout")
    assert (run.acknowledged_in_order, run.refusal) == (2, Refusal(3, 1, "Timeout"))


def test_the_clients_count_settles_unconfirmed_messages() -> None:
    run = lanes(1)
    send(run, 0, 0, 0)
    run.open[0].producer.last = 1
    run.open[0].settle_exactly()
    assert run.acknowledged == 2


def test_a_producer_that_cannot_be_opened_sends_nothing() -> None:
    def refuse(_partition: int) -> CountingProducer:
        raise ConnectionError

    run = Lanes(1, refuse, size_is_final=True)
    with pytest.raises(ConnectionError):
        run.lane(0)
    assert run.sent == 0
