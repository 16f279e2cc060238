"""Access modes: which producers join, wait, fence, or are refused, and how the topic epoch changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import ProducerBusy, ProducerFenced
from broker_core.publishing.access import EPOCH_MAX, AccessMode, GrantedAccess, ProducerAccess

SHARED, EXCLUSIVE = AccessMode.SHARED, AccessMode.EXCLUSIVE
WAIT, FENCING = AccessMode.WAIT_FOR_EXCLUSIVE, AccessMode.EXCLUSIVE_WITH_FENCING


def access(epoch: int | None = None) -> ProducerAccess[str]:
    return ProducerAccess(epoch)


def taken() -> ProducerAccess[str]:
    """Producer `a` has exclusive access."""
    topic = access()
    topic.request("a", EXCLUSIVE, None, occupied=False)
    return topic


@pytest.mark.parametrize("mode", [EXCLUSIVE, WAIT, FENCING])
def test_the_first_exclusive_producer_takes_a_free_topic_at_epoch_0(mode: AccessMode) -> None:
    topic = access()
    assert topic.request("a", mode, None, occupied=False).access is GrantedAccess.EXCLUSIVE
    assert topic.owns("a")
    assert topic.epoch == 0


@pytest.mark.parametrize(
    ("mode", "error"), [(SHARED, ProducerBusy), (EXCLUSIVE, ProducerFenced)], ids=["shared", "exclusive"]
)
def test_no_producer_joins_an_exclusive_one(mode: AccessMode, error: type[Exception]) -> None:
    topic = taken()
    with pytest.raises(error):
        topic.request("b", mode, None, occupied=True)
    assert topic.owns("a")


def test_an_exclusive_producer_is_refused_where_shared_ones_are() -> None:
    with pytest.raises(ProducerFenced, match="shared"):
        access().request("b", EXCLUSIVE, None, occupied=True)


def test_no_producer_overtakes_waiting_ones() -> None:
    topic = access()
    topic.request("w", WAIT, None, occupied=True)
    with pytest.raises(ProducerBusy):
        topic.request("s", SHARED, None, occupied=True)
    with pytest.raises(ProducerFenced):
        topic.request("e", EXCLUSIVE, None, occupied=True)


def test_waiting_producers_are_served_in_order_with_increasing_epochs() -> None:
    topic = taken()
    for waiter in ("b", "c"):
        assert topic.request(waiter, WAIT, None, occupied=True).access is GrantedAccess.WAITING
    assert topic.leave("a", occupied=False) == "b"
    assert topic.epoch == 1
    assert topic.leave("b", occupied=False) == "c"
    assert topic.epoch == 2
    assert topic.leave("c", occupied=False) is None


def test_a_waiting_producer_is_served_when_the_last_shared_one_leaves() -> None:
    topic = access()
    topic.request("w", WAIT, None, occupied=True)
    assert topic.leave("s1", occupied=True) is None
    assert topic.leave("s2", occupied=False) == "w"


def test_a_producer_that_stops_waiting_is_skipped() -> None:
    topic = taken()
    topic.request("b", WAIT, None, occupied=True)
    topic.request("c", WAIT, None, occupied=True)
    assert topic.leave("b", occupied=True) is None
    assert topic.leave("a", occupied=False) == "c"


def test_fencing_removes_the_owner_and_waiting_producers() -> None:
    topic = taken()
    topic.request("b", WAIT, None, occupied=True)
    admission = topic.request("f", FENCING, None, occupied=True)
    assert (admission.fenced_waiters, admission.fences_producers) == (("b",), True)
    assert topic.owns("f")
    assert topic.epoch == 1
    assert topic.leave("a", occupied=False) is None
    assert topic.owns("f")


def test_an_owner_that_is_still_storing_its_epoch_is_fenced_too() -> None:
    topic = taken()
    assert topic.request("f", FENCING, None, occupied=False).fences_producers
    assert not topic.owns("a")


def test_an_epoch_without_a_successor_is_refused() -> None:
    with pytest.raises(ProducerFenced, match="No topic has epoch"):
        ProducerAccess[str](None).request("a", EXCLUSIVE, EPOCH_MAX + 1, occupied=False)


@pytest.mark.parametrize("mode", [EXCLUSIVE, WAIT, FENCING])
def test_a_producer_that_returns_with_an_older_epoch_is_fenced(mode: AccessMode) -> None:
    topic = access(5)
    with pytest.raises(ProducerFenced, match="Current epoch: 5, Producer epoch: 4"):
        topic.request("a", mode, 4, occupied=False)
    assert topic.request("b", SHARED, None, occupied=False).access is GrantedAccess.SHARED


def test_a_producer_that_returns_with_the_current_epoch_keeps_it() -> None:
    topic = access(5)
    topic.request("a", EXCLUSIVE, 5, occupied=False)
    assert topic.epoch == 5


def test_a_shared_producer_may_send_any_epoch() -> None:
    assert access(5).request("go", SHARED, 0, occupied=True).access is GrantedAccess.SHARED


@given(st.lists(st.tuples(st.sampled_from(["request", "leave"]), st.integers(0, 4), st.sampled_from(AccessMode))))
def test_an_owner_is_alone_and_epochs_never_decrease(steps: list[tuple[str, int, AccessMode]]) -> None:
    topic: ProducerAccess[int] = ProducerAccess(None)
    there: dict[int, AccessMode] = {}
    waiting: list[int] = []
    epoch = -1
    for step, producer, mode in steps:
        if step == "leave":
            there.pop(producer, None)
            if producer in waiting:
                waiting.remove(producer)
            promoted = topic.leave(producer, occupied=bool(there))
            assert promoted == (waiting[0] if waiting and not there else None)
            if promoted is not None:
                there[waiting.pop(0)] = WAIT
        elif producer not in there and producer not in waiting:
            try:
                admission = topic.request(producer, mode, None, occupied=bool(there))
            except (ProducerBusy, ProducerFenced):
                assert there or waiting
                continue
            if admission.access is GrantedAccess.WAITING:
                waiting.append(producer)
            else:
                assert list(admission.fenced_waiters) == (waiting if mode is FENCING else [])
                waiting = [] if mode is FENCING else waiting
                there = {producer: mode} if admission.fences_producers else {**there, producer: mode}
        owners = [one for one in there if topic.owns(one)]
        assert owners == [one for one, how in there.items() if how is not SHARED]
        assert not owners or len(there) == 1
        assert (topic.epoch if topic.epoch is not None else -1) >= epoch
        epoch = topic.epoch if topic.epoch is not None else -1
