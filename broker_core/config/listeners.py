"""The addresses under which the broker is known in several networks: `advertisedListeners`, in the form of Pulsar.

A client asks for a listener by its name in a lookup, and gets the addresses of that listener.
"""

from typing import NamedTuple
from urllib.parse import urlsplit

from broker_core.errors import InvalidConfiguration

_FIELDS = {"pulsar": "service_url", "pulsar+ssl": "service_url_tls", "http": "http_url", "https": "http_url_tls"}


class ListenerUrls(NamedTuple):
    """URLs, each empty where the listener has no address of that kind."""

    service_url: str = ""
    service_url_tls: str = ""
    http_url: str = ""
    http_url_tls: str = ""


OWN_ADDRESS = "internal"  # the default of internalListenerName in Pulsar 5.0


class Listeners(NamedTuple):
    """`internal`: the addresses for clients that name no listener; empty where the broker's own address is right."""

    by_name: dict[str, ListenerUrls]
    internal: ListenerUrls


def advertised_listeners(text: str, internal: str) -> Listeners:
    """The listeners of `name:URL,name:URL`; raises `InvalidConfiguration` with Pulsar's words.

    `internal` names the default listener; empty means the first. For an address that it lacks, the first listener that
    has one counts. A listener `internal` that is not in the list is the broker's own address, as in Pulsar 5.0.
    """
    listeners: dict[str, ListenerUrls] = {}
    owners: dict[str, str] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, field, url = _entry(entry)
        urls = listeners.setdefault(name, ListenerUrls())
        if getattr(urls, field):
            raise InvalidConfiguration(f"advertisedListeners: there are redundant configure for listener `{name}`")
        address = urlsplit(url).netloc
        if owners.setdefault(address, name) != name:
            raise InvalidConfiguration(f"advertisedListeners: must not specify `{address}` to different listener.")
        listeners[name] = urls._replace(**{field: url})
    if internal == OWN_ADDRESS and internal not in listeners:
        return Listeners(listeners, ListenerUrls())
    if internal and internal not in listeners:
        raise InvalidConfiguration(f"internalListenerName: advertisedListeners has no listener {internal!r}")
    return Listeners(listeners, _default(listeners, internal))


def _default(listeners: dict[str, ListenerUrls], internal: str) -> ListenerUrls:
    first = listeners[internal] if internal else next(iter(listeners.values()), ListenerUrls())
    order = (first, *listeners.values())
    return ListenerUrls(*(next(filter(None, urls), "") for urls in zip(*order, strict=True)))


def _entry(entry: str) -> tuple[str, str, str]:
    """The name, the field of `ListenerUrls`, and the URL."""
    name, separator, url = entry.partition(":")
    scheme = url.partition("://")[0]
    if not separator or not name.strip() or url.startswith("//"):
        raise InvalidConfiguration(
            f"the configure entry `advertisedListeners` is invalid. because {entry} do not contain listener name"
        )
    try:
        parts = urlsplit(url.strip())
        usable = scheme.strip() in _FIELDS and bool(parts.hostname) and bool(parts.port) and not parts.path.strip("/")
    except ValueError:
        usable = False
    if not usable:
        raise InvalidConfiguration(f"advertisedListeners: {url!r} must be SCHEME://HOST:PORT with {', '.join(_FIELDS)}")
    return name.strip(), _FIELDS[scheme.strip()], url.strip().rstrip("/")
