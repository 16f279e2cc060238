"""Addresses of brokers, as the configuration, brokers, and clients write them. Pure."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from broker_core.errors import InvalidConfiguration, InvalidValue

DEFAULT_PORTS = {"pulsar": 6650, "pulsar+ssl": 6651, "http": 80, "https": 443}


class Endpoint(NamedTuple):
    """A host in lower case, without brackets, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(text: str, default_port: int | None = None) -> Endpoint:
    """`host:port` or `[IPv6]:port`; raises `InvalidValue`. Without a default the port is required."""
    try:
        parts = urlsplit(f"//{text}")
        port = default_port if parts.port is None else parts.port
    except ValueError:
        raise InvalidValue(f"{text[:300]!r} is not HOST:PORT") from None
    bare = parts.netloc == text and "@" not in text
    if not bare or not parts.hostname or not port or not _is_name(parts.hostname):
        raise InvalidValue(f"{text[:300]!r} is not HOST:PORT")
    return Endpoint(parts.hostname, port)


def parse_target(text: str) -> Endpoint:
    """The broker that a client names in CONNECT: `host:port`; some clients send a scheme, too."""
    scheme, separator, rest = text.partition("://")
    if separator and scheme not in ("pulsar", "pulsar+ssl"):
        raise InvalidValue(f"{text[:300]!r} is not HOST:PORT")
    return parse_endpoint(rest.rstrip("/") if separator else text)


def parse_service_url(text: str, scheme: str) -> tuple[Endpoint, ...]:
    """The addresses in `scheme://a:1,b:2`; raises `InvalidValue`."""
    known, separator, hosts = text.partition("://")
    if not separator or known != scheme:
        raise InvalidValue(f"{text[:300]!r} is not {scheme}://HOST:PORT")
    hosts = hosts.rstrip("/")
    return tuple(dict.fromkeys(parse_endpoint(host.strip(), DEFAULT_PORTS[scheme]) for host in hosts.split(",")))


def configured_endpoints(key: str, url: str, scheme: str) -> tuple[Endpoint, ...]:
    """The hosts of the URL in the setting `key`; raises `InvalidConfiguration`."""
    if not url.startswith(f"{scheme}://"):
        raise InvalidConfiguration(f"{key} must be {scheme}://HOST:PORT, not {url!r}")
    try:
        return parse_service_url(url, scheme)
    except InvalidValue as error:
        raise InvalidConfiguration(f"{key}: {error}") from None


def _is_name(host: str) -> bool:
    """Whether the resolver accepts the name."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return host.isprintable() and " " not in host and len(host) < 254
