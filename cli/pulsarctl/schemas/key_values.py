"""Pairs of a KEY_VALUE schema, as Pulsar's clients write them.

INLINE: the payload has key and value. SEPARATED: it has only the value, and the key is that of the message.
"""

import struct
from typing import Any

from pulsarctl.errors import DoesNotFit

SEPARATED = "SEPARATED"


def takes_key(info: dict[str, Any]) -> bool:
    """Whether the key of the message is a part of the pair. `info` is a `schemaInfo`."""
    return bool(info["type"] == "KEY_VALUE" and info["properties"].get("kv.encoding.type") == SEPARATED)


def part_info(info: dict[str, Any], part: str) -> dict[str, Any]:
    """The `schemaInfo` of the key or of the value. Raises `DoesNotFit` if there is none."""
    kind = info["properties"].get(f"{part}.schema.type", "BYTES")
    try:
        return {"type": kind, "schema": info["schema"][part], "properties": {}}
    except (KeyError, TypeError) as error:
        raise DoesNotFit(f"the schema of its pairs describes no {part}") from error


def join_pair(key: bytes | None, value: bytes | None) -> bytes:
    """A separated pair in the encoding of an inline one."""
    parts = [struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part for part in (key, value)]
    return b"".join(parts)


def split_pair(data: bytes) -> tuple[bytes | None, bytes | None]:
    """The key and the value of an inline pair. Raises `DoesNotFit`."""
    try:
        (key_size,) = struct.unpack_from(">i", data)
        middle = 4 + max(key_size, 0)
        (value_size,) = struct.unpack_from(">i", data, middle)
    except struct.error as error:
        raise DoesNotFit("it is not a key-value pair") from error
    if middle + 4 + max(value_size, 0) != len(data):
        raise DoesNotFit("the sizes of key and value do not match the bytes")
    return None if key_size < 0 else data[4:middle], None if value_size < 0 else data[middle + 4 :]
