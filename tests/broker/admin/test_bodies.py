"""Invalid bodies are refused with a reason, and a refused body stores nothing."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.config.broker import BrokerConfig
from broker_core.config.features import TransactionConfig
from broker_core.metadata.tenancy.tool_records import KINDS
from broker_core.names import parse_topic
from tests.broker.admin import setters
from tests.broker.admin.conftest import PORT_ZERO, Admin
from tests.broker.admin.namespace_bodies import FULL

PARTS = {
    "cluster": "standalone",
    "tenant": "acme",
    "namespace": "shop",
    "domain": "persistent",
    "topic": "plain",
    "subscription": "s",
    "bundle": "0x00000000_0x40000000",
    "role": "r",
    "name": "n",
    "value": "v",
    "count": "1",
    "timestamp": "1",
    "seconds": "1",
    "domainName": "d",
    **dict.fromkeys(
        ("resourcegroup", "key", "bookie", "partition", "functionName", "instanceId", "type", "packageName"), "x"
    ),
    **dict.fromkeys(("version", "mostSigBits", "leastSigBits", "segment", "first", "second"), "1"),
    "descriptor": "0000-ffff-0",
    "policyName": "p",
}

EXTRA = ("global-topic-policies", *KINDS)

HUGE = "9" * 400
# JSON texts that no route expects; each replaces every value of a sample body.
HOSTILE = {
    "huge": HUGE,
    "long": str(1 << 63),
    "minus": f"-{HUGE}",
    "float": "1e308",
    "infinite": "1e999",
    "nan": "NaN",
    "infinity": "-Infinity",
    "surrogate": '"\\ud800"',
    "list": "[[]]",
    "null": "null",
    "true": "true",
    "text": '"x"',
    "object": '{"a": {"b": [1]}}',
    "surrogate-key": '{"\\udfff": 1}',
    "deep": "[" * 2000 + "]" * 2000,
}


@pytest.fixture
def config() -> BrokerConfig:
    return BrokerConfig(server=PORT_ZERO, transactions=TransactionConfig(enabled=True))


def _samples() -> Iterator[tuple[str, str, Any]]:
    """Method, path, and a valid body of every route that takes one."""
    for route in all_routes().listed:
        bodies = setters.sample(route)
        if route.method in ("PUT", "POST"):
            yield route.method, route.path.format(**PARTS), bodies[0] if isinstance(bodies, tuple) else {}
    yield "PUT", "/admin/v2/namespaces/acme/new", FULL
    yield "PUT", "/admin/v2/tenants/new", {"adminRoles": ["alice"], "allowedClusters": ["standalone"]}
    yield "PUT", "/admin/v2/persistent/acme/shop/new/partitions", {"partitions": 2, "properties": {"a": "b"}}
    yield "POST", "/admin/v2/persistent/acme/shop/parted/partitions", 3
    yield "PUT", "/admin/v2/persistent/acme/shop/new/subscription/s", {"ledgerId": 1, "entryId": 1, "properties": {}}


def _spoiled(body: Any, hostile: str) -> Iterator[str]:
    """The body as JSON text, with each value and the whole replaced."""
    yield hostile
    if isinstance(body, dict):
        for key in body:
            others = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in body.items() if name != key]
            for inner in _spoiled(body[key], hostile):
                yield "{" + ", ".join([f"{json.dumps(key)}: {inner}", *others]) + "}"
    elif isinstance(body, list):
        yield f"[{hostile}]"


def _stored(admin: Admin) -> str:
    """Everything that a request could store, except positions of cursors."""
    metadata = admin.broker.storage.metadata
    kinds = ("cluster", "tenant", "namespace", "topic", "topic-policies", "partitioned-topic", "schema", *EXTRA)
    documents = {kind: metadata.list(kind) for kind in kinds}
    subscriptions = {
        name: {one.name: dict(one.cursor.properties) for one in topic.subscriptions.values()}
        for name, topic in admin.broker.topics.loaded.items()
    }
    return json.dumps([documents, subscriptions], sort_keys=True)


@pytest.mark.parametrize("hostile", HOSTILE)
async def test_an_invalid_body_never_answers_500_and_stores_nothing_when_refused(shop: Admin, hostile: str) -> None:
    await shop("PUT", "persistent/acme/shop/plain/subscription/s")
    before = _stored(shop)
    for method, path, body in _samples():
        for text in _spoiled(body, HOSTILE[hostile]):
            reply = await shop(method, path, raw=text.encode())
            case = f"{method} {path} {text[:200]}: {reply}"
            assert reply.status < 500 or reply.status == 501 or path.endswith("/compatibility"), case
            after = _stored(shop)
            if reply.status >= 400:
                assert reply.reason, case
                assert after == before, case
            before = after
    assert (await shop("GET", "namespaces/acme/shop")).status == 200
    assert (await shop("GET", "namespaces/acme/shop")).json["bundles"]["numBundles"] == 5  # split once
    await shop.broker.topics.get(parse_topic("persistent://acme/shop/plain"))
