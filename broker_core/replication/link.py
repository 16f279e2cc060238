"""The link of a topic to its copy in another cluster: a connection, a producer, and the schemas over there.

Opening it follows Pulsar's order: the topic is looked up, its partitions over there are compared with ours, and only
then the producer is created, which creates a missing topic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_core.publishing.replication import REPLICATOR_PREFIX
from broker_core.replication.errors import DeletedThere, Refused
from broker_core.replication.remote_producer import Confirmed, RemoteProducer
from broker_core.replication.remote_schemas import RemoteSchemas
from broker_core.replication.remote_topic import check_topic
from broker_core.wire.pulsar_api_pb2 import ServerError

if TYPE_CHECKING:
    from broker_core.replication.connection import RemoteConnection
    from broker_core.replication.remote_cluster import RemoteCluster
    from broker_core.replication.services import ReplicationServices
    from broker_core.topic_context import TopicContext


def producer_name(source: str, target: str) -> str:
    """The name under which a replicator publishes, as in Pulsar; the receiver reads the source cluster from it."""
    return f"{REPLICATOR_PREFIX}{source}-->{target}"


@dataclass(frozen=True, slots=True)
class Link:
    """An open connection to the topic in the other cluster."""

    connection: RemoteConnection
    producer: RemoteProducer
    schemas: RemoteSchemas

    @classmethod
    async def open(
        cls,
        context: TopicContext,
        services: ReplicationServices,
        remote: RemoteCluster,
        confirmed: Confirmed,
        woken: Callable[[], None],
        *,
        existed: bool,
    ) -> Link:
        """`confirmed` and `woken`: as in `RemoteProducer`; `existed`: as in `check_topic`. Raises `CannotReplicate`."""
        connection = await remote.connect(str(context.name))
        await check_topic(connection, remote, context.name, services, existed=existed)
        schemas = RemoteSchemas(context.name, services.schemas, connection)
        producer = RemoteProducer(connection, confirmed, woken, is_persistent=context.name.is_persistent)
        try:
            await producer.attach(
                str(context.name),
                producer_name(services.cluster, remote.name),
                encrypted=context.policies.encryption_required,
                schema=await schemas.latest(),
            )
        except BaseException as error:
            producer.close()
            if isinstance(error, Refused) and error.code == ServerError.TopicNotFound:
                raise DeletedThere(str(error)) from error
            raise
        return cls(connection, producer, schemas)

    async def schema_version(self, version: bytes) -> bytes:
        """The other cluster's version of one of our schemas. Raises `CannotReplicate`."""
        known = self.schemas.known(version)
        if known is None:
            await self.schemas.learn(version)
            known = self.schemas.known(version)
        return known or b""
