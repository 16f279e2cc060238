"""Rules for requests that a web page in a browser on this machine sends. Pure.

Without authentication, everyone who reaches the admin port can use it, and a browser reaches it on behalf of any open
page. Two headers reveal a page, and no script can change them. A page of another site sends `Origin` or
`Sec-Fetch-Site` (W3C, "Fetch Metadata Request Headers"). A page whose name was pointed at 127.0.0.1 (DNS rebinding) is
of the same site for the browser, but sends that name as `Host`. Tools are not affected: they send neither of the first
two, and reach a broker by an address or by a name of the broker.

Every method is checked, because some of Pulsar's GETs change something: peeking creates a subscription, and reading
partitions with `checkAllowAutoCreation` creates a topic.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

SETTING = "webServiceAllowedHosts"
ANY_HOST = "*"

# Names that no page can have: they cannot be registered, or resolve to the host of containers.
_RESERVED = frozenset({"localhost", "host.docker.internal", "host.containers.internal"})
_OF_PROXIES = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
_HOST_AND_PORT = re.compile(r"(?:\[(?P<address>[^\[\]]*)\]|(?P<name>[^\[\]:@/?#\\\s,]*))(?::[0-9]*)?")
_TRUSTED_SITES = frozenset({"same-origin", "none"})  # none: the user typed the address


class BrowserRules(NamedTuple):
    """`own`: the names of this server; `allowed`: names that the operator added. In lower case.

    `command` runs the server, for advice.
    """

    own: frozenset[str]
    allowed: frozenset[str]
    command: str = "pulsarctl standalone"

    @classmethod
    def of(cls, own: Iterable[str], allowed: str, command: str = command) -> BrowserRules:
        """`allowed` is the text of the setting: names separated by commas."""
        names = frozenset(name.lower() for name in own if name)
        added = frozenset(name.strip().lower() for name in allowed.split(",") if name.strip())
        return cls(_RESERVED | names, added, command)

    def refusal(self, headers: Mapping[str, str], *, over_loopback: bool) -> str | None:
        """Why the request is refused; None if it is allowed. `headers` compares names without case."""
        host, origin, site = headers.get("Host", ""), headers.get("Origin"), headers.get("Sec-Fetch-Site")
        if over_loopback and host and _HOST_AND_PORT.fullmatch(host) is None:
            return f"cannot answer a request whose Host header is not a host name and a port: {host!r:.100}"
        if over_loopback and host and not self._is_ours(_name(host)):
            return (
                f"cannot answer to the host name {_name(host)!r}: it is not this server's, so a web page may have sent"
                f" the request. If the name is yours, allow it: {self.command} -X {SETTING}={_name(host)}"
            )
        if origin is not None and not self._may_ask(origin, host):
            return (
                f"cannot answer a web page of {origin}: it may not use this server. To allow the pages of a host:"
                f" {self.command} -X {SETTING}=NAME"
            )
        if site is not None and site not in _TRUSTED_SITES:
            return "cannot answer a web page of another site; open the address directly, or use curl"
        if over_loopback and site is None and origin is None and _is_browser(headers):
            return (
                "cannot answer a browser that does not say which page a request comes from; use a current browser and"
                " the host name localhost, or curl"
            )
        return None

    def _is_ours(self, name: str) -> bool:
        known = name in self.own or name in self.allowed or ANY_HOST in self.allowed
        return known or name.endswith(".localhost") or _is_address(name)

    def _may_ask(self, origin: str, host: str) -> bool:
        """Whether the page is this broker's, or of a host that the operator added."""
        _, separator, page = origin.lower().partition("://")
        if not separator:
            return False  # "null": a page that hides its origin
        name = _name(page)
        return name in self.allowed or (page == host.lower() and self._is_ours(name))


def is_loopback(address: str) -> bool:
    """Whether the local address of a connection is a loopback address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


def came_in_clear(headers: Mapping[str, str]) -> bool:
    """Whether a proxy passed the request on and did not say that it came over TLS. `headers` ignores the case of names.

    Only proxies send these headers, and a client that adds them can only lose by it.
    """
    if not any(name in headers for name in _OF_PROXIES):
        return False
    protocols = [value.strip().lower() for value in headers.get("X-Forwarded-Proto", "").split(",") if value.strip()]
    protocols += [value.lower() for value in re.findall(r'(?i)\bproto="?(\w+)', headers.get("Forwarded", ""))]
    return not protocols or set(protocols) != {"https"}


def _name(host: str) -> str:
    """`host` without its port, in lower case; an IPv6 address without its brackets. Empty if it is not a host."""
    match = _HOST_AND_PORT.fullmatch(host)
    if match is None:
        return ""
    return (match["address"] or match["name"].removesuffix(".")).lower()


def _is_address(name: str) -> bool:
    """Whether the name is an address: it cannot be pointed elsewhere, so no page of another site has it."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_browser(headers: Mapping[str, str]) -> bool:
    return headers.get("User-Agent", "").startswith("Mozilla/")
