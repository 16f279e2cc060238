"""The reader of fastavro that is safe for messages and files, whose writer chooses both the schema and the bytes.

The fast one is in C. It follows a record that contains itself as deeply as the message says, and ends the process; the
one in Python raises `RecursionError`. Both make as many items of an array as its count says, so each must take a byte.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import fastavro
from fastavro import _read_py  # the public name is that of the reader in C

from pulsarctl.errors import DoesNotFit
from pulsarctl.schemas.avro_blocks import check_blocks
from pulsarctl.values.json_text import parse_json

UNREADABLE = (EOFError, ValueError, IndexError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a reader and the conversion of its values raise about bytes that do not match their schema."""


def safe_reader(schema: Any, named: dict[str, Any]) -> Callable[..., Any]:
    """`fastavro.schemaless_reader`, or as it. `named`: the types of the parsed schema. Raises `DoesNotFit`."""
    types = _Types(named)
    types.take_bytes(schema)
    return _read_py.schemaless_reader if types.are_recursive else fastavro.schemaless_reader


def safe_records(file: BinaryIO) -> Iterator[Any]:
    """The records of an Avro file, which says itself what its schema is.

    Raises what is in `UNREADABLE`, and `MemoryError` for a length that no memory has.
    """
    named: dict[str, Any] = {}
    types = _Types(named)
    try:
        header = fastavro.reader(file)  # reads no record yet
        if not types.take_bytes(fastavro.parse_schema(parse_json(header.metadata["avro.schema"]), named)):
            raise ValueError("its rows have no bytes, so a block could have any number of them")
        check_blocks(file, header.metadata.get("avro.codec") or "null")
    except DoesNotFit as error:
        raise ValueError(error.message) from error
    except fastavro.schema.SchemaParseException as error:
        raise ValueError(f"not an Avro schema: {error}") from error
    file.seek(0)
    return iter(_read_py.reader(file) if types.are_recursive else fastavro.reader(file))


class _Types:
    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._known: dict[str, bool] = {}  # a record in which we are takes bytes, or it never ends
        self._inside: set[str] = set()
        self.are_recursive = False

    def take_bytes(self, schema: Any) -> bool:
        """Whether each value takes a byte. Raises `DoesNotFit` for an array of values that take none."""
        if isinstance(schema, list):
            for branch in schema:
                self.take_bytes(branch)
            return True
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        kind = schema["type"]
        if isinstance(kind, dict | list):
            return self.take_bytes(kind)
        if kind in ("record", "error"):
            return self._record_takes_bytes(schema)
        if kind == "array" and not self.take_bytes(schema["items"]):
            raise DoesNotFit("cannot read arrays of a type without bytes: a message could have any number of items")
        if kind == "map":
            self.take_bytes(schema["values"])
        return bool(kind != "null" and schema.get("size") != 0)

    def _record_takes_bytes(self, schema: Any) -> bool:
        name = schema["name"]
        if name in self._inside:
            self.are_recursive = True
        if name not in self._known:
            self._known[name] = True
            self._inside.add(name)
            fields_take_bytes = [self.take_bytes(field["type"]) for field in schema["fields"]]
            self._known[name] = any(fields_take_bytes)
            self._inside.remove(name)
        return self._known[name]
