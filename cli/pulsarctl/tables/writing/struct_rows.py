"""A struct as a record of Avro: its definition, and its rows as an encoder of JSON or of Avro takes them.

Values are made column by column, from the type that each part has in Arrow: a map looks like a list of pairs in Python,
and a time has more digits in Arrow than in Python.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from pulsarctl.errors import UsageProblem
from pulsarctl.tables.writing.record_scalars import scalar_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # of Avro's specification


class Part(NamedTuple):
    """`rows` raises `UsageProblem` for a value that the Avro type cannot have. Null is None."""

    avro: Any
    rows: Callable[[pa.Array], Sequence[Any]]


def struct_rows(kind: pa.DataType, *, as_json: bool) -> Part:
    """`kind` is a struct: the column value. Raises `UsageProblem` for a type that Avro does not have."""
    return _Parts(as_json=as_json).of(kind, ("value",))


class _Parts:
    """The parts of one record. Every part but the record itself may be null."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._records: set[str] = set()

    def of(self, kind: pa.DataType, path: tuple[str, ...]) -> Part:
        if isinstance(kind, pa.BaseExtensionType):
            stored = self.of(kind.storage_type, path)
            return Part(stored.avro, lambda column: stored.rows(column.storage))
        if pa.types.is_dictionary(kind):
            decoded = self.of(kind.value_type, path)
            return Part(decoded.avro, lambda column: decoded.rows(column.dictionary_decode()))
        if pa.types.is_struct(kind):
            return self._record(kind, path)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return self._array(kind, path)
        if pa.types.is_fixed_size_list(kind):
            plain = self._array(pa.list_(kind.value_field), path)
            return Part(plain.avro, lambda column: plain.rows(column.cast(pa.list_(kind.value_field))))
        if pa.types.is_map(kind) and _is_text(kind.key_type):
            return self._map(kind, path)
        return self._scalar(kind, path)

    def _record(self, kind: pa.DataType, path: tuple[str, ...]) -> Part:
        names = [field.name for field in kind]
        _check_names(names, path)
        own_name = self._record_name("_".join(path))
        parts = [self.of(field.type, (*path, field.name)) for field in kind]
        fields = [
            {"name": name, "type": _nullable(part.avro), "default": None}
            for name, part in zip(names, parts, strict=True)
        ]

        def rows(column: pa.Array) -> Sequence[Any]:
            columns = [part.rows(values) for part, values in zip(parts, column.flatten(), strict=True)]
            found = zip(*columns, strict=True) if columns else [()] * len(column)
            records = (dict(zip(names, row, strict=True)) for row in found)
            return _where_valid(column, list(records))

        return Part({"type": "record", "name": own_name, "fields": fields}, rows)

    def _record_name(self, preferred: str) -> str:
        """Two records may not have one name, and a_b is a field b of a, or a field a_b."""
        name, number = preferred, 2
        while name in self._records:
            name, number = f"{preferred}_{number}", number + 1
        self._records.add(name)
        return name

    def _array(self, kind: pa.DataType, path: tuple[str, ...]) -> Part:
        item = self.of(kind.value_type, (*path, "item"))

        def rows(column: pa.Array) -> Sequence[Any]:
            first, last = _span(column)
            return _grouped(column, item.rows(column.values.slice(first, last - first)))

        return Part({"type": "array", "items": _nullable(item.avro)}, rows)

    def _map(self, kind: pa.DataType, path: tuple[str, ...]) -> Part:
        item = self.of(kind.item_type, (*path, "item"))

        def rows(column: pa.Array) -> Sequence[Any]:
            first, last = _span(column)
            keys = column.keys.slice(first, last - first).to_pylist()
            items = item.rows(column.items.slice(first, last - first))
            pairs = _grouped(column, list(zip(keys, items, strict=True)))
            return [None if values is None else _object(values, path) for values in pairs]

        return Part({"type": "map", "values": _nullable(item.avro)}, rows)

    def _scalar(self, kind: pa.DataType, path: tuple[str, ...]) -> Part:
        found = scalar_of(kind, as_json=self._as_json)
        if found is None:
            raise UsageProblem(f"cannot write {'.'.join(path)}: {kind} has no Avro type", hint="cast it to string")

        def rows(column: pa.Array) -> Sequence[Any]:
            try:
                return found.values(column)
            except pa.ArrowInvalid as error:
                reason = str(error).partition("\n")[0]
                raise UsageProblem(
                    f"cannot write {'.'.join(path)}: {reason}", hint="round it to microseconds, or cast it to string"
                ) from error

        return Part(found.avro, rows)


def _nullable(avro: Any) -> Any:
    return avro if avro == "null" else ["null", avro]


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _check_names(names: Sequence[str], path: tuple[str, ...]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise UsageProblem(
                f"cannot write {'.'.join((*path, name))}: it is not a name in Avro",
                hint="rename the field to letters, digits, and _",
            )
        if names.count(name) > 1:
            raise UsageProblem(f"cannot write {'.'.join((*path, name))}: two fields have this name", hint="rename one")


def _where_valid(column: pa.Array, rows: Sequence[Any]) -> Sequence[Any]:
    """None for each row that is null: its parts need not be."""
    if not column.null_count:
        return rows
    return [row if valid else None for row, valid in zip(rows, column.is_valid().to_pylist(), strict=True)]


def _span(column: pa.Array) -> tuple[int, int]:
    """The items of a list or a map that may be a slice: those of its rows only."""
    return column.offsets[0].as_py(), column.offsets[-1].as_py()


def _grouped(column: pa.Array, items: Sequence[Any]) -> Sequence[Any]:
    """The items of each row. `items` begins with the first one of the first row."""
    offsets = column.offsets.to_pylist()
    return _where_valid(column, [items[start - offsets[0] : end - offsets[0]] for start, end in pairwise(offsets)])


def _object(pairs: Sequence[tuple[str, Any]], path: tuple[str, ...]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageProblem(f"cannot write {'.'.join(path)}: a map has a key twice", hint="write a list of structs")
    return found
