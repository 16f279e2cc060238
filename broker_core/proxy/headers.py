"""Which headers of a request and of a response a proxy passes on (RFC 9110, section 7.6.1). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import unquote, unquote_plus

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
# A client could claim to be another one with these.
UNTRUSTED = frozenset({"x-original-principal", "forwarded", "x-forwarded-for", "x-real-ip", "via"})
OWN = frozenset({"host", "content-length", "expect", "origin"})  # the library writes its own
CREDENTIALS = frozenset({"authorization", "x-pulsar-auth-method-name"})

PREFIXES = ("/admin/", "/lookup/")


def request_headers(sent: Iterable[tuple[str, str]], *, keep_credentials: bool) -> list[tuple[str, str]]:
    """The headers for the broker; with the credentials only if the broker is to judge them."""
    dropped = UNTRUSTED | OWN | (frozenset() if keep_credentials else CREDENTIALS)
    return _without(list(sent), dropped)


def response_headers(sent: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers for the client; the length stays, because a response to HEAD has one and no body."""
    return _without(list(sent), frozenset())


def _without(pairs: list[tuple[str, str]], dropped: frozenset[str]) -> list[tuple[str, str]]:
    named = {
        field.strip().lower() for name, value in pairs if name.lower() == "connection" for field in value.split(",")
    }
    gone = HOP_BY_HOP | dropped | named
    return [(name, value) for name, value in pairs if name.lower() not in gone]


def is_passed_on(path: str) -> bool:
    """Whether a path belongs to the brokers. One that a server could shorten to another path does not."""
    plain = unquote(unquote(path))
    parts = plain.replace("\\", "/").split("/")
    return path.startswith(PREFIXES) and not {".", ".."} & set(parts) and plain.isprintable() and "\\" not in path


def without_token(query: str) -> str:
    """The query without the credentials that a client may put there."""
    return "&".join(part for part in query.split("&") if unquote_plus(part.partition("=")[0]) != "token")


def rewritten_lookup(answer: Mapping[str, object], urls: Mapping[str, str]) -> dict[str, object]:
    """The answer to a lookup over HTTP with the addresses of this proxy instead of the broker's."""
    return {**answer, **{name: url for name, url in urls.items() if url or name in answer}}
