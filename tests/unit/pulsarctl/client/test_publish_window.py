"""Which messages request a callback, and what the answers prove."""

from pulsarctl.client.publish_window import CALLBACK_EVERY_MESSAGES, PENDING_MESSAGES_MAX, PublishWindow, Refusal


def settle(window: PublishWindow, position: int, result: str | None = None) -> None:
    window.settle(position, 1, position, result)


def test_one_receipt_confirms_all_earlier_messages() -> None:
    window = PublishWindow()
    asked = [window.hand_in(1) for _ in range(2 * CALLBACK_EVERY_MESSAGES)]
    settle(window, 1)
    assert asked[0] and window.acknowledged == 1
    settle(window, CALLBACK_EVERY_MESSAGES)
    assert window.acknowledged == CALLBACK_EVERY_MESSAGES


def test_a_size_that_was_accepted_needs_no_second_callback() -> None:
    window = PublishWindow()
    assert window.hand_in(10)
    assert window.hand_in(10), "no receipt yet says whether the broker accepts that size"
    window.settle(1, 10, 10, None)
    assert not window.hand_in(10)
    assert window.hand_in(11)


def test_with_compression_an_accepted_size_proves_nothing() -> None:
    window = PublishWindow(size_is_final=False)
    window.hand_in(5000)
    window.settle(1, 5000, 5000, None)
    assert window.hand_in(4999)


def test_the_first_refusal_is_reported() -> None:
    window = PublishWindow()
    for _ in range(3):
        window.hand_in(1)
    settle(window, 3, "Timeout")
    settle(window, 2, "MessageTooBig")
    assert window.refusal == Refusal(2, 1, "MessageTooBig")


def test_the_window_is_full_at_its_maximum_of_messages() -> None:
    window = PublishWindow()
    for _ in range(PENDING_MESSAGES_MAX):
        assert not window.is_full
        window.hand_in(0)
    assert window.is_full
    settle(window, 1)
    assert not window.is_full


def test_the_window_is_full_at_its_maximum_of_bytes() -> None:
    window = PublishWindow()
    window.hand_in(17 << 20)
    assert window.is_full
    window.settle(1, 17 << 20, 17 << 20, None)
    assert not window.is_full


def test_a_refusal_ends_the_wait_for_space() -> None:
    window = PublishWindow()
    window.hand_in(17 << 20)
    settle(window, 1, "Timeout")
    window.wait_for_room(lambda: False)


def test_the_count_of_the_client_is_exact() -> None:
    window = PublishWindow()
    for _ in range(10):
        window.hand_in(1)
    settle(window, 1)
    window.settle_exactly(7)
    assert window.acknowledged == 7


def test_an_overdue_acknowledgment_ends_the_wait_for_space() -> None:
    window = PublishWindow()
    window.hand_in(17 << 20)
    window.wait_for_room(lambda: True)
    assert window.is_full
