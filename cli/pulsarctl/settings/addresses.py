"""The address of a server, as people and brokers write it."""

from urllib.parse import urlsplit


def host_and_port(text: str, default_port: int) -> tuple[str, int]:
    """Splits `host`, `host:port` or `[IPv6]:port`, also after `user@`. Raises `ValueError` with the reason."""
    try:
        parts = urlsplit(f"//{text.rpartition('@')[2]}")
    except ValueError:
        raise ValueError("the brackets of an IPv6 address do not match") from None
    try:
        port = parts.port
    except ValueError:
        raise ValueError("the port must be a number up to 65535") from None
    if not parts.hostname:
        raise ValueError("it names no host")
    if not _can_be_asked_for(parts.hostname):
        raise ValueError(f"no host has the name {parts.hostname!r}")
    return parts.hostname, port or default_port


def _can_be_asked_for(host: str) -> bool:
    """Whether the resolver and the HTTP library take the name; both raise errors of their own for one they do not."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return host.isprintable() and " " not in host
