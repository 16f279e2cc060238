"""The headers of the pages of a tier file, checked before Arrow decodes the pages.

A page says how large it becomes, and Arrow believes it: a page of a kilobyte may say gigabytes. A dictionary, or a
value that repeats a part of the one before, becomes larger still. `tier_file_writer` writes neither.
"""

from __future__ import annotations

from typing import Any

DATA, DICTIONARY, DATA_V2 = 5, 7, 8  # IDs of the structs in PageHeader of parquet.thrift
PLAIN = 0  # a value of its enum Encoding
_DATA_PAGE = 0  # a value of its enum PageType
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 12
_NUMBERS = (_I16, _I32, _I64)
_DEEPEST = 8
_LONGEST_NUMBER = 70  # bits of a varint

Struct = dict[int, Any]  # by the ID of the field; other kinds than numbers and structs are left out


def check_pages(chunk: memoryview, values: int, size: int) -> None:
    """Raises ValueError unless `chunk` is plain data pages of `values` values, at most `size` bytes decompressed."""
    at = seen = decompressed = 0
    while seen < values:
        header, at = page_header(chunk, at)
        data = header.get(DATA, {})
        whole, stored, count = header.get(2, 0), header.get(3, 0), data.get(1, 0)
        if (header.get(1), data.get(2)) != (_DATA_PAGE, PLAIN) or min(whole, stored, count) <= 0:
            raise ValueError("a page is not one that an offload writes")
        at, seen, decompressed = at + stored, seen + count, decompressed + whole
        if at > len(chunk) or seen > values or decompressed > size:
            raise ValueError("a page is larger than its row group")


def page_header(data: bytes | memoryview, at: int) -> tuple[Struct, int]:
    """The header of the page at that offset, by the IDs of parquet.thrift, and its end. Raises ValueError."""
    compact = _Compact(data, at)
    try:
        header = compact.struct()
    except IndexError:
        raise CutOff("the header of a page is cut off") from None
    _check_types(header)
    return header, compact.at


def _check_types(header: Struct) -> None:
    """Raises ValueError unless the fields that are read have the types of parquet.thrift."""
    structs = [header.get(number, {}) for number in (DATA, DICTIONARY, DATA_V2)]
    numbers = [header.get(number, 0) for number in (1, 2, 3)]
    if all(isinstance(struct, dict) for struct in structs):
        numbers += [struct.get(number, 0) for struct in structs for number in (1, 2, 4)]
        if all(isinstance(number, int) for number in numbers):
            return
    raise ValueError("a field in the header of a page has another type")


class CutOff(ValueError):
    pass


class _Compact:
    """Thrift's compact protocol, as far as headers use it."""

    def __init__(self, data: bytes | memoryview, at: int) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int = 0) -> Struct:
        members: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            members[number] = self._value(head & 15, depth)
        return members

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _NUMBERS:
            return self._number()
        if kind == _STRUCT and depth < _DEEPEST:
            return self.struct(depth + 1)
        if kind in (_BYTE, _DOUBLE, _BINARY):
            length = {_BYTE: 1, _DOUBLE: 8}.get(kind) or self._varint()  # which moves `at`
            self.at += length
        elif kind not in (_TRUE, _FALSE):
            raise ValueError("the header of a page is not one that an offload writes")
        return None

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = 0
        for shift in range(0, _LONGEST_NUMBER, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number in the header of a page is too long")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]
