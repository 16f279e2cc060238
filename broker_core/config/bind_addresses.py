"""More addresses to listen on, each for one advertised listener: `bindAddresses`, in the form of Pulsar (PIP-95).

A client that comes by such an address gets the addresses of its listener, without naming it.
"""

from collections.abc import Container
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from broker_core.errors import InvalidConfiguration

SCHEMES = ("pulsar", "pulsar+ssl", "http", "https")


class BindAddress(NamedTuple):
    """`port` 0 picks a free one."""

    listener: str
    scheme: str
    host: str
    port: int

    @property
    def is_wildcard(self) -> bool:
        return ip_address(self.host).is_unspecified

    @property
    def is_tls(self) -> bool:
        return self.scheme in ("pulsar+ssl", "https")


def bind_addresses(text: str, listeners: Container[str]) -> tuple[BindAddress, ...]:
    """The addresses of `LISTENER:SCHEME://IP:PORT`, separated by commas; raises `InvalidConfiguration`."""
    addresses = tuple(_entry(entry) for entry in filter(None, (entry.strip() for entry in text.split(","))))
    for address in addresses:
        if address.listener not in listeners:
            raise InvalidConfiguration(f"bindAddresses: advertisedListeners has no listener {address.listener!r}")
    return addresses


def _entry(entry: str) -> BindAddress:
    name, _, url = entry.partition(":")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        ip_address(host)
        usable = parts.scheme in SCHEMES and port is not None and not parts.path.strip("/")
    except ValueError:
        usable = False
    if not name or not usable or port is None:
        raise InvalidConfiguration(
            f"bindAddresses: {entry!r} must be LISTENER:SCHEME://IP:PORT with {', '.join(SCHEMES)}"
        )
    return BindAddress(name, parts.scheme, host, port)
