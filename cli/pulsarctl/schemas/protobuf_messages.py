"""The descriptor of a Protobuf schema (PROTOBUF_NATIVE), as a producer registered it, for all that decode values."""

import base64
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import Error as NoJson
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from pulsarctl.errors import DoesNotFit

Value = TypeVar("Value")


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


def message_reader(root: Descriptor, shown: Callable[[Message], Value]) -> Callable[[bytes], Value]:
    """A decoder of payloads. It raises `DoesNotFit`, also for what `shown` cannot show.

    An `Any` may have a type that the schema lacks, and a time may be in no year.
    """
    try:
        parse = GetMessageClass(root).FromString
    except RecursionError as error:
        raise DoesNotFit("its messages are nested too deeply") from error

    def read(data: bytes) -> Value:
        try:
            return shown(parse(data))
        except DecodeError as error:
            raise DoesNotFit(f"the bytes are not a {root.full_name}: {error}") from error
        except (NoJson, ValueError, TypeError, AttributeError) as error:
            raise DoesNotFit(f"cannot show a {root.full_name}: {error}") from error

    return read
