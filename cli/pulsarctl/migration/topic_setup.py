"""The topic that a copy needs before it gets messages: partitions, properties, and every version of the schema."""

import enum
import json
from typing import Any

from broker_core.wire.pulsar_api_pb2 import Schema
from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.schemas import SchemaInfo
from pulsarctl.errors import CliError, Conflict, NotFound
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.holds import HOLD
from pulsarctl.migration.switch import has_moved
from pulsarctl.migration.topic_copy import PartitionCopy
from pulsarctl.raw.wire_schema import wire_schema
from pulsarctl.values.json_text import parse_json
from pulsarctl.values.names import partition_name


def prepare(source: Endpoint, source_topic: str, target: Endpoint, target_topic: str) -> list[PartitionCopy]:
    """Creates the topic unless an earlier run has done so; returns the partitions that no earlier run has finished.

    Raises `Conflict` for a topic that does not fit or has messages of its own, and what the requests raise.
    """
    there, here = source.admin(), target.admin()
    try:
        partitions = there.topics.partitions(source_topic)
        _create(here, target_topic, partitions, _properties(there, source_topic, partitions))
        names = [(name, _part(target_topic, index, partitions)) for index, name in _parts(source_topic, partitions)]
        left = {name: _left(there, name, here, part) for name, part in names}
        schema = _copy_schemas(there, source_topic, here, target_topic) if Left.COPY in left.values() else None
        return [
            PartitionCopy(source, name, target, part, schema, has_moved=left[name] is Left.RELEASE)
            for name, part in names
            if left[name] is not Left.NOTHING
        ]
    finally:
        there.close()
        here.close()


def _parts(topic: str, partitions: int) -> list[tuple[int, str]]:
    return [(index, _part(topic, index, partitions)) for index in range(max(partitions, 1))]


def _part(topic: str, index: int, partitions: int) -> str:
    return partition_name(topic, index) if partitions else topic


def _properties(admin: AdminClient, topic: str, partitions: int) -> dict[str, str]:
    properties = (
        admin.topics.partitioned_metadata(topic).get("properties") if partitions else admin.topics.properties(topic)
    )
    return dict(properties or {})


def _create(admin: AdminClient, topic: str, partitions: int, properties: dict[str, str]) -> None:
    try:
        if partitions:
            admin.topics.create_partitioned(topic, partitions, properties)
        else:
            admin.topics.create(topic, properties or None)
    except Conflict:
        existing = admin.topics.partitions(topic)
        if existing != partitions:
            raise Conflict(
                f"cannot copy to {topic}: it has {existing} partitions, and the source has {partitions}",
                hint="name another topic, or delete it",
            ) from None


class Left(enum.Enum):
    """The work that earlier runs have left."""

    COPY = enum.auto()
    RELEASE = enum.auto()
    NOTHING = enum.auto()


def _left(there: AdminClient, source: str, here: AdminClient, target: str) -> Left:
    """Nothing is left once the source is terminated, or its clients have moved, and both sides are released.

    Raises `Conflict` for messages that no copy has made: a copy holds its topic while it is not finished.
    """
    copy = _internal_stats(here, target)
    is_held = HOLD in copy.get("cursors", {})
    if has_moved(there, source):
        return Left.RELEASE if is_held else Left.NOTHING
    if not copy.get("numberOfEntries") or is_held:
        return Left.COPY
    original = _internal_stats(there, source)
    released = original.get("state") == "Terminated" and HOLD not in original.get("cursors", {})
    if released and copy["numberOfEntries"] >= original["numberOfEntries"]:
        return Left.NOTHING
    raise Conflict(
        f"cannot copy {source} to {target}: it has messages already", hint="name another topic, or delete it"
    )


def _internal_stats(admin: AdminClient, topic: str) -> dict[str, Any]:
    try:
        return admin.topics.internal_stats(topic)
    except NotFound:  # a partition that was never loaded
        return {}


def _copy_schemas(there: AdminClient, source: str, here: AdminClient, target: str) -> Schema | None:
    """Entries name the version of their schema by its number, so both sides must have the same versions."""
    versions = there.schemas.stored_versions(source)
    known = here.schemas.stored_versions(target)
    if [_identity(schema) for schema in known] != [_identity(schema) for schema in versions[: len(known)]]:
        raise Conflict(f"cannot copy to {target}: it has schemas that {source} does not have")
    for version, schema in enumerate(versions[len(known) :], len(known)):
        try:
            here.schemas.upload(target, schema)
        except CliError as error:
            raise Conflict(
                f"cannot copy version {version} of the schema of {source}: {error.message}",
                hint="set the namespace's schema compatibility strategy to ALWAYS_COMPATIBLE while it is copied",
            ) from error
    return wire_schema(versions[-1]) if versions else None


def _identity(schema: SchemaInfo) -> tuple[str, str]:
    """Brokers may format JSON in their own way."""
    try:
        return schema.type, json.dumps(parse_json(schema.definition), sort_keys=True)
    except ValueError:
        return schema.type, schema.definition
