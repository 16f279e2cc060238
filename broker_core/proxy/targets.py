"""Which brokers a client may reach through the proxy. Pure.

The brokers of the configuration are always allowed. Others need their port, host, and address in the
`brokerProxyAllowed...` settings. The proxy connects to the addresses that were checked and resolves no name twice: a
name whose address changes between the check and the connection leads nowhere else.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate

from broker_core.broker_client.addresses import Endpoint
from broker_core.config.proxy import ProxyBrokersConfig
from broker_core.errors import InvalidConfiguration

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
ANY = "*"

# Services that hand out the credentials of a virtual machine, in clouds where the address is not link-local.
METADATA_SERVICES = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "192.0.0.192")))


@dataclass(frozen=True, slots=True)
class Range:
    """Addresses of one version, both ends included."""

    first: Address
    last: Address

    def __contains__(self, address: Address) -> bool:
        return address.version == self.first.version and int(self.first) <= int(address) <= int(self.last)


class Targets:
    """`brokers`: those of the configuration. Raises `InvalidConfiguration`."""

    def __init__(self, config: ProxyBrokersConfig, brokers: Iterable[Endpoint]) -> None:
        self._brokers = frozenset(brokers)
        self._hosts = [re.compile(translate(name.lower())) for name in _listed(config.allowed_hosts)]
        self._ports = _ports(_listed(config.allowed_ports))
        self._any_address, self._ranges = _ranges(_listed(config.allowed_addresses))

    def is_configured(self, target: Endpoint) -> bool:
        return target in self._brokers

    def refusal(self, target: Endpoint) -> str | None:
        """Why the target is refused by its name or its port; None if its addresses decide."""
        if target in self._brokers:
            return None
        if not self.allows_host(target.host):
            return f"host {target.host!r} is neither in brokerServiceURL nor in brokerProxyAllowedHostNames"
        if self._ports is not None and target.port not in self._ports:
            return f"port {target.port} is not in brokerProxyAllowedTargetPorts"
        return None

    def allows_host(self, host: str) -> bool:
        """Whether `brokerProxyAllowedHostNames` matches the host."""
        return any(pattern.match(host) for pattern in self._hosts)

    def reachable(self, target: Endpoint, addresses: Iterable[str]) -> list[str]:
        """The addresses of the target that the proxy may connect to."""
        if target in self._brokers:
            return list(addresses)
        return [text for text in addresses if self._allows(text)]

    def _allows(self, text: str) -> bool:
        try:
            address = _embedded(ipaddress.ip_address(text.partition("%")[0]))
        except ValueError:
            return False
        if any(address in network for network in self._ranges):
            return True
        return self._any_address and not _is_special(address)


def _is_special(address: Address) -> bool:
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address in METADATA_SERVICES
        or (address.version == 4 and int(address) >> 24 == 0)  # 0.0.0.0/8 reaches this machine on Linux
    )


def _embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address leads to, if it does: mapped, 6to4, Teredo, or NAT64 (RFC 6052)."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _ports(listed: list[str]) -> frozenset[int] | None:
    """Return the allowed ports; None stands for every port."""
    if ANY in listed:
        return None
    try:
        return frozenset(map(int, listed))
    except ValueError:
        raise InvalidConfiguration(f"brokerProxyAllowedTargetPorts must list ports or be *, not {listed}") from None


def _ranges(listed: list[str]) -> tuple[bool, list[Range]]:
    """Return whether any address is allowed, and the allowed ranges. A range of all addresses is the same as `*`."""
    ranges, anything = [], False
    for text in listed:
        try:
            network = None if text == ANY else _range(text)
        except ValueError:
            raise InvalidConfiguration(
                f"brokerProxyAllowedIPAddresses must list addresses, networks, or FIRST-LAST, not {text!r}"
            ) from None
        if network is None or int(network.first) == 0:
            anything = True
        else:
            ranges.append(network)
    return anything, ranges


def _range(text: str) -> Range:
    first, separator, last = text.partition("-")
    if separator:
        return Range(ipaddress.ip_address(first.strip()), ipaddress.ip_address(last.strip()))
    network = ipaddress.ip_network(text, strict=False)
    return Range(network.network_address, network.broadcast_address)
