"""The broker of a topic and its number of partitions: LOOKUP and PARTITIONED_METADATA, or lookups over HTTP.

Keeps one connection for each broker, which the partitions of a topic share. If the broker requests it, the connection
uses the service address, as with a proxy or a forwarded port. A lookup creates nothing unless that is requested.
docs/reference/protocol.md "Lookups" states the rules.
"""

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import (
    CommandLookupTopicResponse,
    CommandPartitionedTopicMetadataResponse,
)
from pulsarctl.auth.channel import Channel
from pulsarctl.errors import CannotConnect, CliError, NotFound
from pulsarctl.raw.broker_connection import BrokerConnection, broker_scheme, refusal
from pulsarctl.raw.web_lookup import WebLookup
from pulsarctl.settings.addresses import Address, service_addresses
from pulsarctl.settings.client_security import OPEN, ClientSecurity
from pulsarctl.values.names import partition_name

REDIRECTS_MAX = 20


class TopicLookup:
    """`timeout_seconds` bounds each connect and each request. Raises `UsageProblem`."""

    def __init__(self, service_url: str, *, timeout_seconds: float, security: ClientSecurity = OPEN) -> None:
        self._scheme = broker_scheme(service_url)
        self._addresses = service_addresses(service_url)
        self._web: WebLookup | None = None
        if service_url.startswith("http"):
            self._web = WebLookup(service_url, timeout_seconds=timeout_seconds, security=security)
        self._timeout_seconds = timeout_seconds
        self._channel = Channel(security)
        self._connections: dict[tuple[Address, Address | None], BrokerConnection] = {}

    def server_version(self) -> str:
        """The version of the first broker that answers."""
        return self._service().server_version if self._web is None else self._web.server_version()

    def check_scalable_topics(self) -> None:
        """Raises `NotFound` if the broker has none. It would call their names invalid."""
        if self._web is None and not (connection := self._service()).has_scalable_topics:
            raise NotFound(f"{connection.url} has no scalable topics (Pulsar 5.0 and later)")

    def partitions(self, topic: str, *, create: bool = False) -> int:
        """The number of partitions, 0 for a topic without. Raises `NotFound` if the broker reports it.

        `create`: the broker may create a missing topic, as it does for producers.
        """
        if self._web is not None:
            return self._web.partitions(topic, create=create)
        connection = self._service()
        answer = connection.request(
            lambda request_id: client_commands.partitioned_metadata(request_id, topic, auto_creation=create),
            CommandPartitionedTopicMetadataResponse,
            topic=topic,
        )
        if answer.response == CommandPartitionedTopicMetadataResponse.Failed:
            raise refusal(answer.error, answer.message, f"{topic} at {connection.url}")
        return answer.partitions

    def partition_names(self, topic: str) -> list[str]:
        """For a producer: the partitions, or the topic itself. The broker may create a missing topic."""
        count = self.partitions(topic, create=True)
        return [partition_name(topic, index) for index in range(count)] or [topic]

    def connect(self, topic: str) -> BrokerConnection:
        """The connection to the broker that serves `topic`, shared with its other topics."""
        if self._web is not None:
            return self._connection(self._web.owner(topic))
        via, owner = self._place(topic)
        return self._connection(owner) if via is None else self._connection(via, owner)

    def owner(self, topic: str) -> Address:
        """The address of the broker that serves `topic`."""
        return self._place(topic)[1] if self._web is None else self._web.owner(topic)

    def _place(self, topic: str) -> tuple[Address | None, Address]:
        """The proxy to connect to, if any, and the broker."""
        connection, authoritative = self._service(), False
        for _ in range(REDIRECTS_MAX):
            answer = _lookup(connection, topic, authoritative)
            owner = self._owner(topic, answer)
            if answer.response == CommandLookupTopicResponse.Connect:
                return connection.address if answer.proxy_through_service_url else None, owner
            connection, authoritative = self._connection(owner), answer.authoritative
        raise CliError(f"cannot look up {topic}: more than {REDIRECTS_MAX} redirects")

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        if self._web is not None:
            self._web.close()

    def _owner(self, topic: str, answer: CommandLookupTopicResponse) -> Address:
        """The address in an answer, of the kind that this client uses."""
        url = answer.brokerServiceUrlTls if self._scheme == "pulsar+ssl" else answer.brokerServiceUrl
        if not url:
            kind = "TLS" if self._scheme == "pulsar+ssl" else "plain"
            raise CannotConnect(f"cannot read {topic}: its broker advertises no {kind} address")
        return service_addresses(url)[0]

    def _service(self) -> BrokerConnection:
        """A connection to the first service address that answers."""
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
            known = BrokerConnection(
                via, self._channel, scheme=self._scheme, timeout_seconds=self._timeout_seconds, broker=broker
            )
            self._connections[key] = known
        return known


def _lookup(connection: BrokerConnection, topic: str, authoritative: bool) -> CommandLookupTopicResponse:
    answer = connection.request(
        lambda request_id: client_commands.lookup(request_id, topic, authoritative=authoritative),
        CommandLookupTopicResponse,
        topic=topic,
    )
    if answer.response == CommandLookupTopicResponse.Failed:
        raise refusal(answer.error, answer.message, f"{topic} at {connection.url}")
    return answer
