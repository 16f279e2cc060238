"""A writer's schema under the names that its reader uses (Avro specification, "Aliases"). Pure."""

from __future__ import annotations

import dataclasses

from broker_core.metadata.schema.avro import AvroType, InvalidAvro
from broker_core.metadata.schema.avro_identity import canonical_text


def renamed(writer: AvroType, reader: AvroType) -> AvroType:
    """The writer's schema, in which each type and field that is an alias of the reader's gets the reader's name.

    The same schema is its own reader, whatever its aliases.
    Raises `InvalidAvro` if two names of the writer become the same.
    """
    names = _Names()
    names.collect(reader)
    if not names.types and not names.fields:
        return writer
    if canonical_text(writer) == canonical_text(reader):  # compared last, because it takes longest
        return writer
    return names.apply(writer)


class _Names:
    """`types`: alias -> name; `fields`: name of a record -> alias of a field -> its name."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}
        self.fields: dict[str, dict[str, str]] = {}
        self._collected: set[int] = set()
        self._applied: dict[int, AvroType] = {}

    def collect(self, reader: AvroType) -> None:
        if reader.name:
            if id(reader) in self._collected:
                return
            self._collected.add(id(reader))
            self.types.update(dict.fromkeys(reader.aliases, reader.name))
        for field in reader.fields:
            for alias in field.aliases:
                self.fields.setdefault(reader.name, {})[alias] = field.name
            self.collect(field.type)
        for part in (*reader.branches, *([reader.items] if reader.items else [])):
            self.collect(part)

    def apply(self, writer: AvroType) -> AvroType:
        if id(writer) in self._applied:
            return self._applied[id(writer)]
        result = dataclasses.replace(writer, name=self.types.get(writer.name, writer.name))
        if writer.kind == "record":
            self._applied[id(writer)] = result  # before its fields, which may be of its own type
            self._apply_to_fields(result)
        elif writer.items is not None:
            result.items = self.apply(writer.items)
        elif writer.branches:
            result.branches = [self.apply(branch) for branch in writer.branches]
            _check_distinct([branch.full_name for branch in result.branches])
        return result

    def _apply_to_fields(self, record: AvroType) -> None:
        names = self.fields.get(record.name, {})
        record.fields = [
            dataclasses.replace(field, name=names.get(field.name, field.name), type=self.apply(field.type))
            for field in record.fields
        ]
        _check_distinct([field.name for field in record.fields])


def _check_distinct(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise InvalidAvro(f"aliases give one name twice: {', '.join(names)}")
