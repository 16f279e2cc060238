"""Opens connections to brokers: resolves a name once, checks the addresses, and connects to those."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

from broker_core.broker_client.addresses import Endpoint
from broker_core.broker_client.tls import client_context
from broker_core.client_log import ClientLog
from broker_core.config.proxy import ProxyBrokersConfig
from broker_core.errors import BrokerUnreachable, InvalidConfiguration, TargetRefused
from broker_core.proxy.targets import Targets

log = ClientLog(__name__)

REFUSED = "Target broker cannot be validated."  # all that a client learns; the reason is in the log
P = TypeVar("P", bound=asyncio.Protocol)
Resolve = Callable[[Endpoint], Awaitable[list[str]]]


async def resolve(target: Endpoint) -> list[str]:
    """The addresses of a host, in the order of the resolver."""
    addresses = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in addresses))


class Dialer:
    """Raises `InvalidConfiguration` for TLS files that cannot be used."""

    def __init__(self, config: ProxyBrokersConfig, targets: Targets, *, resolve: Resolve = resolve) -> None:
        self.targets = targets
        self.seconds = config.connect_seconds
        self.context = broker_context(config) if config.tls else None
        self.resolve = resolve

    async def open(self, target: Endpoint, client: str, protocol: Callable[[], P]) -> P:
        """A connected protocol; `client` is the address for whom. Raises `TargetRefused` or `BrokerUnreachable`."""
        self.check(target, client)
        try:
            async with asyncio.timeout(self.seconds):
                addresses = await self.resolve(target)
                allowed = self.targets.reachable(target, addresses)
                if addresses and not allowed:
                    self._refuse(target, client, f"address {addresses[0]} is not in brokerProxyAllowedIPAddresses")
                return await self._first(target, allowed, protocol)
        except TimeoutError:
            raise BrokerUnreachable(f"cannot reach the broker at {target}: no answer in {self.seconds:g} s") from None
        except OSError as error:
            raise BrokerUnreachable(f"cannot reach the broker at {target}: {_reason(error)}") from None

    def check(self, target: Endpoint, client: str) -> None:
        """Raises `TargetRefused` for a host or a port that is not allowed."""
        refusal = self.targets.refusal(target)
        if refusal is not None:
            self._refuse(target, client, refusal)

    def _refuse(self, target: Endpoint, client: str, reason: str) -> None:
        log.warning(client, str(target), "refusing to connect %s to %s: %s", client, target, reason)
        raise TargetRefused(REFUSED)

    async def _first(self, target: Endpoint, addresses: list[str], protocol: Callable[[], P]) -> P:
        """The first address that answers; each gets an equal share of the time."""
        loop, failure = asyncio.get_running_loop(), OSError("the name has no address")
        name = target.host if self.context is not None else None
        for address in addresses:
            try:
                async with asyncio.timeout(self.seconds / len(addresses)):
                    _, connection = await loop.create_connection(
                        protocol, address, target.port, ssl=self.context, server_hostname=name
                    )
                    return connection
            except TimeoutError:
                failure = OSError("no answer in time")
            except OSError as error:
                failure = error
        raise failure


def broker_context(config: ProxyBrokersConfig) -> ssl.SSLContext:
    """The TLS context for connections to brokers; raises `InvalidConfiguration`."""
    own = [(config.certificate_file, config.key_file)] if config.certificate_file else []
    try:
        context = client_context(config.trust_file, own)
    except (OSError, ValueError) as error:
        raise InvalidConfiguration(f"cannot use the TLS files for brokers: {error}") from None
    context.check_hostname = config.verify_hostname
    return context


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
