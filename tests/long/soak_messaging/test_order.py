"""A short run of the order checker, and tests that it detects errors."""

from pathlib import Path

import pytest

from tests.long.soak_messaging.key_events import (
    ACKNOWLEDGED,
    GIVEN_BACK,
    LEFT,
    MOVED,
    RECEIVED,
    RECEIVER_QUEUE,
    Event,
    Load,
    OrderCheck,
    Verdict,
)
from tests.long.soak_messaging.order import Plan, run


def brief(mode: str, *, batching: bool = False, mutant: bool = False) -> Plan:
    return Plan(
        mode,
        batching,
        messages=6000,
        keys=300,
        consumers=4,
        delay_ms=200,
        move_seconds=(0.05, 0.15),
        mutant=mutant,
        window=1000,
        stall_seconds=20.0,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "batching"), [("ring", False), ("split", True), ("sticky", False)])
def test_keys_stay_in_order_while_consumers_join_and_leave(tmp_path: Path, mode: str, batching: bool) -> None:
    verdict = run(brief(mode, batching=batching), tmp_path)
    assert verdict.is_clean, verdict


@pytest.mark.slow
def test_a_broker_that_does_not_drain_is_detected(tmp_path: Path) -> None:
    assert run(brief("ring", mutant=True), tmp_path).two_owners


LOAD = Load(keys=[7, 7, 7], sequence=[0, 1, 2], published=[0.0, 0.0, 0.0])
A, B = 1, 2


def verdict(*events: tuple[float, int, int, int], stall_seconds: float = 2.0) -> Verdict:
    return OrderCheck(LOAD, reach=0, stall_seconds=stall_seconds).run(Event(*one) for one in events)


def all_of(consumer: int, kind: int, time: float) -> list[tuple[float, int, int, int]]:
    return [(time + message / 100, consumer, kind, message) for message in range(3)]


def test_delivery_in_order_to_one_consumer_is_clean() -> None:
    assert verdict(*all_of(A, RECEIVED, 1), *all_of(A, ACKNOWLEDGED, 2)).is_clean


def test_messages_of_a_lost_consumer_may_be_redelivered_to_another() -> None:
    assert verdict(
        *all_of(A, RECEIVED, 1), (2, A, LEFT, 0), *all_of(B, RECEIVED, 3), *all_of(B, ACKNOWLEDGED, 4)
    ).is_clean


def test_a_message_before_its_predecessor_is_out_of_order() -> None:
    assert verdict((1, A, RECEIVED, 1), (1.1, A, RECEIVED, 0)).out_of_order == 2


def test_a_nacked_message_may_arrive_late() -> None:
    events = [*all_of(A, RECEIVED, 1), (1.5, A, GIVEN_BACK, 0), (1.6, A, RECEIVED, 0), *all_of(A, ACKNOWLEDGED, 2)]
    assert verdict(*events).is_clean
    assert verdict(*[event for event in events if event[2] != GIVEN_BACK]).out_of_order == 1


def test_a_key_with_two_consumers_is_reported() -> None:
    assert verdict((1, A, RECEIVED, 0), (2, B, RECEIVED, 1)).two_owners == 1
    assert verdict((1, A, RECEIVED, 0), (1.5, A, ACKNOWLEDGED, 0), (2, B, RECEIVED, 1)).two_owners == 0


def test_a_message_that_was_never_acknowledged_is_lost() -> None:
    assert verdict(*all_of(A, RECEIVED, 1), (2, A, ACKNOWLEDGED, 0)).lost == 2


LATER = RECEIVER_QUEUE + 1


def stalled(*events: tuple[float, int, int, int], first: float = 9.0) -> int:
    """Events beside one message of key 0, which comes first at `first`, after more than a queue of other keys."""
    load = Load(keys=[*range(LATER + 1)], sequence=[0] * (LATER + 1), published=[0.0] * (LATER + 1))
    others = [Event(5 + number / 1000, A, RECEIVED, number) for number in range(1, LATER + 1)]
    check = OrderCheck(load, reach=0, stall_seconds=2.0)
    return check.run([*others, *(Event(*one) for one in events), Event(first, A, RECEIVED, 0)]).stalled


def test_a_key_that_more_than_a_queue_of_later_messages_pass_is_stalled() -> None:
    assert stalled() == 1


def test_keys_that_wait_in_order_on_a_slow_machine_are_not_stalled() -> None:
    assert stalled(first=5.0) == 0


def test_a_key_that_just_moved_is_not_stalled() -> None:
    assert stalled((8, B, MOVED, 0)) == 0
    assert stalled((8, B, LEFT, 0)) == 0
    assert stalled((1, B, MOVED, 0)) == 1


def test_a_key_that_its_old_consumer_still_holds_is_not_stalled() -> None:
    load = Load(keys=[0, 0, *range(1, LATER + 1)], sequence=[0, 1] + [0] * LATER, published=[0.0] * (LATER + 2))
    held = [Event(0.1, B, RECEIVED, 0), *(Event(0.2 + n / 1000, A, RECEIVED, 2 + n) for n in range(LATER))]

    def stalls(acknowledged: float) -> int:
        events = [*held, Event(acknowledged, B, ACKNOWLEDGED, 0), Event(3, A, RECEIVED, 1)]
        return OrderCheck(load, reach=0, stall_seconds=2.0).run(events).stalled

    assert stalls(2.8) == 0
    assert stalls(0.15) == 1
