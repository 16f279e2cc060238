"""`/lookup/v2/topic`: which broker serves a topic, for clients with an http:// service URL."""

from __future__ import annotations

from broker_core.admin.call import Answer, Call, text
from broker_core.admin.routes import Route
from broker_core.errors import BrokerError, TopicNotFound
from broker_core.names import SCALABLE, TopicName
from broker_core.security.operations import on_namespace, on_topic


async def lookup(call: Call) -> dict[str, str]:
    """Always this broker. C++ clients need a TLS key next to `brokerUrl`, so the old one stays, empty."""
    try:
        urls = _addresses(call, call.topic())
    except BrokerError:
        call.broker.lookups.fail()
        raise
    call.broker.lookups.add()
    return urls


async def lookup_scalable(call: Call) -> dict[str, str]:
    """Like `lookup`, for a scalable topic. Raises `TopicNotFound` if it does not exist."""
    name = call.topic_of(SCALABLE)
    call.broker.scalable.records.find(name)
    return _addresses(call, name)


def _addresses(call: Call, name: TopicName) -> dict[str, str]:
    broker = call.broker
    urls = broker.addresses(call.query.get("listenerName") or call.headers.get(_LISTENER_HEADER, "") or call.listener)
    broker.tenancy.check_namespace_of(name)
    known = name.is_scalable or broker.partitioned.count(name) or broker.topics.exists(name)
    if not known and not broker.config.topics.allow_auto_creation:
        raise TopicNotFound("Topic not found.")
    addresses = {
        "brokerUrl": urls.service_url,
        "brokerUrlTls": urls.service_url_tls,
        "httpUrl": urls.http_url or broker.http_url,
        "httpUrlTls": urls.http_url_tls or broker.http_url_tls,
        "nativeUrl": urls.service_url or urls.service_url_tls,
        "brokerUrlSsl": "",
    }
    return {key: url for key, url in addresses.items() if url or key == "brokerUrlSsl"}


async def bundle(call: Call) -> Answer:
    name = call.topic()
    call.broker.tenancy.check_namespace_of(name)
    return text(call.broker.tenancy.namespace(name.namespace).bundles.bundle_of(str(name)))


_LISTENER_HEADER = "X-Pulsar-ListenerName"
_TOPIC = "/lookup/v2/topic/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route(
        "GET",
        "/lookup/v2/topic/topic/{tenant}/{namespace}/{topic}",
        lookup_scalable,
        on_topic("LOOKUP"),
        query=("listenerName",),
        domain=SCALABLE,
    ),
    Route("GET", _TOPIC, lookup, on_topic("LOOKUP"), query=("listenerName",)),
    Route("GET", f"{_TOPIC}/bundle", bundle, on_namespace("GET_BUNDLE")),
)
