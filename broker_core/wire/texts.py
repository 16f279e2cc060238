"""Text in the metadata of stored messages that is not UTF-8, which protobuf returns as bytes.

A producer's client wrote it, and it is too late to refuse it. So it is read as Java reads it: what cannot be decoded
becomes U+FFFD. In commands such text is refused (`bounds`).
"""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_Message = TypeVar("_Message", bound=Message)


def with_readable_texts(message: _Message) -> _Message:
    """The message itself, every text in it a `str`."""
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            _replace(message, field, value)
        elif field.message_type is not None:
            for part in value if is_repeated(field) else (value,):
                with_readable_texts(part)
    return message


def is_repeated(field: FieldDescriptor) -> bool:
    """Whether a field is a list. Older releases of protobuf have only the label, newer ones deprecate it."""
    if hasattr(field, "is_repeated"):
        return field.is_repeated
    return bool(field.label == FieldDescriptor.LABEL_REPEATED)  # type: ignore[attr-defined]  # the stubs know newer releases


def _replace(message: Message, field: FieldDescriptor, value: object) -> None:
    if type(value) is bytes:
        setattr(message, field.name, _text(value))
    elif is_repeated(field):
        texts = getattr(message, field.name)
        texts[:] = [_text(text) for text in texts]


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
