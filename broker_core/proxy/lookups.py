"""Answers the requests of a client that does not know its broker yet, by asking the brokers on its behalf.

Nothing is cached: a topic that has moved is found by the next lookup. Clients ask the brokers
of the configuration one after the other, and skip one that is down.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator

from broker_core.broker_client.addresses import Endpoint, parse_service_url
from broker_core.client_log import ClientLog
from broker_core.errors import BrokerError, BrokerUnreachable, InvalidValue, TargetRefused
from broker_core.proxy.broker_link import BrokerLink, BrokerRefused
from broker_core.wire import commands, schema_commands
from broker_core.wire.commands import frame_of
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandLookupTopicResponse, FeatureFlags

log = ClientLog(__name__)

REDIRECTS_MAX = 20
METRIC_NAMES: dict[int, str] = {
    BaseCommand.LOOKUP: "lookup",
    BaseCommand.PARTITIONED_METADATA: "partitions_metadata",
    BaseCommand.GET_TOPICS_OF_NAMESPACE: "get_topics_of_namespace",
    BaseCommand.GET_SCHEMA: "get_schema",
}
"""The requests that the proxy answers, and their names in Pulsar's metrics."""

Open = Callable[[Endpoint], Awaitable[BrokerLink]]


class Brokers:
    """The brokers of the configuration, one after the other."""

    def __init__(self, endpoints: tuple[Endpoint, ...]) -> None:
        self.endpoints = endpoints
        self._turn = itertools.count()

    def in_turn(self) -> Iterator[Endpoint]:
        """Yield all brokers, starting after the one that was first in the last call."""
        first = next(self._turn) % len(self.endpoints)
        yield from self.endpoints[first:]
        yield from self.endpoints[:first]

    async def first(self, connect: Open) -> BrokerLink:
        """The link to the first broker that can be reached. Raises `BrokerUnreachable`."""
        failure: BrokerUnreachable | None = None
        for endpoint in self.in_turn():
            try:
                return await connect(endpoint)
            except BrokerUnreachable as error:
                failure = error
        assert failure is not None, "the configuration names at least one broker"
        raise failure


class Lookups:
    """The lookups of one client. `open_link` connects to a broker; `check` refuses one not allowed to the client."""

    def __init__(
        self, brokers: Brokers, open_link: Open, check: Callable[[Endpoint], None], *, host: str, tls: bool
    ) -> None:
        self._brokers = brokers
        self._open = open_link
        self._check = check
        self._host = host
        self._scheme = "pulsar+ssl" if tls else "pulsar"
        self._links: dict[Endpoint, asyncio.Task[BrokerLink]] = {}

    async def answer(self, command: Command) -> bytes:
        """The response to one of METRIC_NAMES. Raises `BrokerError`."""
        link = await self._any_broker()
        if command.type == BaseCommand.LOOKUP:
            return await self._look_up(link, command)
        return frame_of(await link.pass_on(command))

    async def reach_a_broker(self) -> FeatureFlags:
        """The features of the broker. A broker that refuses the client says so to its requests.

        Raises `BrokerUnreachable` if there is none.
        """
        try:
            link = await self._any_broker()
        except BrokerRefused:
            return FeatureFlags()
        return link.connected.feature_flags if link.connected is not None else FeatureFlags()

    def close(self) -> None:
        for opening in self._links.values():
            if not opening.done():
                opening.cancel()
            elif not opening.cancelled() and opening.exception() is None:
                opening.result().close()
        self._links.clear()

    async def _any_broker(self) -> BrokerLink:
        """One that is connected, or the first broker that can be reached."""
        for opening in self._links.values():
            if _is_open(opening):
                return opening.result()
        return await self._brokers.first(self._link)

    async def _link(self, endpoint: Endpoint) -> BrokerLink:
        """The link to that broker, which all requests of the client share."""
        known = self._links.get(endpoint)
        if known is None or (known.done() and not _is_open(known)):
            known = self._links[endpoint] = asyncio.ensure_future(self._open(endpoint))
        return await asyncio.shield(known)

    async def _look_up(self, link: BrokerLink, command: Command) -> bytes:
        for _ in range(REDIRECTS_MAX):
            passed = await link.pass_on(command)
            answer = passed.message
            if passed.type != BaseCommand.LOOKUP_RESPONSE or answer.response == CommandLookupTopicResponse.Failed:
                return frame_of(passed)
            owner = self._owner(link, answer)
            if answer.response == CommandLookupTopicResponse.Connect:
                return _connect_to(command, owner)
            link = await self._link(owner)
            command.message.authoritative = answer.authoritative
        raise BrokerUnreachable("Reached max number of redirections")

    def _owner(self, link: BrokerLink, answer: CommandLookupTopicResponse) -> Endpoint:
        """The broker in an answer. A standalone says by `proxy_through_service_url` that the address used is right."""
        if answer.response == CommandLookupTopicResponse.Connect and answer.proxy_through_service_url:
            return link.target
        url = answer.brokerServiceUrlTls if self._scheme == "pulsar+ssl" else answer.brokerServiceUrl
        try:
            (owner,) = parse_service_url(url, self._scheme)
            self._check(owner)
        except (InvalidValue, TargetRefused, ValueError) as error:
            log.warning(
                self._host,
                "",
                "cannot use the answer of the broker at %s, which names %r: %s",
                link.target,
                url[:300],
                error,
            )
            raise BrokerUnreachable(
                f"the proxy may not connect to {url[:300]!r}, which the broker at {link.target} names"
            ) from None
        return owner


def _is_open(opening: asyncio.Task[BrokerLink]) -> bool:
    if not opening.done() or opening.cancelled() or opening.exception() is not None:
        return False
    return opening.result().lost is None


def _connect_to(command: Command, owner: Endpoint) -> bytes:
    """Both URLs lead through this proxy; the client takes the one that fits its connection."""
    return commands.lookup_connect(
        command.message.request_id, f"pulsar://{owner}", f"pulsar+ssl://{owner}", proxy_through_service_url=True
    )


def refusal(command: Command, error: BrokerError) -> bytes:
    """The answer to one of METRIC_NAMES that failed."""
    request_id = command.message.request_id
    if command.type == BaseCommand.LOOKUP:
        return commands.lookup_failed(request_id, error.server_error, error.reason)
    if command.type == BaseCommand.PARTITIONED_METADATA:
        return commands.partitioned_metadata_failed(request_id, error.server_error, error.reason)
    if command.type == BaseCommand.GET_SCHEMA:
        return schema_commands.get_schema_failed(request_id, error.server_error, error.reason)
    return commands.error(request_id, error.server_error, error.reason)
