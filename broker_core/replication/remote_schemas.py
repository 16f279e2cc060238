"""The versions that a topic's schemas have in another cluster.

Each schema is registered over there when the first entry with it is sent, so the versions of the two clusters differ.
The answers of a broker hold for its connection: a topic that was deleted over there starts again from nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.metadata.schema.schema_type import to_wire
from broker_core.replication.connection import refusal
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import CommandGetOrCreateSchemaResponse, CommandGetSchemaResponse, KeyValue, Schema
from broker_core.wire.schema_commands import version_number

if TYPE_CHECKING:
    from broker_core.metadata.schema.registry import SchemaRegistry
    from broker_core.metadata.schema.schema_data import SchemaData
    from broker_core.names import TopicName
    from broker_core.replication.connection import RemoteConnection


class RemoteSchemas:
    def __init__(self, topic: TopicName, registry: SchemaRegistry, connection: RemoteConnection) -> None:
        self._topic = topic
        self._registry = registry
        self._connection = connection
        self._known: dict[bytes, bytes] = {}

    async def latest(self) -> Schema | None:
        """The schema that a producer has to offer; None if the topic has none over there."""
        topic = str(self._topic)
        answer = await self._connection.request(
            lambda request_id: client_commands.get_schema(request_id, topic),
            CommandGetSchemaResponse,
            f"read the schema of {topic}",
        )
        return answer.schema if answer.HasField("schema") else None

    def known(self, version: bytes) -> bytes | None:
        """The other cluster's version for one of ours, if it was asked for before."""
        return self._known.get(version)

    async def learn(self, version: bytes) -> None:
        """Registers a schema. Raises `Refused`.

        A version that never existed, which only a faulty client sends, means nothing: its copy names none.
        """
        topic, local = str(self._topic), self._local(version)
        if local is None:
            self._known[version] = b""
            return
        schema = _as_message(local)
        answer = await self._connection.request(
            lambda request_id: client_commands.get_or_create_schema(request_id, topic, schema),
            CommandGetOrCreateSchemaResponse,
            f"register the schema of {topic}",
        )
        if answer.HasField("error_code"):
            tried = f"register the schema of {topic} at {self._connection.url}"
            raise refusal(tried, answer.error_code, answer.error_message)
        self._known[version] = answer.schema_version

    def _local(self, version: bytes) -> SchemaData | None:
        number = version_number(version)
        stored = None if number is None else self._registry.stored(self._topic, number)
        return None if stored is None else stored.schema


def _as_message(schema: SchemaData) -> Schema:
    message = Schema(name="", schema_data=schema.data, type=to_wire(schema.type))  # type: ignore[arg-type]  # enum fields take plain numbers
    message.properties.extend(KeyValue(key=key, value=value) for key, value in schema.properties.items())
    return message
