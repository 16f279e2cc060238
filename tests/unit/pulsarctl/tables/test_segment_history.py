"""Which segments that are gone may have had messages that no run has read."""

from pulsarctl.tables.segment_history import gone_segments, still_there

TOPIC = "topic://public/default/orders"
WHOLE, LOWER, UPPER, LAST = (
    f"segment://public/default/orders/{name}" for name in ("0000-ffff-0", "0000-7fff-1", "8000-ffff-2", "0000-ffff-5")
)


def test_a_segment_that_had_ended_may_go() -> None:
    assert gone_segments([WHOLE], [WHOLE], [LOWER, UPPER]) == []


def test_a_segment_that_goes_before_its_end_is_a_loss() -> None:
    assert gone_segments([WHOLE, LOWER], [WHOLE], [UPPER]) == [
        f"{LOWER} is gone, and it may have had entries that were not read"
    ]


def test_segments_that_came_and_went_between_two_runs_are_a_loss() -> None:
    assert gone_segments([LOWER, UPPER], [LOWER, UPPER], [LAST]) == [
        f"segments of {TOPIC} are gone, and may have had entries that were not read: 3, 4"
    ]


def test_segments_that_were_gone_before_the_first_run_are_no_loss() -> None:
    assert gone_segments([UPPER], [], [UPPER]) == []


def test_partitions_and_topics_without_segments_are_no_loss() -> None:
    assert gone_segments(["persistent://public/default/orders", WHOLE], [], ["persistent://public/default/x"]) == []


def test_a_regular_topic_that_became_scalable_is_a_segment_of_it() -> None:
    regular = "persistent://public/default/orders-partition-0"
    assert gone_segments([regular], [regular], [LOWER]) == []
    assert gone_segments([regular], [], [LOWER]) == [
        f"{regular} is gone, and it may have had entries that were not read"
    ]
    assert gone_segments(["persistent://public/default/orders"], ["persistent://public/default/orders"], [LOWER]) == []
    assert still_there({regular: "1:2"}, [LOWER]) == {}


def test_a_state_keeps_partitions_and_the_segments_that_exist() -> None:
    state = {"persistent://public/default/x-partition-0": "1:2", WHOLE: "3:4", LOWER: "5:6"}
    assert still_there(state, [LOWER]) == {"persistent://public/default/x-partition-0": "1:2", LOWER: "5:6"}
