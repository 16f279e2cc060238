"""Key_Shared in any sequence of joins, leaves, acknowledgments, and redeliveries; one broker, real connections.

Consumers that share a segment by entry buckets get all keys of a bucket in order, as others get one key.
"""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.frame import MessageFrame
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, publish_keys

KEYS = ("key1", "key2", "key01", "test", "my-key")
BUCKETS = ((0, 0x7FFF), (0x8000, 0xC000), (0xC001, 0xFFFF))
LOW_HALVES = (0x0125, 0x39B4, 0xBA24, 0xD213, 0xB931)  # of the hashes of the keys
MEMBERS_MAX = 4
numbers = count()

steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.sampled_from(KEYS), st.just(0)),
        st.tuples(st.just("join"), st.integers(1, 5), st.just(0)),
        st.tuples(st.just("leave"), st.integers(0, MEMBERS_MAX), st.just(0)),
        st.tuples(st.sampled_from(["acknowledge", "give back"]), st.integers(0, MEMBERS_MAX), st.integers(0, 9)),
        st.tuples(st.just("flow"), st.integers(0, MEMBERS_MAX), st.integers(1, 3)),
    ),
    max_size=60,
)


@pytest.fixture(scope="module", params=["ring", "split", "buckets"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def broker(mode: str) -> Iterator[EmbeddedBroker]:
    dispatch = DispatchConfig(
        unblocking_ms=0, consistent_hashing=mode == "ring", points_per_consumer=3, look_ahead_per_consumer=3
    )
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, dispatch=dispatch)) as broker:
        yield broker


class Member:
    """A consumer; `held` has its unacknowledged entries with their keys."""

    def __init__(self, broker: EmbeddedBroker, topic: str, permits: int, *, has_buckets: bool) -> None:
        self.client = RawClient(broker.service_url)
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        body = command.subscribe
        body.topic, body.subscription, body.consumer_id, body.request_id = topic, "s", 1, 1
        body.subType, body.initialPosition = pb.CommandSubscribe.Key_Shared, pb.CommandSubscribe.Earliest
        if has_buckets:
            body.consumer_name = f"c{1_000_000 - next(numbers)}"  # before all others, whose first bucket it takes
            body.keySharedMeta.keySharedMode, body.keySharedMeta.entryBucketDispatch = pb.STICKY, True
            body.keySharedMeta.hashRanges.extend(pb.IntRange(start=start, end=end) for start, end in BUCKETS)
        self.client.ask(command, BaseCommand.SUCCESS)
        self.held: dict[int, tuple[str, pb.MessageIdData]] = {}
        self.flow(permits)

    def flow(self, permits: int) -> None:
        self.client.send(client_commands.flow(1, permits))

    def take(self, index: int) -> pb.MessageIdData:
        entry_id = sorted(self.held)[index % len(self.held)]
        return self.held.pop(entry_id)[1]

    def acknowledge(self, index: int) -> int:
        message_id = self.take(index)
        self.client.send(client_commands.acknowledge(1, [message_id]))
        return message_id.entryId

    def give_back(self, index: int) -> int:
        message_id = self.take(index)
        command = BaseCommand(type=BaseCommand.REDELIVER_UNACKNOWLEDGED_MESSAGES)
        command.redeliverUnacknowledgedMessages.consumer_id = 1
        command.redeliverUnacknowledgedMessages.message_ids.append(message_id)
        self.client.send(frame(command))
        return message_id.entryId

    def arrivals(self) -> Iterator[tuple[int, str, pb.MessageIdData]]:
        """Everything that arrives before the answer to a request sent now."""
        self.client.send(client_commands.get_last_message_id(1, 7))
        while isinstance(item := self.client.next(), MessageFrame):
            message_id = item.message.message_id
            yield message_id.entryId, parse_metadata(item.entry).partition_key, message_id


def bucket_of(low_half: int) -> str:
    return next(f"bucket {start}" for start, end in BUCKETS if start <= low_half <= end)


class Run:
    """`unit` says for each key what comes in order: the key, or its bucket."""

    def __init__(self, broker: EmbeddedBroker, *, has_buckets: bool) -> None:
        self.broker = broker
        self.has_buckets = has_buckets
        self.unit = {key: key for key in KEYS}
        if has_buckets:
            self.unit = {key: bucket_of(low) for key, low in zip(KEYS, LOW_HALVES, strict=True)}
        self.topic = f"persistent://public/default/model-{next(numbers)}"
        self.publisher = RawClient(broker.service_url)
        self.publisher.ask(producer(self.topic), BaseCommand.PRODUCER_SUCCESS)
        self.members: list[Member] = []
        self.published: dict[str, list[int]] = {unit: [] for unit in self.unit.values()}
        self.came: set[int] = set()
        self.done: set[int] = set()
        self.given_back: set[int] = set()

    def step(self, what: str, first: int | str, second: int) -> None:
        if what == "publish":
            self.publish(str(first))
        elif what == "join" and len(self.members) < MEMBERS_MAX:
            self.join(int(first))
        elif what != "join" and self.members:
            self.act(what, int(first) % len(self.members), second)
        self.look()

    def join(self, permits: int) -> None:
        self.members.append(Member(self.broker, self.topic, permits, has_buckets=self.has_buckets))

    def act(self, what: str, index: int, value: int) -> None:
        member = self.members[index]
        if what == "leave":
            self.leave(index)
        elif what == "flow":
            member.flow(value)
        elif member.held and what == "acknowledge":
            self.done.add(member.acknowledge(value))
        elif member.held:
            self.given_back.add(member.give_back(value))

    def publish(self, key: str) -> None:
        publish_keys(self.publisher, key)
        self.published[self.unit[key]].append(sum(map(len, self.published.values())))

    def leave(self, index: int) -> None:
        member = self.members.pop(index)
        member.client.close()
        subscription = self.broker.broker.topics.loaded[self.topic].subscriptions["s"]
        wait_until(lambda: len(subscription.consumers) == len(self.members), 5)

    def look(self) -> None:
        """Collects deliveries twice, since an acknowledgment on one connection releases messages for another."""
        for _ in range(2):
            for member in self.members:
                for entry_id, key, message_id in member.arrivals():
                    self.check(member, entry_id, self.unit[key])
                    member.held[entry_id] = self.unit[key], message_id

    def check(self, member: Member, entry_id: int, key: str) -> None:
        for other in self.members:
            assert other is member or key not in [held for held, _ in other.held.values()], "a key at two consumers"
        assert entry_id not in self.done, "acknowledged already"
        earlier = [one for one in self.published[key] if one < entry_id and one not in self.done]
        waiting = [one for one in earlier if one not in member.held]
        if entry_id not in self.came:
            assert not [one for one in waiting if one not in self.came], "out of order"
        self.came.add(entry_id)

    def finish(self) -> None:
        """All unacknowledged messages arrive in the end, and no others."""
        if not self.members:
            self.join(1000)
        for member in self.members:
            member.flow(1000)
        everything = {one for entries in self.published.values() for one in entries}
        wait_until(self._settles(everything), 10)

    def _settles(self, everything: set[int]) -> Callable[[], bool]:
        def settled() -> bool:
            self.look()
            for member in self.members:
                while member.held:
                    self.done.add(member.acknowledge(0))
            return self.done == everything

        return settled

    def close(self) -> None:
        for client in (self.publisher, *(member.client for member in self.members)):
            client.close()


@given(steps)
@example([("join", 5, 0), ("publish", "key1", 0), ("join", 5, 0), ("publish", "key2", 0)])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_keys_stay_in_order_in_any_sequence_of_events(
    broker: EmbeddedBroker, mode: str, taken: list[tuple[str, int | str, int]]
) -> None:
    run = Run(broker, has_buckets=mode == "buckets")
    for what, first, second in taken:
        run.step(what, first, second)
    run.finish()
    run.close()
