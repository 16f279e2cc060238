"""The table of bounds has every field that a client can fill, and refuses what exceeds a row."""

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from broker_core.config.broker import BrokerConfig
from broker_core.server.command_table import COMMANDS
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.bounds import ACK_SET_WORDS_PER_ID, BOUNDS, REDELIVERED_PER_ID, UNREAD, CommandBounds, pairs, text
from broker_core.wire.commands import frame
from broker_core.wire.errors import ProtocolError
from broker_core.wire.frame import Command, FrameDecoder, SingleSend, parse_command
from broker_core.wire.message import build_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support.fields import is_repeated, is_required

CONFIG = BrokerConfig()
LIMITS = {"Long.MAX_VALUE": (1 << 63) - 1, **CONFIG.by_key()}
KINDS = (*COMMANDS, BaseCommand.SEND)


def parsed(command: BaseCommand, **limits: int) -> Command:
    return parse_command(command.SerializeToString(), CommandBounds({**LIMITS, **limits}))


def body(kind: int) -> Descriptor:
    descriptor = BaseCommand.DESCRIPTOR.fields_by_number[kind].message_type
    assert descriptor is not None
    return descriptor


def sized_fields(descriptor: Descriptor, path: str = "") -> Iterator[str]:
    """The paths of all fields in a message whose size the sender chooses."""
    for field in descriptor.fields:
        part = field.message_type
        is_text = field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
        if is_text or is_repeated(field) or (part is not None and part.name == "MessageIdData"):
            yield path + field.name
        elif part is not None:
            yield from sized_fields(part, f"{path}{field.name}.")


def test_every_field_that_can_grow_has_a_bound() -> None:
    for kind in KINDS:
        bounded = {bound.field for bound in BOUNDS if kind in bound.commands}
        unread = {field for command, field in UNREAD if command == kind}
        sized = set(sized_fields(body(kind)))
        if kind == BaseCommand.SEND:  # the broker refuses its other fields as a whole
            sized = {"num_messages", "sequence_id", "highest_sequence_id"}
        elif kind == BaseCommand.NEW_TXN:  # Java reads this number in the answers about a transaction
            sized = {"txn_ttl_millis"}
        assert sized == bounded | unread, kind


def minimal(kind: int) -> BaseCommand:
    """A command of that kind with only its required fields."""
    command = BaseCommand(type=kind)  # type: ignore[arg-type]  # enum values are ints here
    message = getattr(command, BaseCommand.DESCRIPTOR.fields_by_number[kind].name)
    message.SetInParent()
    complete(message)
    return command


def filled(kind: int, path: str, value: Any) -> BaseCommand:
    """The same with that value at the end of the path."""
    command = minimal(kind)
    message = getattr(command, BaseCommand.DESCRIPTOR.fields_by_number[kind].name)
    *parents, last = path.split(".")
    for parent in parents:
        message = getattr(message, parent)
        complete(message)
    field = message.DESCRIPTOR.fields_by_name[last]
    if is_repeated(field):
        getattr(message, last).extend(value)
    elif field.message_type is not None:
        getattr(message, last).CopyFrom(value)
    else:
        setattr(message, last, value)
    return command


def complete(message: Any) -> None:
    for field in message.DESCRIPTOR.fields:
        if not is_required(field):
            continue
        if field.message_type is not None:
            getattr(message, field.name).SetInParent()
            complete(getattr(message, field.name))
        elif field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            setattr(message, field.name, "x" if field.type == FieldDescriptor.TYPE_STRING else b"x")
        else:
            setattr(message, field.name, field.default_value)


def too_much(kind: int, path: str, limit: int) -> Any:
    message = body(kind)
    *parents, last = path.split(".")
    for parent in parents:
        inner = message.fields_by_name[parent].message_type
        assert inner is not None
        message = inner
    field = message.fields_by_name[last]
    if field.type == FieldDescriptor.TYPE_STRING:
        return "x" * (limit + 1)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return b"x" * (limit + 1)
    part = field.message_type
    if part is None:
        return limit + 1
    if part.name == "KeyValue":
        return [pb.KeyValue(key="k", value="x" * limit)]
    if part.name == "IntRange":
        return [pb.IntRange(start=1, end=1)] * (limit + 1)
    if is_repeated(field):
        return [pb.MessageIdData(ledgerId=1, entryId=1)] * (REDELIVERED_PER_ID * (limit + 1))
    return pb.MessageIdData(ledgerId=1, entryId=1, ack_set=[1] * (ACK_SET_WORDS_PER_ID * limit))


ROWS = [(kind, bound) for bound in BOUNDS for kind in bound.commands]


def test_a_value_over_its_bound_is_refused_with_the_error_of_the_table() -> None:
    for kind, bound in ROWS:
        limit = LIMITS[bound.limit]
        flaw = parsed(filled(kind, bound.field, too_much(kind, bound.field, limit))).flaw
        assert flaw is not None, (kind, bound)
        assert flaw.server_error == bound.server_error, (kind, bound)
        assert bound.limit in flaw.reason, (kind, bound)


def test_text_that_is_not_utf8_is_refused() -> None:
    mark = "mark-of-this-test"
    for kind, path in [(kind, bound.field) for kind, bound in ROWS if bound.measure is text]:
        command = filled(kind, path, mark).SerializeToString().replace(mark.encode(), b"\xff" * len(mark))
        flaw = parse_command(command, CommandBounds(LIMITS)).flaw
        assert flaw == (pb.NotAllowedError, f"{path} is not valid UTF-8"), kind


@pytest.mark.parametrize("part", [b"the-key", b"a-value"])
def test_properties_that_are_not_utf8_are_refused(part: bytes) -> None:
    for kind, path in [(kind, bound.field) for kind, bound in ROWS if bound.measure is pairs]:
        command = filled(kind, path, [pb.KeyValue(key="the-key", value="a-value")]).SerializeToString()
        flaw = parse_command(command.replace(part, b"\xc3\x28\xff\xfe\xff\xff\xff"), CommandBounds(LIMITS)).flaw
        assert flaw == (pb.NotAllowedError, f"{path} is not valid UTF-8"), kind


def test_a_command_within_all_bounds_is_accepted() -> None:
    assert [kind for kind in KINDS if parsed(minimal(kind)).flaw is not None] == []


def test_an_acknowledgment_shorter_than_the_limit_is_not_parsed() -> None:
    not_looked_into: Any = None
    assert CommandBounds(LIMITS).flaw(BaseCommand.ACK, not_looked_into, LIMITS["maxMessageIdsPerCommand"]) is None


def test_a_command_over_the_maximum_size_breaks_the_stream() -> None:
    decoder = FrameDecoder(10 << 20, CommandBounds(LIMITS))
    command = filled(BaseCommand.LOOKUP, "topic", "x" * (3 << 20))
    with pytest.raises(ProtocolError, match="command of"):
        decoder.feed(frame(command))


def test_without_bounds_any_command_of_a_broker_is_read() -> None:
    (command,) = FrameDecoder(10 << 20).feed(client_commands.lookup(1, "x" * (3 << 20)))
    assert isinstance(command, Command)
    assert command.flaw is None


def test_an_entry_that_claims_too_many_messages_is_not_part_of_a_run() -> None:
    command = filled(BaseCommand.SEND, "num_messages", LIMITS["maxMessagesPerBatch"] + 1)
    entry = build_entry(pb.MessageMetadata(producer_name="p", sequence_id=0, publish_time=1), b"x")
    (item,) = FrameDecoder(1 << 20, CommandBounds(LIMITS)).feed(frame(command, entry))
    assert isinstance(item, SingleSend)
    assert item.flaw is not None
    assert "maxMessagesPerBatch" in item.flaw.reason
