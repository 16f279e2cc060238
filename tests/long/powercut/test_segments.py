"""The judgment of a scalable topic after a power cut."""

from dataclasses import replace

from broker_core.scalable.layout import Layout
from broker_core.scalable.records import ScalableTopic
from tests.long.powercut.segments import NAME, SUBSCRIPTION, Kept, ledger_of, problem_of_segments

BEFORE = Layout.initial(1, 1000)
AFTER = BEFORE.split(0, 2000)
LAYOUTS = {layout.epoch: layout for layout in (BEFORE, AFTER)}
WHOLE = Kept(
    ScalableTopic(AFTER),
    [segment.topic_of(NAME) for segment in AFTER.segments.values()],
    {ledger_of(segment): frozenset({SUBSCRIPTION}) for segment in AFTER.segments.values()},
    frozenset({ledger_of(AFTER.segments[0])}),
)


def problem(kept: Kept, promised: int = AFTER.epoch) -> str:
    return problem_of_segments(LAYOUTS, promised, kept)


def test_a_whole_layout_is_no_problem() -> None:
    assert problem(WHOLE) == ""
    assert problem(replace(WHOLE, record=None), promised=-1) == "", "the power cut came before the topic"


def test_a_change_on_its_way_may_have_sealed_its_parent() -> None:
    assert problem(replace(WHOLE, record=ScalableTopic(BEFORE, changing_to=AFTER)), promised=BEFORE.epoch) == ""
    assert "no change seals it" in problem(replace(WHOLE, record=ScalableTopic(BEFORE)), promised=BEFORE.epoch)


def test_a_layout_that_clients_knew_must_be_there() -> None:
    assert "clients know 1" in problem(replace(WHOLE, record=ScalableTopic(BEFORE)))
    assert "is lost" in problem(replace(WHOLE, record=None))


def test_a_layout_needs_its_segments_and_their_subscriptions() -> None:
    assert problem(replace(WHOLE, segments=WHOLE.segments[:2])) == "segment 2 is lost"
    assert "subscription of its parents" in problem(replace(WHOLE, subscriptions={}))
    assert problem(replace(WHOLE, terminated=frozenset())) == "segment 0 is sealed, and takes messages"
    assert "none that the topic had" in problem(replace(WHOLE, record=ScalableTopic(replace(AFTER, next_id=9))))
