"""LOOKUP and PARTITIONED_METADATA: where topics are, and how many partitions they have.

A single broker never redirects. `proxy_through_service_url` tells clients to keep the address that they used,
which makes forwarded ports and containers work. A client that names an advertised listener, or comes by an address of
one (`bindAddresses`), wants the address of that listener.
"""

from __future__ import annotations

from broker_core.errors import BrokerError
from broker_core.names import parse_topic
from broker_core.server.session import Session
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb


def on_lookup(session: Session, command: pb.CommandLookupTopic) -> bytes:
    listener = command.advertised_listener_name.strip() or session.listener
    try:
        session.broker.scalable.check_serves(parse_topic(command.topic))
        urls = session.broker.addresses(listener)
    except BrokerError as error:
        session.broker.lookups.fail()
        return commands.lookup_failed(command.request_id, error.server_error, error.reason)
    session.broker.lookups.add()
    return commands.lookup_connect(
        command.request_id,
        urls.service_url,
        urls.service_url_tls,
        proxy_through_service_url=not listener,
    )


async def on_partitioned_metadata(session: Session, command: pb.CommandPartitionedTopicMetadata) -> bytes:
    name = parse_topic(command.topic)
    session.broker.scalable.check_serves(name)
    coordinators = session.broker.coordinators_of(name)
    if coordinators is not None:
        return commands.partitioned_metadata(command.request_id, coordinators)
    partitions = await session.broker.partitioned.for_client(name, create=command.metadata_auto_creation_enabled)
    return commands.partitioned_metadata(command.request_id, partitions)
