"""A scalable topic under power cuts: there is always one whole layout, and every segment of it with its subscription.

The topic is split and merged again and again, while a client publishes to its segments and acknowledges some messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from broker_core.broker import Broker
from broker_core.metadata.tenancy.documents import SEGMENT, BadValue
from broker_core.names import ledger_name, parse_topic
from broker_core.scalable.layout import Layout, Segment
from broker_core.scalable.records import QUEUE, ScalableRecords, ScalableTopic
from broker_core.storage.engine import StorageEngine
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.long.powercut.calls import CallLog, Changed, Subscribed
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import receive, subscribe
from tests.support.raw_publishing import producer, send

NAME = parse_topic("topic://public/default/segments")
SUBSCRIPTION = "segments"
CONFIRMED, IN_FLIGHT, ACKNOWLEDGED = 4, 8, 2  # messages of each segment in a round


def run_segments(broker: Broker, run: Callable[[Callable[[], Any]], Any], rounds: int, log: CallLog) -> list[Layout]:
    """Splits and merges in turn; returns all layouts. `run` runs a coroutine function on the loop of the broker."""
    scalable = broker.scalable
    layouts: list[Layout] = []

    def changed(work: Callable[[], Any]) -> None:
        run(work)
        layouts.append(scalable.layout_of(NAME))
        log.add(Changed(layouts[-1].epoch))

    changed(lambda: scalable.changes.create(NAME, 1, {}))
    run(lambda: scalable.subscriptions.create(NAME, SUBSCRIPTION, QUEUE))
    log.add(Subscribed(ledger_of(layouts[0].active[0]), SUBSCRIPTION))
    for number in range(rounds):
        active = [segment.id for segment in layouts[-1].active]
        with RawClient(broker.service_url) as client:
            for segment in layouts[-1].active:
                _use(client, segment)
            client.send(b"".join(_messages(segment, IN_FLIGHT, CONFIRMED) for segment in layouts[-1].active))
            if number % 2:
                changed(partial(scalable.changes.merge, NAME, *active))
            else:
                changed(partial(scalable.changes.split, NAME, *active))
    return layouts


def _use(client: RawClient, segment: Segment) -> None:
    """Publishes to a segment, and acknowledges some of the messages."""
    topic, number = segment.topic_of(NAME), _number(segment)
    client.ask(producer(topic, number), BaseCommand.PRODUCER_SUCCESS)
    client.send(_messages(segment, CONFIRMED))
    for _ in range(CONFIRMED):
        client.expect(BaseCommand.SEND_RECEIPT)
    subscribe(client, topic, number, name=SUBSCRIPTION, permits=ACKNOWLEDGED, sub_type=pb.CommandSubscribe.Shared)
    read = [message.message_id for message in receive(client, ACKNOWLEDGED)]
    client.send(client_commands.acknowledge(number, read, request_id=number))
    client.expect(BaseCommand.ACK_RESPONSE)


def _messages(segment: Segment, number: int, first: int = 0) -> bytes:
    sequence_ids = range(first, first + number)
    return b"".join(send(sequence_id, producer_id=_number(segment)) for sequence_id in sequence_ids)


def _number(segment: Segment) -> int:
    """Of the producer and of the consumer of a segment."""
    return segment.id + 1


def ledger_of(segment: Segment) -> str:
    return ledger_name(parse_topic(segment.topic_of(NAME)))


@dataclass(frozen=True)
class Kept:
    """The record of the topic, its segments by the name of their topic, and the subscriptions of each, and its end."""

    record: ScalableTopic | None
    segments: Sequence[str]
    subscriptions: Mapping[str, frozenset[str]]  # by managed ledger, if there is one
    terminated: frozenset[str]


async def read_segments(storage: StorageEngine) -> Kept:
    names = [name for name in storage.catalog.names if "/segment/" in name]
    ledgers = {name: await storage.open_ledger(name) for name in names}
    return Kept(
        ScalableRecords(storage.metadata, _refuse).get(NAME),
        sorted(storage.metadata.list(SEGMENT)),
        {name: frozenset(ledger.cursors) for name, ledger in ledgers.items()},
        frozenset(name for name, ledger in ledgers.items() if ledger.terminated is not None),
    )


def _refuse(bad_value: BadValue) -> None:
    raise AssertionError(str(bad_value))


def problem_of_segments(layouts: Mapping[int, Layout], promised: int, kept: Kept) -> str:
    """Why there is not one whole layout, at least the one with the epoch `promised`; empty if there is."""
    if kept.record is None:
        return "" if promised < 0 else f"the scalable topic is lost, whose layout had epoch {promised}"
    layout, after = kept.record.layout, kept.record.changing_to
    if layout.epoch < promised:
        return f"the layout has epoch {layout.epoch}, and clients know {promised}"
    for one in (layout, after):
        if one is not None and layouts.get(one.epoch) != one:
            return f"the layout of epoch {one.epoch} is none that the topic had"
    problems = (_problem_of(segment, after, kept) for segment in layout.segments.values())
    return next(filter(None, problems), "")


def _problem_of(segment: Segment, after: Layout | None, kept: Kept) -> str:
    name = ledger_of(segment)
    if segment.topic_of(NAME) not in kept.segments:
        return f"segment {segment.id} is lost"
    if segment.parents and SUBSCRIPTION not in kept.subscriptions.get(name, ()):
        return f"segment {segment.id} does not have the subscription of its parents"
    may_be_sealed = not segment.is_active or (after is not None and not after.segments[segment.id].is_active)
    is_sealed = name in kept.terminated
    if is_sealed and not may_be_sealed:
        return f"segment {segment.id} takes no messages, and no change seals it"
    if not is_sealed and not segment.is_active:
        return f"segment {segment.id} is sealed, and takes messages"
    return ""
