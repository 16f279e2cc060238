"""Schemas over REST, with the statuses and bodies of Pulsar 4.0.7."""

import json
from pathlib import Path
from typing import Any

import pytest

from broker_core.admin.call import Call
from broker_core.admin.schemas import get_all
from broker_core.config.broker import BrokerConfig
from broker_core.config.features import SchemaConfig
from broker_core.rates.long_text import sliced_json
from tests.broker.admin.conftest import PORT_ZERO, Admin, start

SCHEMAS = "schemas/acme/shop"


def avro(*fields: dict[str, Any], **properties: str) -> dict[str, Any]:
    definition = {"type": "record", "name": "A", "fields": list(fields)}
    return {"type": "AVRO", "schema": json.dumps(definition), "properties": properties}


A = {"name": "a", "type": "int"}
B = {"name": "b", "type": "int", "default": 1}
C = {"name": "c", "type": "int"}
STRING = {"type": "STRING", "schema": "", "properties": {}}


def key_value(key: Any, value: Any, key_type: str, value_type: str) -> dict[str, Any]:
    types = {"key.schema.type": key_type, "value.schema.type": value_type, "kv.encoding.type": "SEPARATED"}
    return {"type": "KEY_VALUE", "schema": json.dumps({"key": key, "value": value}), "properties": types}


async def test_versions_are_counted_from_zero_and_the_same_schema_keeps_its_own(shop: Admin) -> None:
    versions = [(await shop("POST", f"{SCHEMAS}/t/schema", avro(*fields))).json for fields in ([A], [A, B], [A])]
    assert versions == [{"version": {"version": number}} for number in (0, 1, 0)]


async def test_the_latest_one_version_and_all_of_them_are_shown(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A, owner="me"))
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A, B))
    latest = (await shop("GET", f"{SCHEMAS}/t/schema")).json
    assert list(latest) == ["version", "type", "timestamp", "data", "properties"]
    assert (latest["version"], latest["type"], latest["data"]) == (1, "AVRO", avro(A, B)["schema"])
    first = (await shop("GET", f"{SCHEMAS}/t/schema/0")).json
    assert (first["version"], first["data"], first["properties"]) == (0, avro(A)["schema"], {"owner": "me"})
    assert (await shop("GET", f"{SCHEMAS}/t/schemas")).json == {"getSchemaResponses": [first, latest]}


async def test_the_list_of_long_definitions_is_written_one_by_one(shop: Admin) -> None:
    """As one text, 20 definitions of 1 MB stopped everything else for 400 ms."""
    for number in range(3):
        document = json.loads(avro(A)["schema"]) | {"doc": "d" * 500_000, "x": number}
        await shop("POST", f"{SCHEMAS}/t/schema", {**avro(A), "schema": json.dumps(document)})
    call: Any = Call(shop.broker, {"tenant": "acme", "namespace": "shop", "topic": "t"}, {}, b"", {}, None)  # type: ignore[arg-type]  # no body
    pieces = list((await sliced_json(await get_all(call))).taken())
    assert max(map(len, pieces)) < 600_000
    assert [one["version"] for one in json.loads(b"".join(pieces))["getSchemaResponses"]] == [0, 1, 2]


async def test_a_topic_without_a_schema_is_not_found_and_has_no_versions(shop: Admin) -> None:
    for path in ("t/schema", "t/schema/0"):
        reply = await shop("GET", f"{SCHEMAS}/{path}")
        assert (reply.status, reply.reason) == (404, "Schema not found")
    assert (await shop("GET", f"{SCHEMAS}/t/schemas")).json == {"getSchemaResponses": []}


async def test_deleting_adds_a_version_and_hides_earlier_ones(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    assert (await shop("DELETE", f"{SCHEMAS}/t/schema")).json == {"version": 1}
    assert (await shop("GET", f"{SCHEMAS}/t/schema")).status == 404
    assert (await shop("GET", f"{SCHEMAS}/t/schema/0")).status == 404
    assert (await shop("POST", f"{SCHEMAS}/t/schema", STRING)).json == {"version": {"version": 2}}
    assert [one["version"] for one in (await shop("GET", f"{SCHEMAS}/t/schemas")).json["getSchemaResponses"]] == [2]


async def test_deleting_by_force_restarts_the_version_count(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    assert (await shop("DELETE", f"{SCHEMAS}/t/schema?force=true")).json == {"version": -1}
    assert (await shop("POST", f"{SCHEMAS}/t/schema", STRING)).json == {"version": {"version": 0}}


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (avro(C), 409, "Error during schema compatibility check with strategy FULL: A.c was not written"),
        (STRING, 409, "Incompatible schema: exists schema type AVRO, new schema type STRING"),
        ({**avro(A), "schema": "oops"}, 422, "Invalid schema definition data for AVRO schema"),
        ({**avro(A), "schema": '["int","null"]'}, 422, "Avro schema typed [UNION] is not supported"),
        ({**STRING, "schema": "x"}, 422, "Invalid schema definition data for string schema : 'x'"),
        ({**STRING, "type": "INT32", "schema": "oops"}, 422, "Invalid schema definition data for primitive schemas "
         ":length of schema data should be zero, but 4 bytes is found"),
        ({**STRING, "type": "AUTO_CONSUME"}, 422, "Schema AUTO_CONSUME is a client-side schema type"),
        ({**STRING, "type": "PROTOBUF_NATIVE", "schema": "{}"}, 422, "deserialize ProtobufNative Schema failed"),
        ({**STRING, "type": "KEY_VALUE", "schema": "oops"}, 422, "A KEY_VALUE schema is sent as"),
        ({**STRING, "type": "WHAT"}, 400, "No such schema type: WHAT"),
        ({"type": "AVRO"}, 400, "the schema is missing"),
    ],
)  # fmt: skip
async def test_a_schema_is_refused_with_its_reason(shop: Admin, body: Any, status: int, reason: str) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    reply = await shop("POST", f"{SCHEMAS}/t/schema", body)
    assert reply.status == status
    assert reply.reason.startswith(reason)
    assert len((await shop("GET", f"{SCHEMAS}/t/schemas")).json["getSchemaResponses"]) == 1


async def test_an_incompatible_schema_is_refused_with_both_definitions_as_in_pulsar_407(shop: Admin) -> None:
    """Pulsar: `Unable to read schema: {...} using schema: {...}`."""
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    reply = await shop("POST", f"{SCHEMAS}/t/schema", avro(C))
    old, new = avro(A)["schema"], avro(C)["schema"]
    assert reply.reason.endswith(f". Unable to read schema: {old} using schema: {new}")


async def test_a_long_definition_is_cut_in_the_reason(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    body = avro(C)
    document = json.loads(body["schema"]) | {"doc": "d" * 100_000}
    reply = await shop("POST", f"{SCHEMAS}/t/schema", {**body, "schema": json.dumps(document)})
    assert reply.status == 409 and len(reply.reason) < 2_500 and reply.reason.endswith("...")


async def test_the_test_of_compatibility_names_the_strategy_and_changes_nothing(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    reply = await shop("POST", f"{SCHEMAS}/t/compatibility", avro(A, B))
    assert (reply.status, reply.json) == (202, {"schemaCompatibilityStrategy": "FULL", "compatibility": True})
    refused = await shop("POST", f"{SCHEMAS}/t/compatibility", avro(C))
    assert (refused.status, "A.c was not written" in refused.reason) == (500, True)
    assert (await shop("GET", f"{SCHEMAS}/t/schema")).json["version"] == 0


async def test_a_version_is_found_by_its_schema(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A, B))
    assert (await shop("POST", f"{SCHEMAS}/t/version", avro(A, B))).json == {"version": 1}
    assert (await shop("POST", f"{SCHEMAS}/t/version", avro(C))).json == {"version": -1}


async def test_partitions_share_the_schema_of_their_topic(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/parted-partition-1/schema", avro(A))
    assert (await shop("GET", f"{SCHEMAS}/parted/schema")).json["version"] == 0
    await shop("DELETE", "persistent/acme/shop/parted-partition-1?force=true")
    assert (await shop("GET", f"{SCHEMAS}/parted-partition-0/schema")).json["version"] == 0


@pytest.mark.parametrize("topic", ["plain", "parted"])
async def test_the_schema_goes_with_its_topic(shop: Admin, topic: str) -> None:
    await shop("POST", f"{SCHEMAS}/{topic}/schema", avro(A))
    await shop("DELETE", f"persistent/acme/shop/{topic}{'/partitions' if topic == 'parted' else ''}")
    assert (await shop("GET", f"{SCHEMAS}/{topic}/schema")).status == 404
    assert (await shop("POST", f"{SCHEMAS}/{topic}/schema", STRING)).json == {"version": {"version": 0}}


async def test_a_key_value_schema_is_shown_as_it_was_sent(shop: Admin) -> None:
    record = {"type": "record", "name": "A", "fields": [A]}
    sent = key_value(record, "", "AVRO", "STRING")
    await shop("POST", f"{SCHEMAS}/kv/schema", sent)
    shown = (await shop("GET", f"{SCHEMAS}/kv/schema")).json
    assert json.loads(shown["data"]) == {"key": record, "value": ""}
    assert shown["properties"] == sent["properties"]


async def test_bytes_are_not_a_schema(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/t/schema", {**STRING, "type": "BYTES"})
    assert (await shop("GET", f"{SCHEMAS}/t/schema")).json["type"] == "NONE"


async def test_a_namespace_must_exist_to_take_a_schema(shop: Admin) -> None:
    reply = await shop("POST", "schemas/acme/nix/t/schema", avro(A))
    assert (reply.status, reply.reason) == (404, "Namespace does not exist")


async def test_versions_are_not_stored_in_ledgers(shop: Admin) -> None:
    assert (await shop("GET", f"{SCHEMAS}/t/metadata")).text == ""
    await shop("POST", f"{SCHEMAS}/t/schema", avro(A))
    entry = {"ledgerId": -1, "entryId": -1, "version": 0}
    assert (await shop("GET", f"{SCHEMAS}/t/metadata")).json == {"info": entry, "index": [entry]}


async def test_versions_survive_a_restart(tmp_path: Path) -> None:
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    admin = Admin(server)
    await admin("POST", "schemas/public/default/t/schema", avro(A, owner="me"))
    await admin("DELETE", "schemas/public/default/t/schema")
    await admin("POST", "schemas/public/default/t/schema", avro(A, owner="you"))
    before = (await admin("GET", "schemas/public/default/t/schemas")).json
    await server.stop()
    server = await start(tmp_path, BrokerConfig(server=PORT_ZERO))
    after = (await Admin(server)("GET", "schemas/public/default/t/schemas")).json
    await server.stop()
    assert after == before
    assert [one["version"] for one in after["getSchemaResponses"]] == [2]


# Policies


STRICT = SchemaConfig(validation_enforced=True, allow_update=False)


@pytest.mark.parametrize("config", [BrokerConfig(server=PORT_ZERO, schema=STRICT)])
async def test_settings_that_a_namespace_leaves_open_come_from_the_configuration(shop: Admin) -> None:
    assert (await shop("GET", "namespaces/acme/shop/isAllowAutoUpdateSchema")).json is False
    assert (await shop("GET", "namespaces/acme/shop/schemaValidationEnforced")).json is False
    assert (await shop("GET", "namespaces/acme/shop/schemaValidationEnforced?applied=true")).json is True


@pytest.mark.parametrize(
    ("old", "strategy"),
    [
        ("AutoUpdateDisabled", "ALWAYS_INCOMPATIBLE"),
        ("Backward", "BACKWARD"),
        ("ForwardTransitive", "FORWARD_TRANSITIVE"),
    ],
)
async def test_the_older_strategy_applies_while_the_newer_is_not_set(shop: Admin, old: str, strategy: str) -> None:
    await shop("PUT", "namespaces/acme/shop/schemaAutoUpdateCompatibilityStrategy", old)
    assert (await shop("GET", "namespaces/acme/shop/schemaAutoUpdateCompatibilityStrategy")).json == old
    assert (await shop("GET", "namespaces/acme/shop/schemaCompatibilityStrategy")).json == "UNDEFINED"
    applied = "persistent/acme/shop/plain/schemaCompatibilityStrategy?applied=true"
    assert (await shop("GET", applied)).json == strategy
    await shop("PUT", "namespaces/acme/shop/schemaCompatibilityStrategy", "FULL_TRANSITIVE")
    assert (await shop("GET", applied)).json == "FULL_TRANSITIVE"


async def test_a_namespace_that_never_set_the_older_strategy_has_none(shop: Admin) -> None:
    assert (await shop("GET", "namespaces/acme/shop/schemaAutoUpdateCompatibilityStrategy")).status == 204


async def test_the_strategy_of_the_topic_decides(shop: Admin) -> None:
    await shop("POST", f"{SCHEMAS}/plain/schema", avro(A))
    await shop("PUT", "persistent/acme/shop/plain/schemaCompatibilityStrategy", "BACKWARD")
    assert (await shop("POST", f"{SCHEMAS}/plain/schema", avro(A, C))).status == 409
    await shop("PUT", "persistent/acme/shop/plain/schemaCompatibilityStrategy", "FORWARD")
    assert (await shop("POST", f"{SCHEMAS}/plain/schema", avro(A, C))).json == {"version": {"version": 1}}


async def test_system_topics_accept_any_schema(shop: Admin) -> None:
    events = f"{SCHEMAS}/__change_events/schema"
    assert [(await shop("POST", events, body)).status for body in (STRING, avro(A), avro(C))] == [200, 200, 200]


async def test_a_new_namespace_has_no_schemas_of_a_deleted_one(shop: Admin) -> None:
    """Not even of a topic that never existed; schemas of other namespaces stay."""
    for namespace in ("gone", "gone2"):
        assert (await shop("PUT", f"namespaces/acme/{namespace}", {})).status == 204
        assert (await shop("POST", f"schemas/acme/{namespace}/never/schema", avro(A))).status == 200
    assert (await shop("DELETE", "namespaces/acme/gone")).status == 204
    assert (await shop("PUT", "namespaces/acme/gone", {})).status == 204
    assert (await shop("GET", "schemas/acme/gone/never/schema")).status == 404
    assert (await shop("GET", "schemas/acme/gone2/never/schema")).status == 200
