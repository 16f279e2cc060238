"""SEND. Messages arrive as runs (`on_run`); what a run cannot hold (a bad checksum, a transaction, a chunk)
arrives one by one (`on_single_send`). Checks come first, in Pulsar's order, before anything changes.
"""

from __future__ import annotations

from broker_core.errors import BrokerError, ChecksumMismatch, MetadataFailed, NotAllowed, ProtocolViolation
from broker_core.publishing.policy_checks import check_delay
from broker_core.publishing.replication import MARKER_MESSAGES, MARKER_TYPES
from broker_core.server.session import Session
from broker_core.wire.message import MAGIC, add_checksum, checksum_of
from broker_core.wire.send import Chunk, SendRun, SingleSend, receipt_key
from broker_core.wire.transaction_id import TransactionId


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
        run = _as_run(send, from_replicator=producer.is_replicator)
        if run.delivery_times:
            check_delay(producer.topic.policies, run.delivery_times[0], run.publish_times[0])
        if run.chunk is not None:
            producer.topic.chunk_published()
        producer.publish(run)
    except BrokerError as error:
        producer.refuse(send.send.sequence_id, error)


def _as_run(send: SingleSend, *, from_replicator: bool) -> SendRun:
    """The message as a run of one, or the reason for refusing it."""
    command = send.send
    if send.flaw is not None:
        raise NotAllowed(send.flaw.reason)
    if command.marker and not from_replicator:
        raise NotAllowed("Markers are internal to a broker")
    if command.HasField("message_id"):
        raise NotAllowed("Only shadow topic supports sending messages with messageId")
    if not send.checksum_ok:
        raise ChecksumMismatch("Checksum failed on the broker")
    if send.metadata is None:
        raise MetadataFailed("The message's metadata cannot be read")
    if command.marker and send.metadata.marker_type not in MARKER_TYPES:
        raise NotAllowed(f"A replicator sends no markers of type {send.metadata.marker_type}")
    entry = send.headers_and_payload
    if not entry.startswith(MAGIC):
        entry = add_checksum(entry)
    highest = command.highest_sequence_id if command.highest_sequence_id >= command.sequence_id else 0
    key = receipt_key(command.producer_id, command.sequence_id, highest)
    count = MARKER_MESSAGES if command.marker else max(1, command.num_messages)
    publish_time = send.metadata.publish_time
    run = SendRun(command.producer_id, entry, [0], [len(entry)], [key], [count], [publish_time])
    if send.metadata.HasField("deliver_at_time"):
        run.delivery_times = [max(0, send.metadata.deliver_at_time)]
    run.transaction = TransactionId.of(command)
    if run.transaction is not None and send.metadata.HasField("marker_type"):
        raise NotAllowed("A message of a transaction is not a marker")  # an aborted one would be taken for one
    if command.is_chunk:
        described = send.metadata
        run.chunk = Chunk(described.uuid, described.chunk_id, described.num_chunks_from_msg, checksum_of(entry))
    return run


def _check_was_closed(session: Session, producer_id: int) -> None:
    if producer_id not in session.closed_producers:
        raise ProtocolViolation(f"SEND for producer {producer_id}, which does not exist")
