"""The descriptor of a Protobuf schema (PROTOBUF_NATIVE), as a producer registered it, for all that decode values."""

import base64
from graphlib import CycleError, TopologicalSorter
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from pulsarctl.errors import DoesNotFit


def root_message(definition: Any) -> Descriptor:
    """`definition` is the schema as the admin API returns it. Raises `DoesNotFit` if it describes no root message."""
    try:
        data = base64.b64decode(definition["fileDescriptorSet"])
        pool = DescriptorPool()
        files = {file.name: file for file in FileDescriptorSet.FromString(data).file}
        for name in TopologicalSorter({name: file.dependency for name, file in files.items()}).static_order():
            if name in files:  # an import that is missing is an error of the file that needs it
                pool.Add(files[name])
        return pool.FindMessageTypeByName(definition["rootMessageTypeName"])
    except CycleError as error:
        raise DoesNotFit("not a Protobuf schema (its files import each other)") from error
    except (KeyError, TypeError, ValueError, DecodeError) as error:
        raise DoesNotFit(f"not a Protobuf schema ({type(error).__name__}: {error})") from error
