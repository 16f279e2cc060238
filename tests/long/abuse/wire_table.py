"""Hostile inputs for each wire command: an example with every field replaced, and inputs that were once expensive.

`EXAMPLES` has a row for each command that the broker serves, and for SEND. The fields and their types come from
the protobuf descriptors, so the run covers a new field of Pulsar's protocol as soon as it is in the `.proto`.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import SIZES, frame
from broker_core.wire.message import add_checksum, build_entry
from tests.support.fields import is_repeated, is_required
from tests.support.malformed_metadata import first_fields, tails
from tests.support.raw_publishing import send

_T = pb.BaseCommand

TOPIC = "persistent://abuse/wire/wire"
MANY = 100_000
# Placeholder for bytes that are not UTF-8. Protobuf refuses them, so they replace it in the encoded command.
NOT_UTF8_STAND_IN, NOT_UTF8 = "ÿþ".encode(), b"\xff\xfe\xff\xfe"

EXAMPLES: dict[int, dict[str, Any]] = {
    _T.CONNECT: {"client_version": "abuse", "protocol_version": 21},
    _T.PING: {},
    _T.PONG: {},
    _T.LOOKUP: {"topic": TOPIC, "request_id": 9},
    _T.PARTITIONED_METADATA: {"topic": TOPIC, "request_id": 9},
    _T.GET_TOPICS_OF_NAMESPACE: {"namespace": "abuse/wire", "request_id": 9},
    _T.WATCH_TOPIC_LIST: {
        "request_id": 9,
        "watcher_id": 1,
        "namespace": "abuse/wire",
        "topics_pattern": "persistent://abuse/wire/.*",
    },
    _T.WATCH_TOPIC_LIST_CLOSE: {"request_id": 9, "watcher_id": 1},
    _T.PRODUCER: {"topic": TOPIC, "producer_id": 2, "request_id": 9},
    _T.CLOSE_PRODUCER: {"producer_id": 1, "request_id": 9},
    _T.SUBSCRIBE: {
        "topic": TOPIC,
        "subscription": "wire",
        "subType": pb.CommandSubscribe.Shared,
        "consumer_id": 2,
        "request_id": 9,
    },
    _T.FLOW: {"consumer_id": 1, "messagePermits": 10},
    _T.ACK: {
        "consumer_id": 1,
        "ack_type": pb.CommandAck.Individual,
        "message_id": [{"ledgerId": 1, "entryId": 0}],
        "request_id": 9,
    },
    _T.REDELIVER_UNACKNOWLEDGED_MESSAGES: {"consumer_id": 1, "message_ids": [{"ledgerId": 1, "entryId": 0}]},
    _T.SEEK: {"consumer_id": 1, "request_id": 9, "message_id": {"ledgerId": 1, "entryId": 0}},
    _T.GET_LAST_MESSAGE_ID: {"consumer_id": 1, "request_id": 9},
    _T.CONSUMER_STATS: {"consumer_id": 1, "request_id": 9},
    _T.UNSUBSCRIBE: {"consumer_id": 1, "request_id": 9},
    _T.CLOSE_CONSUMER: {"consumer_id": 1, "request_id": 9},
    _T.GET_SCHEMA: {"request_id": 9, "topic": TOPIC},
    _T.TC_CLIENT_CONNECT_REQUEST: {"tc_id": 0, "request_id": 9},
    _T.NEW_TXN: {"tc_id": 0, "txn_ttl_millis": 1000, "request_id": 9},
    _T.ADD_PARTITION_TO_TXN: {
        "txnid_most_bits": 0,
        "txnid_least_bits": 1,
        "partitions": ["persistent://abuse/ns/t"],
        "request_id": 9,
    },
    _T.ADD_SUBSCRIPTION_TO_TXN: {
        "txnid_most_bits": 0,
        "txnid_least_bits": 1,
        "subscription": [{"topic": "persistent://abuse/ns/t", "subscription": "s"}],
        "request_id": 9,
    },
    _T.END_TXN: {"txnid_most_bits": 0, "txnid_least_bits": 1, "txn_action": 0, "request_id": 9},
    _T.SCALABLE_TOPIC_LOOKUP: {"session_id": 1, "topic": TOPIC},
    _T.SCALABLE_TOPIC_CLOSE: {"session_id": 1},
    _T.SCALABLE_TOPIC_SUBSCRIBE: {
        "request_id": 9,
        "topic": TOPIC,
        "subscription": "registered",
        "consumer_name": "c",
        "consumer_id": 3,
        "consumer_type": pb.STREAM,
    },
    _T.SCALABLE_TOPIC_UNSUBSCRIBE: {"request_id": 9, "consumer_id": 3},
    _T.WATCH_SCALABLE_TOPICS: {
        "watch_id": 1,
        "namespace": "abuse/wire",
        "property_filters": [{"key": "k", "value": "v"}],
        "current_hash": "0",
    },
    _T.WATCH_SCALABLE_TOPICS_CLOSE: {"watch_id": 1},
    _T.WATCH_TC_ASSIGNMENTS: {"watch_id": 1},
    _T.WATCH_TC_ASSIGNMENTS_CLOSE: {"watch_id": 1},
    _T.GET_OR_CREATE_SCHEMA: {
        "request_id": 9,
        "topic": "persistent://abuse/wire/schema",
        "schema": {"name": "s", "schema_data": b'{"type":"record","name":"R","fields":[]}', "type": pb.Schema.Avro},
    },
    _T.AUTH_RESPONSE: {"response": {"auth_method_name": "token", "auth_data": b"abuse"}},
    _T.SEND: {"producer_id": 1, "sequence_id": 1},
}

METADATA: dict[str, Any] = {"producer_name": "p", "sequence_id": 1, "publish_time": 1_700_000_000_000}


@dataclass(frozen=True, slots=True)
class WireInput:
    """The result of `make` is sent on its own connection, after the prelude if `prepared`."""

    name: str
    make: Callable[[], bytes]
    prepared: bool = True


def prelude() -> bytes:
    """For a connection with a producer 1: a Shared consumer, also with ID 1, and three messages."""
    hold = client_commands.subscribe(2, TOPIC, "wire", 1, sub_type=pb.CommandSubscribe.Shared)
    return hold + client_commands.flow(1, 10) + b"".join(send(n) for n in range(3))


def table() -> Iterator[WireInput]:
    """Every field of every command, and of the metadata of a message, with every hostile value of its type."""
    for kind, example in EXAMPLES.items():
        for what, fields in _variants(_body(kind).DESCRIPTOR, example):
            yield _input(kind, what, fields)
    for what, fields in _variants(pb.MessageMetadata.DESCRIPTOR, METADATA):
        yield WireInput(f"SEND metadata {what}", partial(send_with, fields))
    for field, encoded in itertools.groupby(tails(), lambda one: one[0].partition(":")[0]):
        yield WireInput(
            f"SEND metadata encoded in every way, {field}", partial(_each_last, [tail for _, tail in encoded])
        )
    yield from special()


def generated(chance: random.Random) -> WireInput:
    """Any command of the protocol, served or not, with values for several of its fields."""
    kind = chance.choice(list(EXAMPLES) * 3 + [number for number in _T.Type.values() if _body_exists(number)])
    fields, names = dict(EXAMPLES.get(kind, {})), []
    known = list(_body(kind).DESCRIPTOR.fields)
    for field in chance.sample(known, k=chance.randint(0, len(known))):
        what, value = chance.choice(list(_values(field)))
        fields[field.name] = value
        names.append(f"{field.name}={what}")
    return _input(kind, " ".join(names) or "as it is", fields)


def _variants(descriptor: Any, example: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "as it is", example
    for field in descriptor.fields:
        for what, value in _values(field):
            yield f"{field.name}={what}", {**example, field.name: value}
        if field.name in example:
            yield f"{field.name}=absent", {key: value for key, value in example.items() if key != field.name}


def _values(field: FieldDescriptor, *, inner: bool = False) -> Iterator[tuple[str, Any]]:
    """Hostile values of one field. A repeated field is also empty or long. Nested messages vary one level deep."""
    repeated = is_repeated(field)
    for what, value in _single(field, inner):
        yield what, [value] if repeated else value
    if repeated:
        yield "none", []
        yield "many", [_default(field)] * (MANY if field.message_type is None else MANY // 5)


_WHOLE = {
    FieldDescriptor.TYPE_INT32: (0, 1, -1, 2**31 - 1, -(2**31)),
    FieldDescriptor.TYPE_UINT32: (0, 1, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (0, 1, -1, 2**63 - 1, -(2**63)),
    FieldDescriptor.TYPE_UINT64: (0, 1, 2**63 - 1, 2**63, 2**64 - 1),
    FieldDescriptor.TYPE_BOOL: (False, True),
    FieldDescriptor.TYPE_DOUBLE: (0.0, -1.0, float("nan"), float("inf")),
    FieldDescriptor.TYPE_FLOAT: (0.0, float("nan")),
}
_TEXTS = {
    "empty": "",
    "blank": " ",
    "not-utf8": NOT_UTF8_STAND_IN.decode(),
    "nul": "a\0b",
    "line-ends": "a\r\nX-Injected: 1",
    "bidi": "\u202ea",
    "long": "x" * 4_000_000,
    "slashes": "/" * 10_000,
    "url": "persistent://",
    "four-parts": "persistent://a/b/c/d",
    "partition": f"{TOPIC}-partition-{2**70}",
    "brackets": "(" * 50_000,
    "pattern": "(x+x+)+y" * 100,
}
_BYTES = {"empty": b"", "zeros": b"\0" * 1000, "long": b"\xff" * 4_000_000}


def _single(field: FieldDescriptor, inner: bool) -> Iterator[tuple[str, Any]]:
    if field.message_type is not None:
        yield "shortest", _default(field)
        for part in () if inner else field.message_type.fields:
            for what, value in _values(part, inner=True):
                yield f"{part.name}:{what}", {**_default(field), part.name: value}
    elif field.enum_type is not None:
        yield from ((str(one.name), one.number) for one in field.enum_type.values)
    elif field.type == FieldDescriptor.TYPE_STRING:
        yield from _TEXTS.items()
    elif field.type == FieldDescriptor.TYPE_BYTES:
        yield from _BYTES.items()
    else:
        yield from ((str(value), value) for value in _WHOLE[field.type])


def _default(field: FieldDescriptor) -> Any:
    if field.message_type is not None:
        return {one.name: _default(one) for one in field.message_type.fields if is_required(one)}
    if field.enum_type is not None:
        return field.enum_type.values[0].number
    return {FieldDescriptor.TYPE_STRING: "x", FieldDescriptor.TYPE_BYTES: b"x"}.get(field.type, 1)


def _body_exists(kind: int) -> bool:
    return kind in _T.DESCRIPTOR.fields_by_number


def _body(kind: int) -> Any:
    """The message of a command. Its field number in BaseCommand equals its type."""
    return getattr(_T(), _T.DESCRIPTOR.fields_by_number[kind].name)


def _message(message: Any, fields: dict[str, Any]) -> Any:
    for name, value in fields.items():
        if isinstance(value, dict):
            part: Message = _message(getattr(message, name), value)
            part.SetInParent()
        elif isinstance(value, list):
            _extend(getattr(message, name), value)
        else:
            setattr(message, name, value)
    return message


def _extend(container: Any, values: list[Any]) -> None:
    for value in values:
        if isinstance(value, dict):
            _message(container.add(), value)
        else:
            container.append(value)


def _command(kind: int, fields: dict[str, Any]) -> _T:
    command = _T(type=kind)  # type: ignore[arg-type]  # enum fields take plain numbers
    name = _T.DESCRIPTOR.fields_by_number[kind].name
    _message(getattr(command, name), fields).SetInParent()
    return command


def _cut(command: _T, entry: bytes = b"") -> bytes:
    """Encodes a frame, even if required fields are missing or text is not UTF-8."""
    encoded = _encoded(command)
    return SIZES.pack(4 + len(encoded) + len(entry), len(encoded)) + encoded + entry


def _encoded(message: Message) -> bytes:
    return message.SerializePartialToString().replace(NOT_UTF8_STAND_IN, NOT_UTF8)


def _input(kind: int, what: str, fields: dict[str, Any]) -> WireInput:
    name = f"{_T.Type.Name(kind)} {what}"  # type: ignore[arg-type]  # enum values are ints here
    return WireInput(name, partial(_built, kind, fields), prepared=kind != _T.CONNECT)


def _built(kind: int, fields: dict[str, Any]) -> bytes:
    entry = build_entry(pb.MessageMetadata(**METADATA), b"x" * 20) if kind == _T.SEND else b""
    return _cut(_command(kind, fields), entry)


def send_with(metadata: dict[str, Any], payload: bytes = b"payload") -> bytes:
    """A SEND of producer 1 with this metadata, whose text may be invalid UTF-8."""
    return _raw_entry(_encoded(_message(pb.MessageMetadata(), metadata)), payload)


# Inputs that once took seconds or gigabytes, and those that vary more than one field.


def special() -> Iterator[WireInput]:
    return (WireInput(name, make, prepared) for name, (make, prepared) in SPECIAL.items())


def _sticky(ranges: int, consumer_id: int = 2) -> bytes:
    step = 65_536 // ranges
    parts = [{"start": n * step, "end": n * step + step - 1} for n in range(ranges)]
    fields = {
        **EXAMPLES[_T.SUBSCRIBE],
        "subscription": "sticky",
        "subType": pb.CommandSubscribe.Key_Shared,
        "consumer_id": consumer_id,
        "keySharedMeta": {"keySharedMode": pb.STICKY, "hashRanges": parts},
    }
    return _cut(_command(_T.SUBSCRIBE, fields))


def _schema(definition: bytes | str) -> bytes:
    data = definition.encode() if isinstance(definition, str) else definition
    schema = {"name": "s", "schema_data": data, "type": pb.Schema.Avro}
    return _cut(_command(_T.GET_OR_CREATE_SCHEMA, {**EXAMPLES[_T.GET_OR_CREATE_SCHEMA], "schema": schema}))


def _union(count: int, doc: str = "") -> bytes:
    field = {"name": "f", "type": "string"}
    records = [{"type": "record", "name": f"R{n}", "fields": [field], "doc": doc} for n in range(count)]
    return _schema(json.dumps({"type": "record", "name": "U", "fields": [{"name": "u", "type": records}]}))


def _many_acks(count: int, batch_index: int) -> bytes:
    ids = [{"ledgerId": 1, "entryId": n, "batch_index": batch_index, "batch_size": 2**31 - 1} for n in range(count)]
    return _cut(_command(_T.ACK, {**EXAMPLES[_T.ACK], "message_id": ids}))


def _ack_set(words: int) -> bytes:
    ids = [{"ledgerId": 1, "entryId": 0, "ack_set": [-1] * words, "batch_size": 2**31 - 1}]
    return _cut(_command(_T.ACK, {**EXAMPLES[_T.ACK], "message_id": ids}))


def _lookup(name: str) -> bytes:
    return client_commands.lookup(9, f"persistent://abuse/wire/{name}")


def _sends(metadata: dict[str, Any], messages: int, unknown_fields: bytes = b"") -> bytes:
    encoded = pb.MessageMetadata(**METADATA, **metadata).SerializeToString() + unknown_fields
    return _raw_entry(encoded, num_messages=messages)


def _raw_entry(metadata: bytes, payload: bytes = b"payload", **fields: Any) -> bytes:
    entry = add_checksum(len(metadata).to_bytes(4, "big") + metadata + payload)
    return _cut(_command(_T.SEND, {**EXAMPLES[_T.SEND], **fields}), entry)


def _each_last(tails: list[bytes]) -> bytes:
    """Messages whose metadata ends with each of the tails, and after each a question about the last message."""
    question = client_commands.get_last_message_id(1, 9)
    return b"".join(_raw_entry(first_fields(1) + tail) + question for tail in tails)


def _ping() -> bytes:
    return frame(_T(type=_T.PING, ping=pb.CommandPing()))


# Name -> how it is made, and whether it follows the prelude.
SPECIAL: dict[str, tuple[Callable[[], bytes], bool]] = {
    "SUBSCRIBE twice, 16,000 sticky ranges": (lambda: _sticky(16_000) + _sticky(16_000, 3), True),
    "SUBSCRIBE twice, 500 sticky ranges": (lambda: _sticky(500) + _sticky(500, 3), True),
    "GET_OR_CREATE_SCHEMA union of 4,000 records, twice": (lambda: _union(4_000) + _union(4_000, "twice"), True),
    "GET_OR_CREATE_SCHEMA union of 300 records, twice": (lambda: _union(300) + _union(300, "twice"), True),
    "GET_OR_CREATE_SCHEMA 2,000 deep": (lambda: _schema(b"[" * 2_000 + b'"int"' + b"]" * 2_000), True),
    "GET_OR_CREATE_SCHEMA of 4 MB": (lambda: _schema(json.dumps({"type": "enum", "doc": "x" * 4_000_000})), True),
    "ACK 2 MB of message ids": (lambda: _many_acks(150_000, 1), True),
    "ACK the last batch index there can be": (lambda: _many_acks(1, 2**31 - 1), True),
    "ACK an ack set of 400,000 words": (lambda: _ack_set(400_000), True),
    "LOOKUP 1,000 in one write": (lambda: b"".join(_lookup(f"many-{n}") for n in range(1_000)), True),
    "LOOKUP ten names of 4 MB": (lambda: b"".join(_lookup(f"{n}" + "x" * 4_000_000) for n in range(10)), True),
    "SEND that counts 2^31-1 messages": (lambda: _sends({"num_messages_in_batch": 2**31 - 1}, 2**31 - 1), True),
    "SEND with an unknown compression": (lambda: _sends({}, 1, b"\x40\x7f"), True),
    "SEND with metadata that is none": (lambda: _raw_entry(b"\xff" * 30), True),
    "SEND 1,000 messages of nothing": (lambda: b"".join(send(n, b"") for n in range(1_000)), True),
    "frame of 4 GB announced": (lambda: b"\xff\xff\xff\xff" * 4, False),
    "frame shorter than its command": (lambda: SIZES.pack(8, 2**31) + b"x" * 8, False),
    "frame of nothing, 1,000 times": (lambda: b"\0\0\0\0" * 1_000, False),
    "HTTP on the binary port": (lambda: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", False),
    "CONNECT again": (lambda: client_commands.connect("again") * 100, False),
    "PING 10,000 in one write": (lambda: _ping() * 10_000, False),
}
