"""Whether data written with one Avro schema can be read with another (Avro specification, "Schema Resolution"). Pure.

Pulsar 4.0 uses the resolver of Apache Avro 1.11, and this module accepts what that one accepts. Both are more generous
than the specification in two ways: the names of records may differ, and an enum's reader may lack symbols of the
writer (reading such a symbol fails later).

A pair of records is resolved once; if it occurs again inside itself, it counts as readable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.metadata.schema.avro import NO_DEFAULT, AvroType, InvalidAvro
from broker_core.metadata.schema.avro_aliases import renamed
from broker_core.metadata.schema.avro_default import default_fits
from broker_core.metadata.schema.steps import STEPS_MAX, Steps, TooManySteps

RECORD_STEPS = 10  # two records take about ten times as long to compare as two primitives

# The other types that a reader of the key's type accepts.
PROMOTIONS: dict[str, frozenset[str]] = {
    "long": frozenset({"int"}),
    "float": frozenset({"int", "long"}),
    "double": frozenset({"int", "long", "float"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}


def why_unreadable(
    writer: AvroType, reader: AvroType, steps_max: int = STEPS_MAX, check: Steps | None = None
) -> str | None:
    """The first reason why `reader` cannot read what `writer` wrote, with the field's path; None if it can.

    More steps than `steps_max` count as unreadable. `check`: of all versions, which takes the steps, too.
    Raises `TooManySteps` if these are too many.
    """
    steps = Steps(steps_max)
    reason = _why_unreadable(writer, reader, steps, steps_max)
    if check is not None:
        check.take(steps.taken)
    return reason


def _why_unreadable(writer: AvroType, reader: AvroType, steps: Steps, steps_max: int) -> str | None:
    try:
        return _first_error(_Resolution(steps).resolve(renamed(writer, reader), reader), set())
    except InvalidAvro as error:
        return str(error)
    except RecursionError:
        return "the schema is nested too deeply"
    except TooManySteps:
        return f"the schemas are too large to compare: more steps than schemaMaxComparisons = {steps_max}"


@dataclass(slots=True, eq=False)
class _Action:
    """The way to read one pair of types: not at all (`error`), or by its parts, each under its field name."""

    error: str = ""
    parts: list[tuple[str, _Action]] = field(default_factory=list)


def _first_error(action: _Action, visited: set[int]) -> str | None:
    if action.error:
        return action.error
    if id(action) in visited:
        return None
    visited.add(id(action))
    for name, part in action.parts:
        error = _first_error(part, visited)
        if error is not None:
            return f"{name}: {error}" if name else error
    return None


class _Resolution:
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._records: dict[tuple[int, int], _Action] = {}
        self._names: dict[int, dict[str, AvroType]] = {}  # the branches of each union by name, by the id of the union

    def resolve(self, writer: AvroType, reader: AvroType) -> _Action:
        self._steps.take()
        if writer.kind == "union":
            return self._each_branch(writer, reader)
        if writer.kind == reader.kind:
            return self._same_kind(writer, reader)
        if reader.kind == "union":
            return self._into_union(writer, reader)
        if writer.kind in PROMOTIONS.get(reader.kind, ()):
            return _Action()
        return _mismatch(writer, reader)

    def _same_kind(self, writer: AvroType, reader: AvroType) -> _Action:
        if reader.kind == "record":
            return self._record(writer, reader)
        if reader.kind in ("array", "map"):
            return _Action(parts=[("", self.resolve(writer.element(), reader.element()))])
        if reader.kind in ("enum", "fixed"):
            if writer.short_name != reader.short_name:
                return _mismatch(writer, reader)
            if writer.size != reader.size:
                return _Action(f"{reader.name} has {writer.size} bytes, not {reader.size}")
        return _Action()

    def _each_branch(self, writer: AvroType, reader: AvroType) -> _Action:
        """A union's data can be read if the data of each of its types can."""
        if reader.kind == "union" and _equivalent(writer, reader, set(), self._steps):
            return _Action()
        return _Action(parts=[("", self.resolve(branch, reader)) for branch in writer.branches])

    def _into_union(self, writer: AvroType, reader: AvroType) -> _Action:
        branch = self._matching_branch(writer, reader)
        if branch is None:
            return _Action(f"the union of the reader has no {writer.full_name}")
        return _Action(parts=[("", self.resolve(writer, branch))])

    def _matching_branch(self, writer: AvroType, reader: AvroType) -> AvroType | None:
        """The branch of the same type (a named one by its full name), else a record that fits, else a promotion."""
        self._steps.take()
        named = self._names_in(reader).get(writer.full_name)
        if named is not None and named.kind == writer.kind:
            return named
        self._steps.take(len(reader.branches))
        fitting: AvroType | None = None
        for branch in [option for option in reader.branches if option.kind == writer.kind]:
            closer = fitting is None or branch.short_name == writer.short_name
            if closer and branch.kind == "record" and self._fits(writer, branch):
                fitting = branch
        if fitting is not None:
            return fitting
        promoted = (option for option in reader.branches if writer.kind in PROMOTIONS.get(option.kind, ()))
        return next(promoted, None)

    def _names_in(self, union: AvroType) -> dict[str, AvroType]:
        names = self._names.get(id(union))
        if names is None:
            names = self._names[id(union)] = {branch.full_name: branch for branch in union.branches}
        return names

    def _fits(self, writer: AvroType, reader: AvroType) -> bool:
        """As in Java's resolver, a record in a union is compared only by itself and its own fields, not deeper."""
        action = self._record(writer, reader)
        return not action.error and not any(part.error for _, part in action.parts)

    def _record(self, writer: AvroType, reader: AvroType) -> _Action:
        pair = (id(writer), id(reader))
        if pair in self._records:
            return self._records[pair]
        self._steps.take(RECORD_STEPS)
        action = self._records[pair] = _Action()  # before its fields, which may hold the same pair
        readers = reader.fields_by_name()
        for written in writer.fields:
            read = readers.get(written.name)
            if read is not None:
                action.parts.append((f"{reader.short_name}.{read.name}", self.resolve(written.type, read.type)))
        reason = _unfilled_field(writer, reader, self._steps)
        if reason:
            self._records[pair] = action = _Action(reason)
        return action


def _unfilled_field(writer: AvroType, reader: AvroType, steps: Steps) -> str:
    written = writer.fields_by_name()
    for read in reader.fields:
        if read.name in written:
            continue
        if read.default is NO_DEFAULT:
            return f"{reader.short_name}.{read.name} was not written and has no default"
        if not default_fits(read.type, read.default, steps):
            return f"the default of {reader.short_name}.{read.name} is not a valid {read.type.full_name}"
    return ""


def _mismatch(writer: AvroType, reader: AvroType) -> _Action:
    return _Action(f"{writer.full_name} cannot be read as {reader.full_name}")


def _equivalent(writer: AvroType, reader: AvroType, seen: set[tuple[int, int]], steps: Steps) -> bool:
    """Whether two types have the same shape in the same order, whatever their namespaces."""
    steps.take()
    if writer.kind != reader.kind or writer.short_name != reader.short_name or writer.size != reader.size:
        return False
    if writer.symbols != reader.symbols or len(writer.branches) != len(reader.branches):
        return False
    if writer.items is not None and not _equivalent(writer.element(), reader.element(), seen, steps):
        return False
    branches = zip(writer.branches, reader.branches, strict=True)
    return all(_equivalent(*pair, seen, steps) for pair in branches) and _same_fields(writer, reader, seen, steps)


def _same_fields(writer: AvroType, reader: AvroType, seen: set[tuple[int, int]], steps: Steps) -> bool:
    if (id(writer), id(reader)) in seen:
        return True
    seen.add((id(writer), id(reader)))
    if [field.name for field in writer.fields] != [field.name for field in reader.fields]:
        return False
    pairs = zip(writer.fields, reader.fields, strict=True)
    return all(_equivalent(written.type, read.type, seen, steps) for written, read in pairs)
