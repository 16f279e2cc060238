"""The pause between two groups: none for single messages, a short one for many, a long one for a stream."""

import pytest

from broker_core.storage.pace import FULL_BYTES, FULL_ENTRIES, GROWN, STREAM_BYTES_PER_SECOND, Pace

LONGEST = 0.005
USUAL = LONGEST / GROWN
CYCLE = 0.001  # seconds between two groups
STREAMED = 2 * int(STREAM_BYTES_PER_SECOND * CYCLE) + FULL_BYTES  # bytes of a group


def after(pace: Pace, groups: int, entries: int, size: int, *, waiting: bool) -> float:
    """The pause after the last of so many equal groups."""
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
def test_a_group_is_followed_by_its_share_of_the_pause(entries: int, size: int, pause: float) -> None:
    assert Pace(LONGEST).pause(entries, size, 1.0, waiting=True) == pytest.approx(pause)


def test_a_stream_makes_the_pause_grow_up_to_the_longest() -> None:
    assert after(Pace(LONGEST), 10, 1, STREAMED, waiting=True) == pytest.approx(LONGEST)


def test_large_messages_of_which_each_waits_for_its_receipt_are_no_stream() -> None:
    assert after(Pace(LONGEST), 10, 1, STREAMED, waiting=False) == pytest.approx(USUAL)


@pytest.mark.parametrize("size", [100 * FULL_ENTRIES, STREAMED])
def test_many_small_messages_are_no_stream_however_fast_they_come(size: int) -> None:
    assert after(Pace(LONGEST), 10, max(FULL_ENTRIES, size // 1000), size, waiting=True) == pytest.approx(USUAL)


def test_the_pause_is_the_usual_one_as_soon_as_the_stream_is_over() -> None:
    pace = Pace(LONGEST)
    after(pace, 10, 1, STREAMED, waiting=True)
    assert pace.pause(FULL_ENTRIES, 1000, 2.0, waiting=True) == pytest.approx(USUAL)


def test_the_pause_shrinks_where_nothing_arrives_during_the_syncs_any_more() -> None:
    pace = Pace(LONGEST)
    after(pace, 10, 1, STREAMED, waiting=True)
    assert after(pace, 40, 1, STREAMED, waiting=False) == pytest.approx(USUAL)


def test_without_a_longest_pause_there_is_none() -> None:
    assert after(Pace(0.0), 10, 1000, STREAMED, waiting=True) == 0.0
