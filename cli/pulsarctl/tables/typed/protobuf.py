"""A Protobuf descriptor (PROTOBUF_NATIVE) -> a shape.

Fields with presence are null if they are not set, enums are their names, and unsigned 64-bit numbers are decimals. A
message that contains itself, or has no fields, is JSON text.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message

from broker_core.wire.texts import is_repeated
from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.protobuf_messages import message_reader, root_message
from pulsarctl.tables.typed.shape import ColumnType, Convert, Fields

Get = Callable[[Message], Any]

_TYPES: dict[int, pa.DataType] = {
    FieldDescriptor.CPPTYPE_INT32: pa.int32(),
    FieldDescriptor.CPPTYPE_INT64: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT32: pa.int64(),
    FieldDescriptor.CPPTYPE_UINT64: pa.decimal128(20, 0),
    FieldDescriptor.CPPTYPE_DOUBLE: pa.float64(),
    FieldDescriptor.CPPTYPE_FLOAT: pa.float32(),
    FieldDescriptor.CPPTYPE_BOOL: pa.bool_(),
    FieldDescriptor.CPPTYPE_ENUM: pa.string(),
}


def protobuf(definition: Any) -> ColumnType:
    """Raises `DoesNotFit` if the definition has no descriptor of the root message."""
    root = root_message(definition)
    try:
        arrow, get = _message(root, Fields())
    except RecursionError as error:
        raise DoesNotFit("its messages are nested too deeply") from error
    return ColumnType(arrow, message_reader(root, get))


def _message(descriptor: Descriptor, counted: Fields) -> tuple[pa.DataType, Get]:
    if not descriptor.fields or _contains_itself(descriptor):
        return pa.string(), _json_text
    counted.add(len(descriptor.fields))
    fields = [(field.name, *_field(field, counted)) for field in descriptor.fields]
    getters = [(name, get) for name, _, get in fields]
    return pa.struct([(name, kind) for name, kind, _ in fields]), lambda message: {
        name: get(message) for name, get in getters
    }


def _json_text(message: Message) -> str:
    pool: Any = message.DESCRIPTOR.file.pool
    return MessageToJson(message, preserving_proto_field_name=True, indent=None, descriptor_pool=pool)


def _contains_itself(descriptor: Descriptor) -> bool:
    seen: set[str] = set()
    waiting = [field.message_type for field in descriptor.fields if field.message_type]
    while waiting:
        message_type = waiting.pop()
        if message_type.full_name == descriptor.full_name:
            return True
        if message_type.full_name not in seen:
            seen.add(message_type.full_name)
            waiting += [field.message_type for field in message_type.fields if field.message_type]
    return False


def _field(field: FieldDescriptor, counted: Fields) -> tuple[pa.DataType, Get]:
    name = field.name
    if field.message_type and field.message_type.GetOptions().map_entry:
        key_type, key = _value(field.message_type.fields_by_name["key"], counted)
        item_type, item = _value(field.message_type.fields_by_name["value"], counted)
        return pa.map_(key_type, item_type), lambda message: [
            (key(item_key), item(item_value)) for item_key, item_value in getattr(message, name).items()
        ]
    kind, convert = _value(field, counted)
    if is_repeated(field):
        return pa.list_(kind), lambda message: [convert(item_key) for item_key in getattr(message, name)]
    if field.has_presence:
        return kind, lambda message: convert(getattr(message, name)) if message.HasField(name) else None
    return kind, lambda message: convert(getattr(message, name))


def _value(field: FieldDescriptor, counted: Fields) -> tuple[pa.DataType, Convert]:
    if field.message_type:
        return _message(field.message_type, counted)
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        return (pa.binary(), _same) if field.type == FieldDescriptor.TYPE_BYTES else (pa.string(), _text)
    if field.enum_type:
        values = field.enum_type.values_by_number  # if a number has two names, the first one counts
        return pa.string(), lambda number: values[number].name if number in values else str(number)
    return _TYPES[field.cpp_type], Decimal if field.cpp_type == FieldDescriptor.CPPTYPE_UINT64 else _same


def _same(value: Any) -> Any:
    return value


def _text(value: str | bytes) -> str:
    """Text of proto2 that is not UTF-8 is bytes here; it is read as Java reads it."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")
