"""What the metadata of a stored message says of batches and chunks, without parsing the rest of it.

The metadata may have thousands of properties, and to parse them takes milliseconds; protobuf only skips unknown fields.
Their validity was checked when the message was published (`send_metadata`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.message import DecodeError

from broker_core.wire.pulsar_api_pb2 import MessageMetadata

FIELDS = ("num_messages_in_batch", "uuid", "num_chunks_from_msg", "chunk_id")


@cache
def _message_class() -> Any:
    """Made at its first use: these modules would only lengthen the start."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    file = FileDescriptorProto(name="batch_and_chunk.proto", package="pulsarctl.wire")
    message = file.message_type.add(name="BatchAndChunk")
    for name in FIELDS:
        field = MessageMetadata.DESCRIPTOR.fields_by_name[name]
        label = FieldDescriptorProto.LABEL_OPTIONAL
        message.field.add(name=name, number=field.number, type=field.type, label=label)
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("pulsarctl.wire.BatchAndChunk"))


def batch_and_chunk(encoded: bytes) -> Any | None:
    """A message with `FIELDS` of `MessageMetadata`, or None if the bytes cannot be parsed."""
    try:
        return _message_class().FromString(encoded)
    except DecodeError:
        return None
