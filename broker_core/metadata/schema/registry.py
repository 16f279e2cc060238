"""The schemas of every topic: their versions, stored as documents (Pulsar docs, "Schema registry").

Partitions share the schema of their topic, and so do a persistent and a non-persistent topic with the same name.
Versions count from 0 and are never reused: deleting appends a version that says "none from here on", which hides
earlier versions. Only `forget`, when the topic is deleted, restarts the count.

A version is durable when `put` returns. A lock per topic serializes the checks and changes of its schemas, because a
wait for the disk separates them. Reading answers from memory. One thread parses and compares definitions: even a short
one can take a while (`bounds`), and only the client that asked waits for it.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote_plus

from broker_core.errors import InvalidSchema
from broker_core.metadata.schema.bounds import DefinitionBounds, check_definition
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import STRUCTURED, SchemaType
from broker_core.tasks import OneAtATime, to_the_end

if TYPE_CHECKING:
    from broker_core.clock import Clock
    from broker_core.config.features import SchemaConfig
    from broker_core.metadata.schema.strategy import Strategy
    from broker_core.names import NamespaceName, TopicName
    from broker_core.storage.catalog.metadata import Metadata
    from broker_core.tasks import Spawn

SCHEMA = "schema"  # kind of the documents, one for each version: <schema id>/<version>
NO_VERSION = -1
SHORT_BYTES = 1024  # bytes of the definition that a client sends for a type without one

_T = TypeVar("_T")


class SchemaVersion(NamedTuple):
    """One version; `deleted`: the schema ends here."""

    version: int
    schema: SchemaData
    timestamp_ms: int
    deleted: bool = False


def schema_id(topic: TopicName) -> str:
    """The name under which a topic's schemas are stored and shown; partitions use that of their topic."""
    return f"{topic.tenant}/{topic.namespace_local}/{quote_plus(topic.base.local)}"


class SchemaRegistry:
    def __init__(self, metadata: Metadata, clock: Clock, config: SchemaConfig, spawn: Spawn) -> None:
        self._metadata = metadata
        self._spawn = spawn
        self._clock = clock
        self._bounds = DefinitionBounds(config.max_bytes, config.max_values, config.max_depth)
        self._steps_max = config.max_comparisons
        self._allow_legacy_json = config.allow_legacy_json
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="schema")
        self._versions: dict[str, list[SchemaVersion]] = {}
        self._changes: OneAtATime[str] = OneAtATime()
        for key, document in metadata.list(SCHEMA).items():
            name, _, version = key.rpartition("/")
            self._versions.setdefault(name, []).append(_from_document(int(version), document))
        for versions in self._versions.values():
            versions.sort(key=lambda stored: stored.version)

    # -- reading ----------------------------------------------------------------------------------------

    def versions(self, topic: TopicName) -> Sequence[SchemaVersion]:
        """The versions in force, oldest first: those after the last deletion."""
        return self._in_force(schema_id(topic))

    def latest(self, topic: TopicName) -> SchemaVersion | None:
        versions = self.versions(topic)
        return versions[-1] if versions else None

    def version(self, topic: TopicName, version: int) -> SchemaVersion | None:
        return next((stored for stored in self.versions(topic) if stored.version == version), None)

    def stored(self, topic: TopicName, version: int) -> SchemaVersion | None:
        """The version even if a deletion hides it: messages from before the deletion still name it."""
        matching = (stored for stored in self._versions.get(schema_id(topic), ()) if stored.version == version)
        return next((stored for stored in matching if not stored.deleted), None)

    def version_of(self, topic: TopicName, schema: SchemaData) -> int:
        """The version with the same bytes; `NO_VERSION` if there is none."""
        stored = _with_same_bytes(self.versions(topic), schema)
        return NO_VERSION if stored is None else stored.version

    async def find_same(self, topic: TopicName, schema: SchemaData) -> SchemaVersion | None:
        """The version with the same meaning, whatever its text."""
        versions = self.versions(topic)
        return await self._computed(schema, _same, versions, schema)

    # -- checking ---------------------------------------------------------------------------------------

    async def check_compatible(self, topic: TopicName, schema: SchemaData, strategy: Strategy) -> None:
        """Raises `InvalidSchema` or `IncompatibleSchema` if `put` would."""
        from broker_core.metadata.schema.compatibility import check_compatible

        await self._validate(schema)
        versions = self.versions(topic)
        await self._computed(
            schema, check_compatible, [stored.schema for stored in versions], schema, strategy, self._steps_max
        )

    async def check_readable(self, topic: TopicName, schema: SchemaData, strategy: Strategy) -> None:
        """Raises `IncompatibleSchema` unless a consumer may use that schema."""
        from broker_core.metadata.schema.compatibility import check_readable

        versions = self.versions(topic)
        if _with_same_bytes(versions, schema) is None:
            await self._computed(schema, check_definition, schema, self._bounds)
        await self._computed(
            schema, check_readable, [stored.schema for stored in versions], schema, strategy, self._steps_max
        )

    async def _validate(self, schema: SchemaData) -> None:
        from broker_core.metadata.schema.validation import validate

        await self._computed(schema, check_definition, schema, self._bounds)
        await self._computed(schema, validate, schema, self._allow_legacy_json)

    async def _computed(self, schema: SchemaData, work: Callable[..., _T], *arguments: Any) -> _T:
        """The result of work on definitions; types without a definition need no thread."""
        if schema.type not in STRUCTURED and len(schema.data) <= SHORT_BYTES:
            return work(*arguments)
        return await asyncio.get_running_loop().run_in_executor(self._thread, _within_the_stack, work, *arguments)

    def close(self) -> None:
        """Stops without waiting: a running comparison ends by its limit of steps."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    # -- changing ---------------------------------------------------------------------------------------

    async def put(
        self, topic: TopicName, schema: SchemaData, strategy: Strategy, check_open: Callable[[], None] | None = None
    ) -> int:
        """The version of that schema, a new one if necessary. Raises `InvalidSchema` or `IncompatibleSchema`.

        `check_open` raises once the topic is on its way out. A deletion that comes later deletes the new version, too.
        """
        schema = _as_stored(schema)
        name = schema_id(topic)
        known = _with_same_bytes(self._in_force(name), schema)
        if known is not None:
            return known.version
        await self._validate(schema)
        return await to_the_end(self._spawn, self._add(name, schema, strategy, check_open))

    async def _add(
        self, name: str, schema: SchemaData, strategy: Strategy, check_open: Callable[[], None] | None
    ) -> int:
        async with self._changes.of(name):
            versions = self._in_force(name)
            stored = await self._computed(schema, _same_or_compatible, versions, schema, strategy, self._steps_max)
            if check_open is not None:
                check_open()
            return await self._append(name, schema) if stored is None else stored.version

    async def delete(self, topic: TopicName) -> int:
        """Ends the topic's schema; returns the version that says so."""
        name = schema_id(topic)
        async with self._changes.of(name):
            return await self._append(name, SchemaData(SchemaType.NONE), deleted=True)

    async def forget(self, topic: TopicName) -> None:
        """Deletes all versions, as if there had never been any."""
        await self._forget(schema_id(topic))

    async def _forget(self, name: str) -> None:
        """The oldest first: after a crash in between, no version that a deletion hid is in force again."""
        async with self._changes.of(name):
            while versions := self._versions.get(name):
                await self._metadata.delete(SCHEMA, f"{name}/{versions[0].version}")
                del versions[0]
            self._versions.pop(name, None)

    async def forget_namespace(self, namespace: NamespaceName) -> None:
        """Deletes the schemas of all its topics, also of those that never existed."""
        start = f"{namespace}/"
        for name in [topic for topic in self._versions if topic.startswith(start) and "/" not in topic[len(start) :]]:
            await self._forget(name)

    async def _append(self, name: str, schema: SchemaData, *, deleted: bool = False) -> int:
        versions = self._versions.get(name, [])
        version = versions[-1].version + 1 if versions else 0
        stored = SchemaVersion(version, schema, self._clock.wall_ms(), deleted)
        await self._metadata.put(SCHEMA, f"{name}/{version}", _to_document(stored))
        self._versions.setdefault(name, []).append(stored)
        return version

    def _in_force(self, name: str) -> list[SchemaVersion]:
        versions = self._versions.get(name, [])
        ends = (index for index in range(len(versions), 0, -1) if versions[index - 1].deleted)
        return versions[next(ends, 0) :]


def _within_the_stack(work: Callable[..., _T], *arguments: Any) -> _T:
    """Definitions that exceed Python's stack are refused, wherever that happens: `schemaMaxDepth` can be any number."""
    try:
        return work(*arguments)
    except RecursionError:
        raise InvalidSchema("The schema is nested too deeply") from None


def _as_stored(schema: SchemaData) -> SchemaData:
    """Pulsar's registry has no number for BYTES."""
    if schema.type is not SchemaType.BYTES:
        return schema
    return SchemaData(SchemaType.NONE, schema.data, schema.properties)


def _same_or_compatible(
    versions: Sequence[SchemaVersion], schema: SchemaData, strategy: Strategy, steps_max: int
) -> SchemaVersion | None:
    """The version that is the same, or None if the schema may become one. Raises `IncompatibleSchema`."""
    from broker_core.metadata.schema.compatibility import check_compatible

    stored = _same(versions, schema)
    if stored is None:
        check_compatible([stored.schema for stored in versions], schema, strategy, steps_max)
    return stored


def _same(versions: Sequence[SchemaVersion], schema: SchemaData) -> SchemaVersion | None:
    """Compares bytes first: reconnecting clients send the same bytes, and this costs nothing."""
    if (known := _with_same_bytes(versions, schema)) is not None:
        return known
    identity = schema.identity
    same = (stored for stored in versions if stored.schema.type is schema.type and stored.schema.identity == identity)
    return next(same, None)


def _with_same_bytes(versions: Sequence[SchemaVersion], schema: SchemaData) -> SchemaVersion | None:
    same = (stored for stored in versions if stored.schema.type is schema.type and stored.schema.data == schema.data)
    return next(same, None)


def _to_document(stored: SchemaVersion) -> dict[str, Any]:
    return {
        "type": stored.schema.type.name,
        "data": base64.b64encode(stored.schema.data).decode(),
        "properties": dict(stored.schema.properties),
        "timestamp": stored.timestamp_ms,
        "deleted": stored.deleted,
    }


def _from_document(version: int, document: dict[str, Any]) -> SchemaVersion:
    data = base64.b64decode(document["data"])
    schema = SchemaData(SchemaType[document["type"]], data, document["properties"])
    return SchemaVersion(version, schema, document["timestamp"], document["deleted"])
