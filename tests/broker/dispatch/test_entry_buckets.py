"""Consumers that share a segment by entry buckets: which entries each one gets, and how a bucket moves."""

from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.dispatch import DispatchConfig
from broker_core.config.features import ScalableConfig
from broker_core.config.server import ConnectionConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send

TOPIC = "persistent://public/default/t"
HALVES = ((0, 0x7FFF), (0x8000, 0xFFFF))
ALIVE = ConnectionConfig(liveness_timeout_ms=0)  # consumers need not prove that they are
LOW, HIGH = "key-1", "key-0"  # the low halves of their hashes are 15a0 and f8bf


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    dispatch = DispatchConfig(unblocking_ms=0)
    with EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, dispatch=dispatch, connection=ALIVE)) as started:
        yield started


@pytest.fixture
def raw(broker: EmbeddedBroker) -> Iterator[RawClient]:
    with RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        yield client


class Sharer(RawClient):
    """A consumer of entry buckets with its own connection; `held` has the IDs that it received."""

    def __init__(
        self,
        broker: EmbeddedBroker,
        name: str,
        ranges: tuple[tuple[int, int], ...] = HALVES,
        mode: Any = pb.STICKY,
        *,
        has_buckets: bool = True,
        out_of_order: bool = False,
    ) -> None:
        super().__init__(broker.service_url)
        command = BaseCommand(type=BaseCommand.SUBSCRIBE)
        command.subscribe.CopyFrom(
            pb.CommandSubscribe(
                topic=TOPIC,
                subscription="s",
                subType=pb.CommandSubscribe.Key_Shared,
                consumer_id=1,
                request_id=1,
                consumer_name=name,
                keySharedMeta=pb.KeySharedMeta(
                    keySharedMode=mode,
                    hashRanges=[pb.IntRange(start=start, end=end) for start, end in ranges],
                    entryBucketDispatch=has_buckets,
                    allowOutOfOrderDelivery=out_of_order,
                ),
            )
        )
        self.send(frame(command))
        self.answer = self.expect_any()
        self.held: list[pb.MessageIdData] = []
        self.send(client_commands.flow(1, 100))

    @property
    def refusal(self) -> int | None:
        return self.answer.error if isinstance(self.answer, pb.CommandError) else None

    def gets(self, count: int) -> list[int]:
        """The entry IDs of the next messages."""
        self.held += [self.expect(BaseCommand.MESSAGE).message_id for _ in range(count)]
        return [one.entryId for one in self.held[-count:]]

    def gets_nothing(self) -> bool:
        """Pending deliveries would arrive before the answer to this request."""
        self.send(client_commands.get_last_message_id(1, 99))
        return self.expect(BaseCommand.GET_LAST_MESSAGE_ID_RESPONSE) is not None

    def acknowledge(self) -> None:
        self.send(client_commands.acknowledge(1, self.held))


def publish(client: RawClient, **metadata: Any) -> None:
    client.send(send(1, metadata=metadata))
    client.expect(BaseCommand.SEND_RECEIPT)


def test_stamped_and_other_entries_of_a_bucket_have_one_owner(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Sharer(broker, "b") as upper, Sharer(broker, "a") as lower:
        publish(raw, partition_key=LOW)
        publish(raw, partition_key=HIGH)
        publish(raw, entry_hash_min=0x15A0, entry_hash_max=0x7FFF, num_messages_in_batch=3)
        publish(raw, partition_key=LOW, entry_hash_min=0x8000, entry_hash_max=0x8000)
        publish(raw, entry_hash_min=0x7FFF, entry_hash_max=0x8000)
        assert (lower.gets(3), upper.gets(2)) == ([0, 2, 4], [1, 3])


def test_a_bucket_moves_when_its_old_owner_has_acknowledged_it(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Sharer(broker, "a") as old:
        publish(raw, entry_hash_min=0x8001)
        publish(raw, entry_hash_min=1)
        old.gets(2)
        with Sharer(broker, "b") as new:
            publish(raw, entry_hash_min=0xFFFF)  # another key of the bucket that moves
            publish(raw, entry_hash_min=2)
            assert new.gets_nothing()
            assert old.gets(1) == [3], "the bucket that stays goes on"
            old.acknowledge()
            assert new.gets(1) == [2]


def test_the_buckets_of_a_consumer_that_leaves_go_to_the_others(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Sharer(broker, "b") as stays:
        with Sharer(broker, "a") as leaves:
            publish(raw, entry_hash_min=1)
            assert leaves.gets(1) == [0]
        assert stays.gets(1) == [0]


@pytest.mark.parametrize(
    "ranges", [(), ((0, 0x7FFF),), ((0, 0x7FFF), (0x9000, 0xFFFF)), ((0x8000, 0xFFFF), (0, 0x7FFF))]
)
def test_a_list_that_is_not_one_of_buckets_is_refused(
    broker: EmbeddedBroker, raw: RawClient, ranges: tuple[tuple[int, int], ...]
) -> None:
    with Sharer(broker, "a", ranges) as refused, Sharer(broker, "b") as other:
        assert (refused.refusal, other.refusal) == (pb.ConsumerAssignError, None)


def test_another_list_than_that_of_the_other_consumers_is_refused(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Sharer(broker, "a"), Sharer(broker, "b", ((0, 0xFFFF),)) as refused:
        assert refused.refusal == pb.ConsumerAssignError


@pytest.mark.parametrize(("mode", "out_of_order"), [(pb.AUTO_SPLIT, False), (pb.STICKY, True)])
def test_buckets_are_delivered_in_sticky_mode_and_in_order(
    broker: EmbeddedBroker, raw: RawClient, mode: Any, out_of_order: bool
) -> None:
    with Sharer(broker, "a", mode=mode, out_of_order=out_of_order) as refused:
        assert refused.refusal == pb.ConsumerAssignError


def test_a_consumer_of_hashes_does_not_join_one_of_buckets(broker: EmbeddedBroker, raw: RawClient) -> None:
    with Sharer(broker, "a"), Sharer(broker, "b", has_buckets=False) as refused:
        assert refused.refusal == pb.ConsumerBusy


def test_without_scalable_topics_the_ranges_are_those_of_a_sticky_consumer() -> None:
    config = BrokerConfig(server=FREE_PORTS, scalable=ScalableConfig(enabled=False), connection=ALIVE)
    with EmbeddedBroker(config=config) as broker, RawClient(broker.service_url) as client:
        client.ask(producer(TOPIC), BaseCommand.PRODUCER_SUCCESS)
        with Sharer(broker, "a"), Sharer(broker, "b") as second:
            assert second.refusal == pb.ConsumerAssignError
