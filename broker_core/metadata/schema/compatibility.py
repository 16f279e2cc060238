"""Whether a schema may follow others: the strategies, and what "can be read" means for each type. Pure.

BACKWARD: the new schema reads what was written with the old one. FORWARD: the old schemas read what the new one writes.
FULL: both. The plain strategies check the latest version, the transitive ones all versions (Pulsar docs, "Schema
evolution and compatibility"). As in Pulsar 4.0, types without a checker pass every strategy except ALWAYS_INCOMPATIBLE,
and a PROTOBUF_NATIVE schema only has to keep its root message. As in Pulsar 5.0, an EXTERNAL schema, which another
registry has checked, may follow any other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker_core.errors import IncompatibleSchema
from broker_core.metadata.schema.avro import AvroType, InvalidAvro, parse_avro
from broker_core.metadata.schema.avro_resolution import why_unreadable
from broker_core.metadata.schema.key_value import decode_key_value
from broker_core.metadata.schema.protobuf_native import root_message
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.metadata.schema.steps import ALL_VERSIONS, BYTES_OF_STEP, STEPS_MAX, Steps, TooManySteps
from broker_core.metadata.schema.strategy import Strategy
from broker_core.metadata.schema.validation import legacy_json

SHOWN_MAX = 1000  # characters of a definition in an error: a definition may be long, and an error is one line

# Strategies under which a consumer's schema only has to read the latest version, whatever they require of producers.
_CONSUMERS_READ_THE_LATEST = frozenset(
    {Strategy.BACKWARD, Strategy.FORWARD, Strategy.FORWARD_TRANSITIVE, Strategy.FULL}
)


def check_compatible(
    versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int = STEPS_MAX
) -> None:
    """Raises `IncompatibleSchema` unless `new` may follow the versions, oldest first; without versions it may."""
    if strategy is Strategy.ALWAYS_COMPATIBLE or not versions:
        return
    if strategy.is_transitive:
        _check(versions, new, strategy, steps_max)
    elif versions[-1].data != new.data or versions[-1].type is not new.type:
        _check(versions[-1:], new, strategy, steps_max)


def check_readable(
    versions: Sequence[SchemaData], consumers: SchemaData, strategy: Strategy, steps_max: int = STEPS_MAX
) -> None:
    """Raises `IncompatibleSchema` unless a consumer may use that schema on a topic with those versions."""
    if strategy in _CONSUMERS_READ_THE_LATEST:
        check_compatible(versions, consumers, Strategy.BACKWARD, steps_max)
    elif strategy is not Strategy.ALWAYS_COMPATIBLE:
        _check(versions, consumers, strategy, steps_max)


def _check(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    for version in versions:
        if version.type is not new.type:
            raise IncompatibleSchema(
                f"Incompatible schema: exists schema type {version.type.name}, new schema type {new.type.name}"
            )
    if versions:
        _CHECKERS.get(new.type, _check_undefined)(versions, new, strategy, steps_max)


def _check_undefined(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    if strategy is Strategy.ALWAYS_INCOMPATIBLE:
        raise IncompatibleSchema("Schema compatibility strategy is ALWAYS_INCOMPATIBLE")


def _check_avro(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    """Compares equal definitions once."""
    _check_undefined(versions, new, strategy, steps_max)
    parsed, steps = _parse(new), Steps(steps_max * ALL_VERSIONS)
    try:
        for version in {stored.data: stored for stored in versions if stored.data != new.data}.values():
            steps.take(len(version.data) // BYTES_OF_STEP)
            old = _parse(version)
            if strategy.reads_old and (reason := why_unreadable(old, parsed, steps_max, steps)) is not None:
                raise _unreadable(version, new, strategy, reason)
            if strategy.read_by_old and (reason := why_unreadable(parsed, old, steps_max, steps)) is not None:
                raise _unreadable(new, version, strategy, reason)
    except TooManySteps:
        raise IncompatibleSchema(
            f"the topic has too many versions to compare with all of them: more steps than {ALL_VERSIONS} times"
            f" schemaMaxComparisons = {steps_max}"
        ) from None


def _parse(schema: SchemaData) -> AvroType:
    try:
        return parse_avro(schema.text)
    except InvalidAvro as error:
        raise IncompatibleSchema(str(error)) from None


def _unreadable(writer: SchemaData, reader: SchemaData, strategy: Strategy, reason: str) -> IncompatibleSchema:
    """Names both schemas, as Pulsar does, up to `SHOWN_MAX` characters of each."""
    return IncompatibleSchema(
        f"Error during schema compatibility check with strategy {strategy}: {reason}. Unable to read schema:"
        f" {_shown(writer.text)} using schema: {_shown(reader.text)}"
    )


def _shown(definition: str) -> str:
    return definition if len(definition) <= SHOWN_MAX else f"{definition[:SHOWN_MAX]}..."


def _check_json(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    """Definitions from before Avro (a JSON schema with an `id`) and Avro's may follow each other freely."""
    _check_undefined(versions, new, strategy, steps_max)
    new_id = _legacy_id(new)
    if new_id is None:
        _check_avro([version for version in versions if _legacy_id(version) is None], new, strategy, steps_max)
        return
    for version in versions:
        old = _legacy_id(version)
        if old is not None and old != new_id:
            raise IncompatibleSchema(f"Incompatible Schema from {version.text} + to {new.text}")


def _legacy_id(schema: SchemaData) -> tuple[object] | None:
    """The `id` of a definition from before Avro; None for an Avro definition."""
    legacy = legacy_json(schema)
    if legacy is None:
        return None
    try:
        parse_avro(schema.text)
    except InvalidAvro:
        return (legacy.get("id"),)
    return None


def _check_protobuf_native(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    _check_undefined(versions, new, strategy, steps_max)
    name = root_message(new.data)
    for version in versions:
        original = root_message(version.data)
        if original != name:
            raise IncompatibleSchema(
                f"Protobuf root message change is not allowed under the '{strategy}' strategy."
                f" Original message name: '{original}', new message name: '{name}'."
            )


def _check_key_value(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    """Key and value are checked separately."""
    pairs = [decode_key_value(version) for version in versions]
    new_pair = decode_key_value(new)
    for pair in pairs:
        if [part.type for part in pair] != [part.type for part in new_pair]:
            raise IncompatibleSchema(
                "Key schemas or Value schemas are different schema type,"
                f" from key schema type is {pair[0].type.name} and to key schema is {new_pair[0].type.name},"
                f" from value schema is {pair[1].type.name} and to value schema is {new_pair[1].type.name}"
            )
    for olds, part in zip(zip(*pairs, strict=True), new_pair, strict=True):
        _CHECKERS.get(part.type, _check_undefined)(olds, part, strategy, steps_max)


def _accept(versions: Sequence[SchemaData], new: SchemaData, strategy: Strategy, steps_max: int) -> None:
    """The checker of EXTERNAL schemas."""


_Checker = Callable[[Sequence[SchemaData], SchemaData, Strategy, int], None]

_CHECKERS: dict[SchemaType, _Checker] = {
    SchemaType.AVRO: _check_avro,
    SchemaType.JSON: _check_json,
    SchemaType.PROTOBUF: _check_avro,
    SchemaType.PROTOBUF_NATIVE: _check_protobuf_native,
    SchemaType.KEY_VALUE: _check_key_value,
    SchemaType.EXTERNAL: _accept,
}
