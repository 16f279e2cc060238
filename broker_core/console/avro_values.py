"""Reads a value in Avro's binary encoding, with a bound on its work. Pure.

The schema and the bytes come from producers. An array of a type without bytes could have 2**60 elements, and a record
can contain itself. So each value costs a step, and a reader has a limited number of steps and of levels.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from broker_core.metadata.schema.avro import AvroType

STEPS_MAX = 5_000
DEPTH_MAX = 60


class Unreadable(Exception):
    """The bytes are not a value of the schema; `str(error)` says why."""


def read_avro(schema: AvroType, data: bytes) -> Any:
    """The value as JSON has it; bytes become hexadecimal text. Raises `Unreadable`."""
    reader = _Reader(data)
    value = reader.value(schema, 0)
    if reader.position != len(data):
        raise Unreadable(f"{len(data) - reader.position} bytes follow the value")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._steps = STEPS_MAX
        self.position = 0

    def value(self, schema: AvroType, depth: int) -> Any:
        self._steps -= 1
        if self._steps < 0 or depth > DEPTH_MAX:
            raise Unreadable("the value is too large to show")
        scalar = _SCALARS.get(schema.kind)
        if scalar is not None:
            return scalar(self)
        return _COMPOUND[schema.kind](self, schema, depth + 1)

    def take(self, size: int) -> bytes:
        end = self.position + size
        if size < 0 or end > len(self._data):
            raise Unreadable("the value is cut short")
        taken, self.position = self._data[self.position : end], end
        return taken

    def long(self) -> int:
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (number >> 1) ^ -(number & 1)
            shift += 7
            if shift > 63:
                raise Unreadable("a number has more than 64 bits")

    def text(self) -> str:
        return self.take(self.long()).decode(errors="replace")

    def record(self, schema: AvroType, depth: int) -> dict[str, Any]:
        return {field.name: self.value(field.type, depth) for field in schema.fields}

    def union(self, schema: AvroType, depth: int) -> Any:
        return self.value(self._chosen(schema.branches), depth)

    def enum(self, schema: AvroType, _depth: int) -> str:
        return str(self._chosen(schema.symbols))

    def fixed(self, schema: AvroType, _depth: int) -> str:
        return self.take(schema.size).hex()

    def array(self, schema: AvroType, depth: int) -> list[Any]:
        assert schema.items is not None
        return [self.value(schema.items, depth) for _ in self._blocks()]

    def map(self, schema: AvroType, depth: int) -> dict[str, Any]:
        assert schema.items is not None
        return {self.text(): self.value(schema.items, depth) for _ in self._blocks()}

    def _chosen(self, choices: Any) -> Any:
        index = self.long()
        if not 0 <= index < len(choices):
            raise Unreadable("a choice is out of range")
        return choices[index]

    def _blocks(self) -> Any:
        """Yield once for each element. A negative count is followed by the size of its block."""
        while count := self.long():
            if count < 0:
                count = -count
                self.long()
            for _ in range(count):
                yield None


def _packed(form: str) -> Callable[[_Reader], Any]:
    packed = struct.Struct(form)
    return lambda reader: packed.unpack(reader.take(packed.size))[0]


_SCALARS: dict[str, Callable[[_Reader], Any]] = {
    "null": lambda _: None,
    "boolean": _packed("<?"),
    "int": _Reader.long,
    "long": _Reader.long,
    "float": _packed("<f"),
    "double": _packed("<d"),
    "bytes": lambda reader: reader.take(reader.long()).hex(),
    "string": _Reader.text,
}
_COMPOUND: dict[str, Callable[[_Reader, AvroType, int], Any]] = {
    "record": _Reader.record,
    "error": _Reader.record,
    "union": _Reader.union,
    "enum": _Reader.enum,
    "fixed": _Reader.fixed,
    "array": _Reader.array,
    "map": _Reader.map,
}
