"""A change of the segments that stops after any of its steps: the next start finishes it, and no message is lost."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from broker_core.names import TopicName, parse_topic
from broker_core.scalable.changes import LayoutChanges
from broker_core.scalable.layout import Layout
from broker_core.scalable.records import ScalableRecords
from broker_core.scalable.segments import SegmentTopics
from broker_core.storage.errors import StorageError
from broker_core.testing import EmbeddedBroker
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, send

X = parse_topic("topic://public/default/x")
NEW = parse_topic("topic://public/default/new")
KEEPS = ("create", "delete")  # the layout of the topic X, as long as it exists
STEPS = {"split": 9, "merge": 8, "rebucket": 8, "remove": 6, "create": 5, "delete": 8}
"""More than each change takes."""


class Stopped(StorageError):
    """The change goes no further."""


STOPPED = Stopped("stopped")


class Counted:
    """Passes calls on until the last one that is allowed; the next one, and all later ones, fail."""

    def __init__(self, target: Any, allowed: list[int], failure: Exception) -> None:
        self._target = target
        self._allowed = allowed
        self._failure = failure

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        if not asyncio.iscoroutinefunction(member):
            return member

        async def counted(*args: Any, **named: Any) -> Any:
            if self._allowed[0] <= 0:
                raise self._failure
            self._allowed[0] -= 1
            return await member(*args, **named)

        return counted


def stopping(broker: EmbeddedBroker, steps: int, failure: Exception = STOPPED) -> LayoutChanges:
    """Changes of this broker that stop after that many steps."""
    scalable, topics, allowed = broker.broker.scalable, broker.broker.topics, [steps]
    records: ScalableRecords = Counted(scalable.records, allowed, failure)  # type: ignore[assignment]  # passes on
    segments: SegmentTopics = Counted(scalable.segments, allowed, failure)  # type: ignore[assignment]  # passes on
    inner = broker.broker
    return LayoutChanges(
        records,
        segments,
        inner.tenancy,
        topics.being_deleted,
        inner.config.scalable,
        inner.clock,
        inner.spawn,
        lambda _name: None,
    )


async def _always() -> bool:
    return True


async def _never() -> bool:
    return False


async def changed(changes: LayoutChanges, kind: str) -> bool:
    """Whether the change went to its end."""
    try:
        if kind == "create":
            await changes.create(NEW, 2, {})
        elif kind == "delete":
            await changes.delete(X, force=True)
        elif kind == "remove":
            await changes.remove(X, [0], _always)
        elif kind == "merge":
            await changes.merge(X, 1, 2)
        elif kind == "rebucket":
            await changes.rebucket(X, 1, 8)
        else:
            await changes.split(X, 1)
    except Stopped:
        return False
    return True


def layout(broker: EmbeddedBroker, name: TopicName = X) -> Layout | None:
    record = broker.broker.scalable.records.get(name)
    return None if record is None else record.layout


def messages(broker: EmbeddedBroker) -> int:
    """The messages that a subscription gets from all segments."""
    count, after = 0, layout(broker)
    assert after is not None
    with RawClient(broker.service_url) as client:
        for segment in after.segments.values():
            topic = broker.call(broker.broker.scalable.segments.topic(X, segment))
            count += topic.subscriptions["s"].cursor.backlog_entries
            if topic.subscriptions["s"].cursor.backlog_entries:
                subscribe(client, segment.topic_of(X), segment.id + 1)
                receive(client, topic.subscriptions["s"].cursor.backlog_entries)
    return count


def prepare(broker: EmbeddedBroker) -> None:
    """A topic that was split, with one message in each segment and a subscription."""
    scalable = broker.broker.scalable
    broker.call(scalable.changes.create(X, 1, {}))
    broker.call(scalable.subscriptions.create(X, "s", "QUEUE"))
    with RawClient(broker.service_url) as client:
        for step in range(2):
            current = layout(broker)
            assert current is not None
            for segment in current.active:
                client.ask(producer(segment.topic_of(X), segment.id + 1), 17)
                client.send(send(0, producer_id=segment.id + 1))
                client.expect(7)
            if step == 0:
                broker.call(scalable.changes.split(X, 0))
                client.expect(15)


@pytest.mark.parametrize("kind", STEPS)
def test_a_change_that_is_cut_off_is_finished_or_undone(tmp_path: Path, kind: str) -> None:
    ended = False
    for steps in range(STEPS[kind] + 1):
        directory = tmp_path / str(steps)
        with EmbeddedBroker(directory) as broker:
            prepare(broker)
            ended = broker.call(changed(stopping(broker, steps), kind))
        with EmbeddedBroker(directory) as broker:
            broker.call(broker.broker.scalable.start())
            check(broker, kind, ended=ended)
    assert ended, "the last attempt has enough steps"


def check(broker: EmbeddedBroker, kind: str, *, ended: bool) -> None:
    """The layout is the one before or the one after the change, and the segments are those of the layouts."""
    after = layout(broker)
    known = set(broker.broker.topics.segments())
    expected: set[str] = set()
    for name in broker.broker.scalable.records.all():
        found = layout(broker, name)
        assert found is not None
        assert broker.broker.scalable.records.find(name).changing_to is None
        expected |= {segment.topic_of(name) for segment in found.segments.values()}
    assert known == expected
    if kind == "create":
        assert not ended or layout(broker, NEW) is not None
    if kind == "delete" and after is None:
        return
    assert after is not None
    assert kind != "delete" or not ended
    assert after.epoch == 1 if kind in KEEPS else after.epoch in ((2,) if ended else (1, 2))
    assert messages(broker) == (3 if 0 in after.segments else 2)


def test_a_split_that_fails_before_a_segment_is_sealed_leaves_the_topic_as_it_was(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        prepare(broker)
        scalable = broker.broker.scalable
        assert not broker.call(changed(stopping(broker, 2), "split"))
        broker.call(scalable.changes.undo(X))
        assert scalable.records.find(X).changing_to is None
        broker.call(scalable.changes.split(X, 2))
        assert messages(broker) == 3


def test_a_split_that_fails_later_is_finished_without_a_restart(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        prepare(broker)
        scalable = broker.broker.scalable
        assert not broker.call(changed(stopping(broker, 4), "split"))
        broker.call(scalable.changes.finish_all())
        found = layout(broker)
        assert found is not None
        assert (found.epoch, scalable.records.find(X).changing_to) == (2, None)


def test_a_change_that_the_operating_system_refuses_is_tried_again(tmp_path: Path) -> None:
    refused = OSError("too many open files")
    with EmbeddedBroker(tmp_path) as broker:
        prepare(broker)
        scalable = broker.broker.scalable
        with pytest.raises(OSError, match="too many open files"):
            broker.call(stopping(broker, 4, refused).split(X, 1))
        broker.call(stopping(broker, 0, refused).finish_all())
        assert scalable.records.find(X).changing_to is not None
        broker.call(scalable.changes.finish_all())
        assert scalable.records.find(X).changing_to is None


def test_a_removal_that_is_no_longer_allowed_removes_nothing(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        prepare(broker)
        changes, before = broker.broker.scalable.changes, layout(broker)
        assert not broker.call(changes.remove(X, [0], _never))
        assert layout(broker) == before
        assert broker.call(changes.remove(X, [0], _always))
