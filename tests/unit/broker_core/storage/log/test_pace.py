"""The pause between two groups: none for single messages, a short one for many, a long one for a stream."""

import pytest

from broker_core.storage.log.pace import FULL_BYTES, FULL_ENTRIES, GROWN, STREAM_BYTES_PER_SECOND, Pace

LONGEST = 0.005
USUAL = LONGEST / GROWN
CYCLE = 0.001  # seconds between two groups
STREAMED = 2 * int(STREAM_BYTES_PER_SECOND * CYCLE) + FULL_BYTES  # bytes of a group


def after(pace: Pace, groups: int, entries: int, size: int, *, waiting: bool) -> float:
    """The pause after the last of `count` equal groups."""
    pause = 0.0
    for number in range(groups):
        pause = pace.pause(entries, size, 1.0 + CYCLE * number, waiting=waiting)
    return pause


@pytest.mark.parametrize(
    ("entries", "size", "pause"),
    [
        (1, 1000, 0.0),
        (FULL_ENTRIES // 4 - 1, 1000, 0.0),
        (FULL_ENTRIES // 2, 1000, USUAL / 2),
        (FULL_ENTRIES, 1000, USUAL),
        (1, FULL_BYTES, USUAL),
        (10 * FULL_ENTRIES, 1000, USUAL),
    ],
)
def test_a_group_pauses_in_proportion_to_its_size(entries: int, size: int, pause: float) -> None:
    assert Pace(LONGEST).pause(entries, size, 1.0, waiting=True) == pytest.approx(pause)


def test_a_stream_increases_the_pause_up_to_the_maximum() -> None:
    assert after(Pace(LONGEST), 10, 1, STREAMED, waiting=True) == pytest.approx(LONGEST)


def test_large_messages_that_each_wait_for_a_receipt_are_not_a_stream() -> None:
    assert after(Pace(LONGEST), 10, 1, STREAMED, waiting=False) == pytest.approx(USUAL)


@pytest.mark.parametrize("size", [100 * FULL_ENTRIES, STREAMED])
def test_small_messages_at_any_rate_are_not_a_stream(size: int) -> None:
    assert after(Pace(LONGEST), 10, max(FULL_ENTRIES, size // 1000), size, waiting=True) == pytest.approx(USUAL)


def test_the_pause_returns_to_normal_when_the_stream_ends() -> None:
    pace = Pace(LONGEST)
    after(pace, 10, 1, STREAMED, waiting=True)
    assert pace.pause(FULL_ENTRIES, 1000, 2.0, waiting=True) == pytest.approx(USUAL)


def test_the_pause_shrinks_when_nothing_arrives_during_syncs() -> None:
    pace = Pace(LONGEST)
    after(pace, 10, 1, STREAMED, waiting=True)
    assert after(pace, 40, 1, STREAMED, waiting=False) == pytest.approx(USUAL)


def test_there_is_no_pause_without_a_maximum() -> None:
    assert after(Pace(0.0), 10, 1000, STREAMED, waiting=True) == 0.0
