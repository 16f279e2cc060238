"""The addresses of servers, as people and brokers write them."""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from pulsarctl.errors import UsageProblem

DEFAULT_PORTS = {"pulsar": 6650, "pulsar+ssl": 6651, "http": 80, "https": 443}


class Address(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        """`host:port`, with brackets around an IPv6 address."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def service_addresses(service_url: str) -> list[Address]:
    """The address of each server in `pulsar://a:6650,b:6650`, to try in this order. Raises `UsageProblem`."""
    scheme, separator, rest = service_url.partition("://")
    if not separator or scheme not in DEFAULT_PORTS:
        hint = "use SCHEME://HOST:PORT with the scheme " + ", ".join(DEFAULT_PORTS)
        raise UsageProblem(f"'{service_url}' is not a service URL", hint=hint)
    try:
        hosts = rest.split("/", 1)[0].split(",")
        return [Address(*host_and_port(host.strip(), DEFAULT_PORTS[scheme])) for host in hosts]
    except ValueError as error:
        raise UsageProblem(
            f"'{service_url}' is not a service URL: {error}", hint=f"use {scheme}://HOST:PORT"
        ) from error


def admin_urls(web_url: str) -> list[str]:
    """The base URL of each host in `http://a:8080,b:8080`. Raises `UsageProblem`."""
    scheme, separator, hosts = web_url.partition("://")
    if not separator or scheme not in ("http", "https") or not hosts.strip("/"):
        raise _no_url(web_url, "")
    bases = [f"{scheme}://{host.strip().rstrip('/')}" for host in hosts.split(",") if host.strip()]
    for base in bases:
        admin_address(base)
    return bases


def admin_address(base: str) -> tuple[str, int]:
    """Host and port. Raises `UsageProblem`."""
    scheme, _, rest = base.partition("://")
    try:
        return host_and_port(re.split("[/?#]", rest, maxsplit=1)[0], DEFAULT_PORTS[scheme])
    except ValueError as error:
        raise _no_url(base, f": {error}") from error


def _no_url(url: str, why: str) -> UsageProblem:
    return UsageProblem(f"'{url}' is not an admin URL{why}", hint="use http://HOST:PORT, such as http://localhost:8080")


def host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Splits `host`, `host:port` or `[IPv6]:port`, also after `user@`. Raises `ValueError` with the reason."""
    try:
        parts = urlsplit(f"//{text.rpartition('@')[2]}")
    except ValueError:
        raise ValueError("the brackets of an IPv6 address do not match") from None
    try:
        port = default_port if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not port:
        raise ValueError("the port must be a number from 1 to 65535")
    if not parts.hostname:
        raise ValueError("it names no host")
    if not _can_be_asked_for(parts.hostname):
        raise ValueError(f"no host has the name {parts.hostname!r}")
    return parts.hostname, port


def _can_be_asked_for(host: str) -> bool:
    """Whether the resolver and the HTTP library accept the name, which otherwise raise errors of their own."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return host.isprintable() and " " not in host
