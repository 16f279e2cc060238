"""PRODUCER, SEND and CLOSE_PRODUCER.

SENDs arrive as runs (`on_run`); what a run cannot hold (a bad checksum, a transaction, a chunk with its
bookkeeping) arrives one by one (`on_single_send`). Checks come first and in Pulsar's order; only then is the
topic touched.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.errors import (
    BrokerError,
    ChecksumMismatch,
    MetadataFailed,
    NotAllowed,
    ProducerBusy,
    ProtocolViolation,
)
from broker_core.names import TopicName, parse_topic
from broker_core.producer import Producer
from broker_core.session import Session, creation
from broker_core.topic import Topic
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import MAGIC, add_checksum
from broker_core.wire.send import SendRun, SingleSend, receipt_key


def on_run(session: Session, run: SendRun) -> None:
    """The hot path in: the consecutive SENDs of one producer in one chunk of the socket."""
    producer = session.producers.get(run.producer_id)
    if producer is None:
        _check_was_closed(session, run.producer_id)
    else:
        producer.publish(run)


def on_single_send(session: Session, send: SingleSend) -> None:
    producer = session.producers.get(send.send.producer_id)
    if producer is None:
        _check_was_closed(session, send.send.producer_id)
        return
    try:
        producer.publish(_as_run(send))
    except BrokerError as error:
        producer.refuse(send.send.sequence_id, error)


def _as_run(send: SingleSend) -> SendRun:
    """The message as a run of one, or the reason for refusing it."""
    command = send.send
    if command.highest_sequence_id and command.highest_sequence_id < command.sequence_id:
        raise MetadataFailed(
            f"highest_sequence_id {command.highest_sequence_id} is below sequence_id {command.sequence_id}"
        )
    if command.txnid_least_bits or command.txnid_most_bits:
        raise NotAllowed("Transactions are not supported by this broker")
    if command.marker:
        raise NotAllowed("Markers are internal to a broker")
    if not send.checksum_ok:
        raise ChecksumMismatch("Checksum failed on the broker")
    if send.metadata is None:
        raise MetadataFailed("The message's metadata cannot be read")
    if send.metadata.HasField("deliver_at_time"):
        raise NotAllowed("Delayed delivery is not supported by this broker")
    entry = send.headers_and_payload
    if not entry.startswith(MAGIC):
        entry = add_checksum(entry)
    key = receipt_key(command.producer_id, command.sequence_id, command.highest_sequence_id)
    count, publish_time = max(1, command.num_messages), send.metadata.publish_time
    return SendRun(command.producer_id, entry, [0], [len(entry)], [key], [count], [publish_time])


def _check_was_closed(session: Session, producer_id: int) -> None:
    if producer_id not in session.closed_producers:
        raise ProtocolViolation(f"SEND for producer {producer_id}, which does not exist")


async def on_producer(session: Session, command: pb.CommandProducer) -> bytes:
    """PRODUCER: attaches a producer to its topic, which is created if need be and allowed."""
    name = parse_topic(command.topic)
    existing = session.producers.get(command.producer_id)
    if existing is not None and command.epoch <= existing.epoch:
        return _success(command, existing)
    if command.producer_access_mode != pb.Shared:
        mode = pb.ProducerAccessMode.Name(command.producer_access_mode)
        raise NotAllowed(f"Producer access mode {mode} is not supported by this broker")
    if command.txn_enabled:
        raise NotAllowed("Transactions are not supported by this broker")
    with creation(session.creating_producers, "Producer", command.producer_id, command.request_id) as check_wanted:
        producer = await _create(session, command, name, existing, check_wanted)
    return _success(command, producer)


async def _create(
    session: Session,
    command: pb.CommandProducer,
    topic_name: TopicName,
    existing: Producer | None,
    check_wanted: Callable[[], None],
) -> Producer:
    topic = await session.broker.topics.for_client(topic_name)
    if command.initial_subscription_name:
        await topic.subscription(
            command.initial_subscription_name, durable=True, start=None, earliest=True, properties={}
        )
    name = command.producer_name or await session.broker.new_producer_name()
    metadata = {pair.key: pair.value for pair in command.metadata}
    producer = Producer(session, topic, command.producer_id, name, epoch=command.epoch, metadata=metadata)
    if existing is not None:
        existing.close()  # its successor: same id, same connection, higher epoch
    await _evict_dead_namesake(topic, producer)
    session.check_open()
    check_wanted()
    topic.add_producer(producer)
    session.producers[command.producer_id] = producer
    session.closed_producers.pop(command.producer_id, None)
    return producer


async def _evict_dead_namesake(topic: Topic, producer: Producer) -> None:
    """A producer of that name on a connection that no longer answers loses its place (PIP-201's probe)."""
    namesake = topic.producers.get(producer.name)
    if namesake is None:
        return
    if namesake.session is producer.session or await namesake.session.outbound.is_alive():
        raise ProducerBusy(f"Producer with name '{producer.name}' is already connected to topic")


def _success(command: pb.CommandProducer, producer: Producer) -> bytes:
    return commands.producer_success(command.request_id, producer.name, last_sequence_id=-1, schema_version=b"")


async def on_close_producer(session: Session, command: pb.CommandCloseProducer) -> bytes:
    """CLOSE_PRODUCER: answered when every publish on its way has been; then the name is free."""
    session.creating_producers.pop(command.producer_id, None)
    producer = session.producers.pop(command.producer_id, None)
    if producer is not None:
        try:
            await producer.drained()
        finally:  # also when the connection breaks meanwhile
            producer.close()
    return commands.success(command.request_id)
