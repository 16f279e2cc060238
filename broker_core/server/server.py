"""The listeners and the life of a broker process' server.

`Server.start` reads as a sentence: take the ports, open the data, answer on the binary port, begin with the
admin port. The ports are bound before the data directory is touched, so that a port in use leaves no trace;
no client gets an answer before recovery is done. `stop` mirrors it.
No host name is resolved and no address is stored: an empty bind address means 127.0.0.1 and, where the
machine has IPv6, ::1 on the same port, also when that port was 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from broker_core.broker import Broker
from broker_core.config.bind_addresses import BindAddress, bind_addresses
from broker_core.config.listeners import advertised_listeners
from broker_core.errors import InvalidConfiguration
from broker_core.server.admin_listener import AdminListener
from broker_core.server.connection import Connection
from broker_core.server.ports import LOOPBACK, bind, listen, port_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from broker_core.clock import Clock
    from broker_core.config.broker import BrokerConfig
    from broker_core.security.certificates import Certificates
    from broker_core.storage.disk import Disk

log = logging.getLogger(__name__)


class Ports(NamedTuple):
    """Bound sockets of each listener; none where it is switched off."""

    plain: list[socket.socket]
    web: list[socket.socket]
    tls: list[socket.socket]
    web_tls: list[socket.socket]
    more: list[tuple[BindAddress, socket.socket]]  # `bindAddresses`

    def of(self, *schemes: str) -> list[socket.socket]:
        """The sockets of `more` with one of the schemes."""
        return [listener for bound, listener in self.more if bound.scheme in schemes]


class Server:
    """`prepare` is called between the ports and the data: nothing of the directory is touched before."""

    def __init__(
        self,
        config: BrokerConfig,
        directory: Path,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        """Raises `InvalidConfiguration`."""
        _check_ports(config)
        self.config = config
        self.directory = directory
        advertised = advertised_listeners(config.server.advertised_listeners, config.server.internal_listener)
        self._bind_addresses = bind_addresses(config.server.bind_addresses, advertised.by_name)
        _check_certificates(config, self._bind_addresses)
        self.broker = Broker(config, clock=clock)
        self._certificates: Certificates | None = None  # the files of a local authority need the directory
        if config.tls.local_authority:
            from broker_core.server.local_certificates import check_local_authority

            check_local_authority(config.tls)
        elif config.tls.enabled:
            from broker_core.security.certificates import Certificates

            self._certificates = Certificates(config.tls)
        self.port = 0
        self.web_port = 0
        self._disk = disk
        self._prepare = prepare
        self._listeners: list[asyncio.Server] = []
        self._admin: AdminListener

    @property
    def hosts(self) -> tuple[str, ...]:
        bind = self.config.server.bind_address
        return (bind,) if bind else LOOPBACK

    async def start(self) -> None:
        """Raises `PortInUse`, or what the storage says of its directory (`StorageError`, `OSError`).

        On return both ports take connections.
        """
        with contextlib.ExitStack() as taken:
            ports = self._take_ports(taken)
            if self._prepare is not None:
                self._prepare()
            await self.broker.start(self.directory, disk=self._disk)
            await self._make_certificates()
            taken.pop_all()
        self.port, self.web_port = port_of(ports.plain), port_of(ports.web)
        self._advertise(ports)
        await self._listen([*ports.plain, *ports.of("pulsar")])
        await self._listen([*ports.tls, *ports.of("pulsar+ssl")], self._context)
        web, web_tls = [*ports.web, *ports.of("http")], [*ports.web_tls, *ports.of("https")]
        self._admin = AdminListener(web, web_tls, self._context)
        self._admin.listen(self.broker)
        if self._certificates is not None:
            self.broker.spawn(self._certificates.watch())

    @property
    def authority_file(self) -> str:
        """The certificate that clients must trust; empty without a local authority."""
        if not self.config.tls.enabled or not self.config.tls.local_authority:
            return ""
        from broker_core.server.local_certificates import authority_file

        return str(authority_file(self.directory))

    async def _make_certificates(self) -> None:
        """Make certificates, only while this process owns the directory of the local authority."""
        if not self.config.tls.enabled or not self.config.tls.local_authority:
            return
        from broker_core.server.local_certificates import local_certificates

        try:
            self._certificates = local_certificates(self.config, self.directory, self.broker.clock)
        except BaseException:
            await self.broker.stop()
            raise

    def _take_ports(self, taken: contextlib.ExitStack) -> Ports:
        """Binds every port; `taken` closes them if the start fails."""
        server, tls = self.config.server, self.config.tls

        def take(port: int, flag: str, hosts: tuple[str, ...] = self.hosts) -> list[socket.socket]:
            listeners = bind(hosts, port, flag) if port >= 0 else []
            for listener in listeners:
                taken.callback(listener.close)
            return listeners

        def take_more(address: BindAddress) -> list[tuple[BindAddress, socket.socket]]:
            flag = f"-X bindAddresses={address.listener}:{address.scheme}://{address.host}:"
            return [(address, listener) for listener in take(address.port, flag, (address.host,))]

        return Ports(
            take(server.broker_port, "--port"),
            take(server.web_port, "--http-port"),
            take(tls.broker_port, "-X brokerServicePortTls="),
            take(tls.web_port, "-X webServicePortTls="),
            [taken_ for bound in self._bind_addresses for taken_ in take_more(bound)],
        )

    @property
    def _context(self) -> ssl.SSLContext | None:
        return self._certificates.context if self._certificates is not None else None

    def _advertise(self, ports: Ports) -> None:
        host, broker = self.config.server.advertised_address, self.broker
        broker.service_url = f"pulsar://{host}:{self.port}" if ports.plain else ""
        broker.http_url = f"http://{host}:{self.web_port}" if ports.web else ""
        broker.service_url_tls = f"pulsar+ssl://{host}:{port_of(ports.tls)}" if ports.tls else ""
        broker.http_url_tls = f"https://{host}:{port_of(ports.web_tls)}" if ports.web_tls else ""
        for bound, listener in ports.more:
            own = "" if bound.is_wildcard else listener.getsockname()[0]  # an IPv6 address has many spellings
            broker.bound_listeners[own, port_of([listener])] = bound.listener

    async def _listen(self, sockets: list[socket.socket], context: ssl.SSLContext | None = None) -> None:
        await listen(sockets, lambda: Connection(self.broker), context, self._listeners)

    async def stop(self) -> None:
        """Stops accepting, closes clients cleanly, syncs, frees the directory; bounded by shutdown_timeout_ms.

        Before that, load balancers have time to leave.
        """
        self.broker.is_leaving = True
        await asyncio.sleep(self.config.server.leave_seconds)
        for listener in self._listeners:
            listener.close()
        async with asyncio.timeout(self.broker.config.server.shutdown_timeout_ms / 1000):
            await self._admin.close()
            await self.broker.stop()


def _check_ports(config: BrokerConfig) -> None:
    """Raises `InvalidConfiguration` for a broker that no client could reach."""
    for key, plain, tls in (
        ("brokerServicePort", config.server.broker_port, config.tls.broker_port),
        ("webServicePort", config.server.web_port, config.tls.web_port),
    ):
        if plain < 0 and tls < 0:
            raise InvalidConfiguration(f"{key} has no port: set {key}Tls, or give {key} a port")


def _check_certificates(config: BrokerConfig, addresses: Iterable[BindAddress]) -> None:
    """Raises `InvalidConfiguration` for an address with TLS in a broker without a certificate."""
    secured = next((address for address in addresses if address.is_tls), None)
    if secured is not None and not config.tls.enabled:
        raise InvalidConfiguration(
            f"bindAddresses: {secured.scheme} on {secured.host} needs brokerServicePortTls or webServicePortTls"
        )
