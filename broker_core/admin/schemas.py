"""`/admin/v2/schemas`: the versions of a topic's schema, for existing and missing topics; the path has no domain.

Statuses and bodies are those of Pulsar 4.0.7, which answers an accepted schema with 200, and a compatibility test of an
incompatible one with 500.
"""

from __future__ import annotations

from typing import Any

from broker_core.admin.call import Answer, Call, json_answer
from broker_core.admin.properties import read_properties
from broker_core.admin.routes import Route
from broker_core.admin.shapes import SCHEMA_PAYLOAD
from broker_core.errors import IncompatibleSchema, InvalidRequest, InvalidSchema, NotFound
from broker_core.metadata.policies.json_values import string
from broker_core.metadata.schema.described import described
from broker_core.metadata.schema.key_value import key_value_data
from broker_core.metadata.schema.registry import SchemaVersion
from broker_core.metadata.schema.schema_data import SchemaData
from broker_core.metadata.schema.schema_type import SchemaType
from broker_core.metadata.schema.strategy import Strategy
from broker_core.names import PERSISTENT, TopicName
from broker_core.rates.long_text import Json
from broker_core.rates.time_slices import sliced
from broker_core.security.operations import TENANT_ADMIN, on_topic


def _sent(call: Call) -> SchemaData:
    """The schema in the body: `type`, `schema`, and `properties`."""
    body = call.json_object()
    name = string(body.get("type"), "type")
    if name not in SchemaType.__members__:
        raise InvalidRequest(f"No such schema type: {name[:60]}")
    if body.get("schema") is None:
        raise InvalidRequest("the schema is missing")
    definition = string(body["schema"], "schema")
    kind = SchemaType[name]
    data = key_value_data(definition) if kind is SchemaType.KEY_VALUE else definition.encode()
    return SchemaData(kind, data, read_properties(call, body.get("properties")))


def _shown(stored: SchemaVersion | None) -> dict[str, Any]:
    if stored is None:
        raise NotFound("Schema not found")
    return described(stored)


def _strategy(call: Call, topic: TopicName) -> Strategy:
    call.broker.tenancy.namespace(topic.namespace)
    return Strategy(call.broker.tenancy.effective.of(topic).schema_compatibility_strategy)


async def get_latest(call: Call) -> dict[str, Any]:
    return _shown(call.broker.schemas.latest(call.topic_of(PERSISTENT)))


async def get_version(call: Call) -> dict[str, Any]:
    return _shown(call.broker.schemas.version(call.topic_of(PERSISTENT), call.number("version")))


async def get_all(call: Call) -> dict[str, Any]:
    """Written one by one: a topic can have many versions with long definitions."""
    versions = call.broker.schemas.versions(call.topic_of(PERSISTENT))
    return {"getSchemaResponses": [Json.of(_shown(stored)) async for stored in sliced(versions)]}


async def post(call: Call) -> dict[str, Any]:
    """Adds a version, or returns the same one; `isAllowAutoUpdateSchema` applies only to producers."""
    topic = call.topic_of(PERSISTENT)
    version = await call.broker.schemas.put(topic, _sent(call), _strategy(call, topic))
    return {"version": {"version": version}}


async def delete(call: Call) -> dict[str, Any]:
    """Adds a version that ends the schema; with `force`, deletes all versions."""
    if call.flag("force"):
        await call.broker.schemas.forget(call.topic_of(PERSISTENT))
        return {"version": -1}
    return {"version": await call.broker.schemas.delete(call.topic_of(PERSISTENT))}


async def check_compatibility(call: Call) -> Answer:
    topic = call.topic_of(PERSISTENT)
    strategy = _strategy(call, topic)
    try:
        await call.broker.schemas.check_compatible(topic, _sent(call), strategy)
    except (IncompatibleSchema, InvalidSchema) as error:
        return json_answer({"reason": error.reason}, 500)
    return json_answer({"schemaCompatibilityStrategy": strategy.value, "compatibility": True}, 202)


async def find_version(call: Call) -> dict[str, Any]:
    """Answer with the version of a schema, or -1 if there is no such version."""
    return {"version": call.broker.schemas.version_of(call.topic_of(PERSISTENT), _sent(call))}


async def metadata(call: Call) -> Any:
    """The ledgers in which Pulsar stores the versions; this broker uses no ledger for them, so the answer is -1."""
    index = [
        {"ledgerId": -1, "entryId": -1, "version": stored.version}
        for stored in call.broker.schemas.versions(call.topic_of(PERSISTENT))
    ]
    return {"info": index[-1], "index": index} if index else Answer(200)


_TOPIC = "/admin/v2/schemas/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route("GET", f"{_TOPIC}/schema", get_latest, on_topic("GET_METADATA")),
    Route("GET", f"{_TOPIC}/schema/{{version}}", get_version, on_topic("GET_METADATA")),
    Route("GET", f"{_TOPIC}/schemas", get_all, on_topic("GET_METADATA")),
    Route("GET", f"{_TOPIC}/metadata", metadata, on_topic("GET_METADATA")),
    Route("POST", f"{_TOPIC}/schema", post, on_topic("PRODUCE"), body=SCHEMA_PAYLOAD),
    Route("DELETE", f"{_TOPIC}/schema", delete, TENANT_ADMIN, query=("force",)),
    Route("POST", f"{_TOPIC}/compatibility", check_compatibility, TENANT_ADMIN, body=SCHEMA_PAYLOAD),
    Route("POST", f"{_TOPIC}/version", find_version, on_topic("GET_METADATA"), body=SCHEMA_PAYLOAD),
)
