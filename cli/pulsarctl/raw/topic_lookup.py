"""Who serves a topic, and how many partitions it has: PARTITIONED_METADATA and LOOKUP over the binary protocol.

Keeps the connections that lookups lead to, one for each broker, so that the partitions of a topic share them. A proxy
or a forwarded port is honoured: the broker says so, and then the connection goes through the service address
(docs/protocol.md "Lookups"). Nothing is created by asking.
"""

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import (
    CommandLookupTopicResponse,
    CommandPartitionedTopicMetadataResponse,
)
from pulsarctl.errors import CannotConnect, CliError
from pulsarctl.raw.broker_connection import Address, BrokerConnection, parse_service_url, refusal

REDIRECTS_MAX = 20


class TopicLookup:
    """`timeout_seconds` bounds each connect and each request."""

    def __init__(self, service_url: str, *, timeout_seconds: float, token: str | None = None) -> None:
        self._addresses = parse_service_url(service_url)
        self._timeout_seconds = timeout_seconds
        self._token = token
        self._connections: dict[tuple[Address, Address | None], BrokerConnection] = {}

    def server_version(self) -> str:
        """Of the first broker that answers."""
        return self._service().server_version

    def partitions(self, topic: str) -> int:
        """Number of partitions, 0 for a topic without. Raises `NotFound`, where the broker can tell."""
        connection = self._service()
        answer = connection.request(
            lambda request_id: client_commands.partitioned_metadata(request_id, topic, auto_creation=False),
            CommandPartitionedTopicMetadataResponse,
            topic=topic,
        )
        if answer.response == CommandPartitionedTopicMetadataResponse.Failed:
            raise refusal(answer.error, answer.message, f"{topic} at {connection.address}")
        return answer.partitions

    def connect(self, topic: str) -> BrokerConnection:
        """A connection to the broker that serves `topic`, shared with other topics of that broker."""
        connection, authoritative = self._service(), False
        for _ in range(REDIRECTS_MAX):
            answer = _lookup(connection, topic, authoritative)
            owner = parse_service_url(answer.brokerServiceUrl)[0]
            if answer.response == CommandLookupTopicResponse.Connect:
                if answer.proxy_through_service_url:
                    return self._connection(connection.address, owner)
                return self._connection(owner)
            connection, authoritative = self._connection(owner), answer.authoritative
        raise CliError(f"the lookup of {topic} was redirected more than {REDIRECTS_MAX} times")

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def _service(self) -> BrokerConnection:
        """A connection to the first of the service addresses that answers."""
        failure: CannotConnect | None = None
        for address in self._addresses:
            try:
                return self._connection(address)
            except CannotConnect as error:
                failure = error
        assert failure is not None, "a service URL names at least one address"
        raise failure

    def _connection(self, via: Address, broker: Address | None = None) -> BrokerConnection:
        if broker == via:
            broker = None
        key = (via, broker)
        known = self._connections.get(key)
        if known is None or known.is_lost:
            known = BrokerConnection(via, timeout_seconds=self._timeout_seconds, token=self._token, broker=broker)
            self._connections[key] = known
        return known


def _lookup(connection: BrokerConnection, topic: str, authoritative: bool) -> CommandLookupTopicResponse:
    answer = connection.request(
        lambda request_id: client_commands.lookup(request_id, topic, authoritative=authoritative),
        CommandLookupTopicResponse,
        topic=topic,
    )
    if answer.response == CommandLookupTopicResponse.Failed:
        raise refusal(answer.error, answer.message, f"{topic} at {connection.address}")
    return answer
