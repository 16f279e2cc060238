"""The checker of the order of keys finds what it is there for."""

from tests.long.soak_scalable.order import Delivery, judge


def got(at: int, number: int, *, segment: str = "0", since: int = 0, consumer: str = "a") -> Delivery:
    return Delivery(at, segment, since, "k", number, consumer)


def test_messages_in_order_are_fine_and_repeated_ones_too() -> None:
    verdict = judge(
        [got(1, 0), got(2, 1), got(9, 1, since=8, consumer="b"), got(10, 2, since=8, consumer="b")], {"k": 3}
    )
    assert (verdict.ok, verdict.repeated, verdict.deliveries) == (True, 1, 4)


def test_a_message_that_comes_too_early_is_a_fault() -> None:
    verdict = judge([got(1, 0), got(2, 2, segment="1"), got(3, 1)], {"k": 3})
    assert verdict.faults == ["key k: a got 2 of 1 after 0"]


def test_a_message_that_never_comes_is_lost() -> None:
    assert judge([got(1, 0)], {"k": 3, "other": 1}).lost == 3


def test_two_owners_of_a_segment_at_once_are_a_fault() -> None:
    verdict = judge([got(5, 0), got(6, 0, since=3, consumer="b")], {"k": 1})
    assert verdict.faults == ["segment 0: a was still reading when b began"]


def test_a_line_that_a_kill_cut_off_does_not_count() -> None:
    assert Delivery.parse("1 0-1 2 k", "a") is None
    assert Delivery.parse("1 0-1 2 k 3", "a") is None
    assert Delivery.parse("1 0-1 2 k 3\n", "a") == Delivery(1, "0-1", 2, "k", 3, "a")
