"""The topic of a replicator in the other cluster: whether it fits, and the creation of its partitions.

Both clusters must agree on whether a topic is partitioned, and partition N is copied to partition N. Missing
partitions are created over the admin REST API of the other cluster, because the binary protocol cannot. A topic that
is gone right after its producer was closed over there was deleted. A producer would create it again, so there is none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import quote

from broker_core.replication.connection import refusal
from broker_core.replication.errors import CannotReplicate, DeletedThere
from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import CommandPartitionedTopicMetadataResponse, ServerError

if TYPE_CHECKING:
    from broker_core.names import TopicName
    from broker_core.replication.cluster_settings import ClusterSettings
    from broker_core.replication.connection import RemoteConnection
    from broker_core.replication.remote_cluster import RemoteCluster
    from broker_core.replication.services import ReplicationServices

HTTP_SECONDS = 30.0
CONFLICT = 409  # another replicator of the topic was first
REASON_CHARACTERS = 300
MISSING = -1


async def check_topic(
    connection: RemoteConnection,
    remote: RemoteCluster,
    topic: TopicName,
    services: ReplicationServices,
    *,
    existed: bool,
) -> None:
    """Returns if a producer may be created. Raises `DeletedThere`, or `CannotReplicate` if the topics do not fit.

    `existed`: a missing topic was deleted by a tool. Without it, the other cluster may only have removed an unused one.

    Brokers that would create the topic when they are asked about it (before Pulsar 4.0) are not asked.
    """
    if not connection.asks_without_creating:
        return
    here = services.partitions_of(topic.base) if topic.is_partition else 0
    if here and topic.partition >= here:
        # An update makes new partitions before it counts them, and this one must not make the other cluster's.
        raise CannotReplicate(f"partition {topic.partition} does not count yet: the topic has {here} partitions")
    name = topic.base if here else topic
    there = await _partitions(connection, name)
    if there == MISSING and existed:
        raise DeletedThere(f"the topic was deleted in cluster {remote.name}; create it there to replicate again")
    if there == MISSING and not services.config.create_topics:
        raise CannotReplicate(f"the topic does not exist in cluster {remote.name}")
    if here and there != MISSING and not there:
        raise CannotReplicate(f"the topic has {here} partitions, and is not partitioned in cluster {remote.name}")
    if not here and there > 0:
        raise CannotReplicate(f"the topic is not partitioned, and has {there} partitions in cluster {remote.name}")
    if here and there < here:
        if not services.config.create_topics:
            raise CannotReplicate(f"the topic has {here} partitions, and {there} in cluster {remote.name}")
        await _set_partitions(remote.settings(), name, here, exists=there != MISSING)


async def _partitions(connection: RemoteConnection, topic: TopicName) -> int:
    """The number of partitions of the remote topic; 0 if it is not partitioned, `MISSING` if it does not exist."""
    tried = f"read the partitions of {topic}"
    answer = await connection.request(
        lambda request_id: client_commands.partitioned_metadata(request_id, str(topic), auto_creation=False),
        CommandPartitionedTopicMetadataResponse,
        tried,
    )
    if answer.response != CommandPartitionedTopicMetadataResponse.Failed:
        return answer.partitions
    if answer.error == ServerError.TopicNotFound:
        return MISSING
    raise refusal(f"{tried} at {connection.url}", answer.error, answer.message)


async def _set_partitions(settings: ClusterSettings, topic: TopicName, partitions: int, *, exists: bool) -> None:
    """Set the number only in that cluster: each cluster has replicators of its own."""
    if not settings.http_url:
        field = "serviceUrlTls" if settings.is_tls else "serviceUrl"
        raise CannotReplicate(
            f"cannot create the partitions of {topic} in cluster {settings.cluster}: the cluster has no {field}"
        )
    import aiohttp  # most clusters need it once

    local = quote(topic.local, safe="")
    path = f"/admin/v2/{topic.domain}/{topic.tenant}/{topic.namespace_local}/{local}/partitions"
    url = settings.http_url.split(",")[0].rstrip("/") + path
    only = "updateLocalTopicOnly" if exists else "createLocalTopicOnly"
    headers = {"Content-Type": "application/json"} | await asyncio.to_thread(settings.credentials.headers)
    tls = await asyncio.to_thread(settings.tls_context)
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(HTTP_SECONDS)) as session,
            session.request(
                "POST" if exists else "PUT",
                url,
                params={only: "true"},
                data=str(partitions),
                headers=headers,
                ssl=tls if tls is not None else True,
            ) as answer,
        ):
            if answer.status >= 300 and answer.status != CONFLICT:
                reason = (await answer.content.read(REASON_CHARACTERS)).decode("utf-8", "replace")
                raise CannotReplicate(f"cannot create the partitions of {topic} at {url}: {answer.status} {reason}")
    except (aiohttp.ClientError, TimeoutError) as error:
        reason = str(error) or type(error).__name__
        raise CannotReplicate(f"cannot create the partitions of {topic} at {url}: {reason}") from error
