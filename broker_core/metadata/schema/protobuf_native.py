"""The definition of a PROTOBUF_NATIVE schema: JSON around a protobuf `FileDescriptorSet`. Pure.

{"fileDescriptorSet": <base64>, "rootMessageTypeName": "pkg.Message", "rootFileDescriptorName": "message.proto"}
"""

from __future__ import annotations

import base64
import json

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from broker_core.errors import InvalidSchema


def root_message(data: bytes) -> str:
    """The full name of the root message. Raises `InvalidSchema` if the definition is incomplete or invalid."""
    try:
        document = json.loads(data)
        files = FileDescriptorSet.FromString(base64.b64decode(document["fileDescriptorSet"], validate=True)).file
        root = next(file for file in files if file.name == document["rootFileDescriptorName"])
        pool = _pool({file.name: file for file in files}, root)
        name = _within(root.package, document["rootMessageTypeName"])
        return str(pool.FindMessageTypeByName(name).full_name)
    except (ValueError, KeyError, TypeError, StopIteration, DecodeError, RecursionError) as error:
        raise InvalidSchema(f"deserialize ProtobufNative Schema failed: {error}") from None


def _pool(files: dict[str, FileDescriptorProto], root: FileDescriptorProto) -> DescriptorPool:
    """A pool of the root file and all files that it imports; a missing file is a `KeyError`."""
    pool, added = DescriptorPool(), set[str]()

    def add(file: FileDescriptorProto) -> None:
        for imported in file.dependency:
            if imported not in added:
                add(files[imported])
        pool.Add(file)
        added.add(file.name)

    add(root)
    return pool


def _within(package: str, name: str) -> str:
    return name if not package or name.startswith(f"{package}.") else f"{package}.{name}"
