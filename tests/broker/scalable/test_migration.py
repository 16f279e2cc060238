"""A regular topic becomes a scalable one while clients use it."""

import asyncio

import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import assigned, lookup, next_assignment, register, update
from tests.broker.scalable.requests import Requests
from tests.support.condition import wait_until
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer, receive, subscribe
from tests.support.raw_publishing import producer, send

REGULAR = "persistent://public/default/old"
PATH = "scalable/public/default/old"
MARK = [pb.KeyValue(key="__pulsar.v5.managed", value="true")]


def publish(client: RawClient, topic: str, producer_id: int = 1) -> None:
    client.ask(producer(topic, producer_id, metadata=MARK), BaseCommand.PRODUCER_SUCCESS)
    client.send(send(0, producer_id=producer_id))
    client.expect(BaseCommand.SEND_RECEIPT)


def test_partitions_become_sealed_segments_and_each_new_segment_follows_all_of_them(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    broker.create_partitioned_topic(REGULAR, 2)
    assert lookup(client, REGULAR).dag.epoch == 0
    publish(client, f"{REGULAR}-partition-0")
    assert admin("POST", f"{PATH}/migrate").status == 204
    client.expect(BaseCommand.CLOSE_PRODUCER)
    layout = update(client)
    assert (layout.dag.epoch, layout.resolved_topic_name) == (1, "topic://public/default/old")
    assert [
        (one.segment_id, one.state, list(one.parent_ids), one.legacy_topic_name) for one in layout.dag.segments
    ] == [
        (0, pb.SEALED, [], f"{REGULAR}-partition-0"),
        (1, pb.SEALED, [], f"{REGULAR}-partition-1"),
        (2, pb.ACTIVE, [0, 1], ""),
        (3, pb.ACTIVE, [0, 1], ""),
    ]
    assert admin("POST", f"{PATH}/migrate").status == 409
    assert admin("POST", "scalable/public/default/none/migrate").status == 404


def test_an_update_that_a_crash_cut_off_is_finished_before_a_migration(admin: Requests, broker: EmbeddedBroker) -> None:
    broker.create_partitioned_topic(REGULAR, 1)
    broker.call(broker.broker.tenancy.partitioned.note_growth(parse_topic(REGULAR), 2))
    assert admin("POST", f"{PATH}/migrate").status == 204
    broker.call(broker.broker.partitioned.finish_updates())
    segments = broker.broker.scalable.layout_of(parse_topic(REGULAR)).segments.values()
    assert [one.legacy_topic for one in segments if one.legacy_topic] == [f"{REGULAR}-partition-{k}" for k in (0, 1)]
    assert broker.broker.partitioned.count(parse_topic(REGULAR)) == 2


@pytest.mark.parametrize(
    ("name", "reason"), [("old-partition-0", "is one part of a topic"), ("__change_events", "is a system topic")]
)
def test_a_part_of_a_topic_and_a_system_topic_stay_as_they_are(
    admin: Requests, client: RawClient, broker: EmbeddedBroker, name: str, reason: str
) -> None:
    broker.create_partitioned_topic(REGULAR, 1)
    admin("PUT", "persistent/public/default/__change_events")
    refused = admin("POST", f"scalable/public/default/{name}/migrate?force=true")
    assert (refused.status, reason in refused.text) == (412, True)
    publish(client, f"persistent://public/default/{name}")


def test_a_stream_consumer_reads_the_old_partitions_first(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    broker.create_partitioned_topic(REGULAR, 1)
    register(client, REGULAR, "s", "a")
    subscribe(client, f"{REGULAR}-partition-0", name="s")
    publish(client, f"{REGULAR}-partition-0")
    message = receive(client)[0]
    assert admin("POST", f"{PATH}/migrate?force=true").status == 204
    client.expect(BaseCommand.CLOSE_PRODUCER)
    assert next_assignment(client) == ["old-partition-0"]
    command = BaseCommand(type=BaseCommand.ACK)
    command.ack.consumer_id, command.ack.ack_type = 1, pb.CommandAck.Cumulative
    command.ack.message_id.add().CopyFrom(message.message_id)
    client.send(frame(command))
    assert next_assignment(client) == ["0000-ffff-1"]


def test_a_stream_consumer_that_begins_with_new_messages_gets_all_of_them(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    publish(client, REGULAR)
    assert admin("POST", f"{PATH}/migrate").status == 204
    client.expect(BaseCommand.CLOSE_PRODUCER)
    child = "segment://public/default/old/0000-ffff-1"
    with RawClient(broker.service_url) as reader:
        assert assigned(register(reader, REGULAR, "s", "a")) == ["old"]
        subscribe(reader, REGULAR, name="s", initial_position=pb.CommandSubscribe.Latest)
        publish(client, child, 2)
        assert next_assignment(reader) == ["0000-ffff-1"]
        subscribe(reader, child, 2, name="s", initial_position=pb.CommandSubscribe.Latest)
        assert receive(reader)[0].consumer_id == 2


def test_the_record_of_a_topic_that_became_scalable_has_the_consumers(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    admin("PUT", "persistent/public/default/old")
    register(client, REGULAR, "s", "a")
    register(client, REGULAR, "g", "c", 2, pb.CHECKPOINT)
    records, name = broker.broker.scalable.records, parse_topic("topic://public/default/old")
    assert admin("POST", f"{PATH}/migrate").status == 204
    wait_until(lambda: records.find(name).consumers == {"s": ("a",)}, 5)
    assert records.find(name).subscriptions == {"s": "STREAM"}
    admin("DELETE", f"{PATH}?force=true")
    admin("PUT", PATH)
    wait_until(lambda: records.find(name).consumers == {"s": ("a",)}, 5)


def test_a_stream_consumer_has_the_subscriptions_of_the_regular_topic_where_policies_forbid_new_ones(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    admin("PUT", "persistent/public/default/old")
    admin("PUT", "persistent/public/default/old/subscription/s")
    assert admin("POST", f"{PATH}/migrate").status == 204
    broker.call(broker.broker.scalable.collection.collect_all())
    admin("PUT", "namespaces/public/default/unload")
    admin("POST", "namespaces/public/default/autoSubscriptionCreation", {"allowAutoSubscriptionCreation": False})
    refused = register(client, "topic://public/default/old", "t", "a")
    assert refused.error == pb.SubscriptionNotFound
    assert assigned(register(client, "topic://public/default/old", "s", "a")) == ["0000-ffff-1"]


def test_a_registered_consumer_knows_scalable_topics(admin: Requests, client: RawClient) -> None:
    register(client, REGULAR, "s", "a")
    subscribe(client, REGULAR, name="s")
    subscribe(client, REGULAR, 2, name="other")
    assert admin("POST", f"{PATH}/migrate").status == 409
    client.send(close_consumer(2))
    client.expect(BaseCommand.SUCCESS)
    assert admin("POST", f"{PATH}/migrate").status == 204


def test_older_clients_hold_a_migration_up_unless_it_is_forced(admin: Requests, client: RawClient) -> None:
    client.ask(producer(REGULAR), BaseCommand.PRODUCER_SUCCESS)
    answer = admin("POST", f"{PATH}/migrate")
    assert (answer.status, "do not know scalable topics" in answer.reason) == (409, True)
    assert admin("POST", f"{PATH}/migrate?force=true").status == 204
    client.expect(BaseCommand.CLOSE_PRODUCER)
    client.send(frame(producer(REGULAR, 2)))
    assert client.expect(BaseCommand.ERROR).error == pb.TopicTerminatedError


def migrate_with_a_message_left(admin: Requests, client: RawClient, broker: EmbeddedBroker) -> None:
    """A subscription of partition 1 has a message, and partition 0 has none."""
    broker.create_partitioned_topic(REGULAR, 2)
    admin("PUT", "persistent/public/default/old-partition-1/subscription/s")
    publish(client, f"{REGULAR}-partition-1")
    admin("POST", f"{PATH}/migrate")


def test_the_old_topic_goes_as_a_whole_and_nothing_creates_it_again(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    migrate_with_a_message_left(admin, client, broker)
    client.expect(BaseCommand.CLOSE_PRODUCER)
    collect = broker.broker.scalable.collection.collect_all
    broker.call(collect())
    assert set(admin("GET", PATH).json["segments"]) == {"0", "1", "2", "3"}, "partition 1 has a message left"
    admin("POST", "persistent/public/default/old-partition-1/subscription/s/skip_all")
    broker.call(collect())
    assert set(admin("GET", PATH).json["segments"]) == {"2", "3"}
    assert admin("GET", "persistent/public/default/partitioned").json == []
    client.send(frame(producer(REGULAR, 2)))
    assert client.expect(BaseCommand.ERROR).error == pb.TopicNotFound


def test_a_collection_leaves_no_partition_loaded_that_stays_because_of_another_one(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    migrate_with_a_message_left(admin, client, broker)
    for index in range(2):
        assert admin("PUT", f"persistent/public/default/old-partition-{index}/unload").status == 204
    broker.call(broker.broker.scalable.collection.collect_all())
    assert not [name for name in broker.broker.topics.loaded if "old-partition" in name]


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_migration_that_a_crash_cut_off_is_finished_at_the_next_start(
    broker: EmbeddedBroker, admin: Requests, client: RawClient, partitions: int
) -> None:
    if partitions:
        broker.create_partitioned_topic(REGULAR, partitions)
    else:
        admin("PUT", "persistent/public/default/old")
    scalable, name = broker.broker.scalable, parse_topic("topic://public/default/old")
    broker.call(scalable.changes.note_migration(name, parse_topic(REGULAR), partitions))
    broker.call(scalable.start())
    record = scalable.records.find(name)
    assert (record.layout.epoch, record.changing_to) == (1, None)
    assert assigned(register(client, str(name), "s", "a"))


def test_a_topic_that_became_scalable_gets_no_new_partitions(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    broker.create_partitioned_topic(REGULAR, 2)
    admin("POST", f"{PATH}/migrate")
    assert admin("POST", "persistent/public/default/old/partitions", 3).status == 409
    assert admin("DELETE", PATH).status == 204
    assert admin("GET", "persistent/public/default/partitioned").json == []
    assert admin("GET", "persistent/public/default").json == []
    assert admin("PUT", "persistent/public/default/old/partitions", 2).status == 204


def test_statistics_do_without_an_old_topic_that_was_deleted(
    admin: Requests, client: RawClient, broker: EmbeddedBroker
) -> None:
    admin("PUT", "persistent/public/default/old")
    admin("POST", f"{PATH}/migrate")
    assert admin("DELETE", "persistent/public/default/old").status == 204
    assert admin("GET", f"{PATH}/stats").status == 200


@pytest.mark.parametrize("is_update_first", [True, False])
def test_a_migration_misses_no_partition_that_an_update_adds_at_the_same_time(
    broker: EmbeddedBroker, is_update_first: bool
) -> None:
    broker.create_partitioned_topic(REGULAR, 2)
    partitioned, scalable, name = broker.broker.partitioned, broker.broker.scalable, parse_topic(REGULAR)

    async def change() -> None:
        changes = [partitioned.update(name, 4), scalable.migrate(name, force=False)]
        await asyncio.gather(*(changes if is_update_first else reversed(changes)), return_exceptions=True)

    broker.call(change())
    segments = scalable.records.find(parse_topic("topic://public/default/old")).layout.segments.values()
    assert sum(bool(segment.legacy_topic) for segment in segments) == partitioned.count(name)
