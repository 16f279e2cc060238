"""`pulsarctl produce`: publish messages from arguments, files, or lines."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.encryption.key_source import public_key_file
from pulsarctl.errors import UsageProblem
from pulsarctl.facts.two_clusters import warn_of_two_clusters
from pulsarctl.output import render
from pulsarctl.produce.feed import MessageSplit
from pulsarctl.produce.outgoing import STDIN, Outgoing
from pulsarctl.produce.produce_options import (
    AccessMode,
    Chunking,
    Compression,
    DeliverAfter,
    DeliverAt,
    DisableBatching,
    DisableReplication,
    EncryptionKeyName,
    EncryptionKeyValue,
    EventTime,
    Files,
    Headers,
    Key,
    KeyDelimiter,
    KeySchema,
    KeyValueEncoding,
    KeyValueKey,
    KeyValueKeyFile,
    Lines,
    Messages,
    NullValue,
    NumProduce,
    OrderingKey,
    Partition,
    ProducerName,
    Properties,
    Schema,
    Separator,
    SequenceId,
    Tombstone,
    Transaction,
    TransactionTimeout,
    check_destination,
    check_encryption,
    parse_access_mode,
    parse_compression,
    parse_headers,
)
from pulsarctl.produce.sending import Sending
from pulsarctl.schemas.value_schema import ValueSchema, parse_value_schema
from pulsarctl.shell.arguments import AnyTopic, BrokerTimeout, Rate, csv, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.chosen_partition import chosen, explained
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.required_encryption import refusal_explained
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values import clock
from pulsarctl.values.names import is_scalable
from pulsarctl.values.quantities import parse_duration
from pulsarctl.values.times import parse_time_ms

if TYPE_CHECKING:
    from pulsarctl.client.publisher import Publisher
    from pulsarctl.produce.scalable_publisher import ScalablePublisher

app = Noun("produce", "Publish messages from arguments, files, or stdin.")


@dataclass(frozen=True, slots=True)
class Publication:
    """The messages of one run, and their way to `topic`, at `rate` per second (0: no limit)."""

    topic: str
    options: PublishOptions
    outgoing: Outgoing
    split: MessageSplit
    rate: float
    transaction_timeout: str | None  # as the user wrote it; None: without a transaction

    @property
    def timeout_seconds(self) -> float:
        return self.options.send_timeout_ms / 1000


@app.verb("produce")
def produce(
    call: Call,
    topic: AnyTopic,
    messages: Messages = None,
    files: Files = None,
    lines: Lines = None,
    num_produce: NumProduce = 1,
    rate: Rate = 0,
    separator: Separator = None,
    key: Key = None,
    key_delimiter: KeyDelimiter = None,
    properties: Properties = None,
    headers: Headers = None,
    tombstone: Tombstone = False,
    null_value: NullValue = None,
    ordering_key: OrderingKey = None,
    event_time: EventTime = None,
    deliver_after: DeliverAfter = None,
    deliver_at: DeliverAt = None,
    compression: Compression = "none",
    disable_batching: DisableBatching = False,
    chunking: Chunking = False,
    partition: Partition = None,
    producer_name: ProducerName = None,
    access_mode: AccessMode = "Shared",
    sequence_id: SequenceId = None,
    disable_replication: DisableReplication = False,
    encryption_key_name: EncryptionKeyName = None,
    encryption_key_value: EncryptionKeyValue = None,
    transaction: Transaction = False,
    transaction_timeout: TransactionTimeout = "10m",
    value_schema: Schema = "bytes",
    key_schema: KeySchema = "string",
    key_value_key: KeyValueKey = None,
    key_value_key_file: KeyValueKeyFile = None,
    key_value_encoding: KeyValueEncoding = None,
    timeout: BrokerTimeout = "30s",
) -> None:
    """Publish messages from arguments, files, or lines of text.

    Without -m, -f, and --lines, each line of stdin is a message. Only a newline ends a line; every other byte is part
    of the message. The command ends when the broker has acknowledged every message.

    With --transaction, consumers get all messages at the end of the command, or none if it fails or is interrupted.

    Examples:
      pulsarctl produce orders -m 'hello' -k customer-7 -p source=shell
      pulsarctl produce orders --lines orders.csv -K ,
      pulsarctl produce orders --lines orders.csv --transaction
      tail -f app.log | pulsarctl produce logs
      pulsarctl produce orders --schema avro:order.avsc -m '{"id": 7}'

    Exit codes: 3 the topic does not exist and cannot be created, 5 no connection, 6 the broker aborted the transaction,
    7 timeout, 1 the broker refused a message, or it is unknown whether the transaction was committed. Without a
    transaction, the error says how many messages were acknowledged and where to resume.
    """
    _refuse_pairs(key_schema, key_value_key, key_value_key_file, key_value_encoding)
    check_encryption(encryption_key_name, encryption_key_value)
    call.with_resource(orderly_end())
    name, now_ms = chosen(topic, partition), clock.now_ms()
    options = PublishOptions(
        properties=pairs(properties) | parse_headers(headers),
        ordering_key=ordering_key,
        event_time_ms=_time(call, "event time", event_time, now_ms),
        deliver_at_ms=_deliver_at(call, deliver_after, deliver_at, now_ms),
        compression=parse_compression(compression),
        batching=not disable_batching,
        chunking=chunking,
        disable_replication=disable_replication,
        producer_name=producer_name,
        access_mode=parse_access_mode(access_mode),
        first_sequence_id=sequence_id,
        encryption_key_name=encryption_key_name,
        send_timeout_ms=max(1, round(parse_duration(timeout) * 1000)),
    )
    check_destination(name, options, transaction=transaction, schema=value_schema)
    outgoing = _outgoing(messages, files, lines, separator, num_produce, tombstone)
    schema = _schema(call, topic, value_schema)
    options = replace(options, encryption_key_path=_key_file(call, encryption_key_value), schema=schema.announced)
    split = MessageSplit(key, key_delimiter, tombstone, null_value, schema.encode)
    publication = Publication(name, options, outgoing, split, rate, transaction_timeout if transaction else None)
    _tell_of_stdin(call, outgoing)
    warn_of_two_clusters(call, name)
    with explained(call, topic, partition):
        sent = _publish(call, publication)
    _report(call, name, sent, in_transaction=transaction)


def _key_file(call: Call, public_key: str | None) -> str | None:
    return None if public_key is None else call.with_resource(public_key_file(public_key))


def _tell_of_stdin(call: Call, outgoing: Outgoing) -> None:
    if outgoing.lines == STDIN and render.stdin_is_terminal():
        call.notice("reading messages from stdin, one per line; press Ctrl-D to end")


def _report(call: Call, topic: str, sent: int, *, in_transaction: bool) -> None:
    if render.is_structured(call.output):
        call.show({"topic": topic, "messages": sent})
    else:
        call.notice(f"{sent} messages successfully produced{' in one transaction' if in_transaction else ''}")


def _publish(call: Call, publication: Publication) -> int:
    """The number of messages that are published."""
    render.guard_stdout()
    if publication.transaction_timeout is not None:
        return _publish_together(call, publication, publication.transaction_timeout)
    if is_scalable(publication.topic):
        return _publish_to_segments(call, publication)
    return _publish_with_client(call, publication)


def _publish_with_client(call: Call, publication: Publication) -> int:
    from pulsarctl.client.messaging import Messaging

    with closing(Messaging(call.settings, publication.timeout_seconds)) as client:
        publisher = client.publisher(publication.topic, publication.options)
        with refusal_explained(call, publication.topic):
            return _send(call, publisher, publication)


def _publish_to_segments(call: Call, publication: Publication) -> int:
    from pulsarctl.produce.scalable_publisher import ScalablePublisher

    topic, options, timeout_seconds = publication.topic, publication.options, publication.timeout_seconds
    with closing(ScalablePublisher(call.settings, topic, options, publication.rate, timeout_seconds)) as publisher:
        return _send(call, publisher, publication)


def _send(call: Call, publisher: "Publisher | ScalablePublisher", publication: Publication) -> int:
    outgoing, split, topic = publication.outgoing, publication.split, publication.topic
    return Sending(publisher, outgoing, split, topic, quiet=call.settings.quiet).run(publication.rate)


def _publish_together(call: Call, publication: Publication, ttl: str) -> int:
    from pulsarctl.produce.all_or_nothing import AllOrNothing
    from pulsarctl.produce.transaction_publisher import TransactionPublisher

    publisher = TransactionPublisher(
        call.settings,
        publication.topic,
        publication.options,
        ttl_seconds=parse_duration(ttl),
        timeout_seconds=publication.timeout_seconds,
    )
    with closing(publisher):
        sending = AllOrNothing(publisher, publication.outgoing, publication.split, ttl, quiet=call.settings.quiet)
        return sending.run(publication.rate)


def _refuse_pairs(key_schema: str, *pair_options: str | None) -> None:
    if any(pair_options) or key_schema.lower() not in ("string", "bytes"):
        raise UsageProblem(
            "cannot send KeyValue schemas: the client does not support them", hint="use -k for the message key"
        )


def _outgoing(
    messages: list[str] | None,
    files: list[str] | None,
    lines: str | None,
    separator: str | None,
    rounds: int,
    tombstone: bool,
) -> Outgoing:
    texts = [part for text in messages or [] for part in (text.split(separator) if separator else [text])]
    paths = csv(files)
    if not texts and not paths and lines is None:
        if tombstone:
            texts = [""]
        else:
            lines = STDIN
    if lines is not None and rounds > 1:
        raise UsageProblem("-n repeats messages and files, and cannot repeat lines")
    return Outgoing([os.fsencode(text) for text in texts], paths, lines, rounds)


def _schema(call: Call, topic: str, text: str) -> ValueSchema:
    schema = parse_value_schema(text, lambda: call.admin.schemas.get(topic))
    if schema.notice:
        call.notice(schema.notice)
    return schema


def _time(call: Call, label: str, text: str | None, now_ms: int) -> int:
    """Milliseconds since the epoch, 0 if not given."""
    if text is None:
        return 0
    time_ms = parse_time_ms(text, now_ms)
    call.notice_time(label, time_ms)
    return time_ms


def _deliver_at(call: Call, after: str | None, at: str | None, now_ms: int) -> int:
    if after is not None and at is not None:
        raise UsageProblem("cannot combine --deliver-after and --deliver-at")
    return _time(call, "deliver at", at, now_ms) if after is None else now_ms + round(parse_duration(after) * 1000)
