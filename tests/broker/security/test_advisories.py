"""One test for each published hole of Pulsar, or of a broker like it, that this broker could have had.

Names of tests begin with what went wrong there. The holes of features that do not exist here (functions, connectors,
transactions, the file packages) are tests that those features are refused.
"""

from __future__ import annotations

import http.client
import inspect
import json
import resource
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.admin.all_routes import all_routes
from broker_core.names import parse_topic
from broker_core.security import basic, passwords
from broker_core.testing import EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandProducer, ServerError
from tests.broker.transactions.commands import ask as ask_in
from tests.broker.transactions.commands import begin, end
from tests.support.raw_client import RawClient
from tests.support.secured import (
    ADMIN,
    NAMESPACE,
    PARTED,
    PLAIN,
    ask,
    config,
    connect,
    prepare,
    raw,
    stranger,
    token,
)

DENIED = {401, 403}
# The last one has a Cyrillic letter.
ODD_ROLES = ["*", "prod*", ".*", "producer.*", "(producer|x)", "pro\\ducer", "Producer", "pr\u043educer"]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config()) as found:
        prepare(found)
        yield found


def produce(broker: EmbeddedBroker, topic: str, *values: bytes) -> None:
    client = connect(broker, ADMIN)
    producer = client.create_producer(topic, batching_enabled=False)
    for value in values:
        producer.send(value)
    client.close()


def backlog(broker: EmbeddedBroker, topic: str, subscription: str) -> int:
    path = f"persistent/{topic.removeprefix('persistent://')}/stats"
    return int(ask(broker, "GET", path).json["subscriptions"][subscription]["msgBacklog"])


def status(broker: EmbeddedBroker, method: str, path: str, role: str, body: Any = None, **headers: str) -> int:
    return ask(broker, method, path, body, role=role, **headers).status


# CVE-2026-105926


@pytest.mark.parametrize("role", ["nothing", "stranger", "consumer"])
def test_schema_commands_register_nothing_for_a_role_that_may_not_produce(broker: EmbeddedBroker, role: str) -> None:
    client = raw(broker, role)
    command = BaseCommand(type=BaseCommand.GET_OR_CREATE_SCHEMA)
    body = command.getOrCreateSchema
    body.request_id, body.topic = 1, PLAIN
    body.schema.name, body.schema.schema_data, body.schema.type = "s", b"", 1  # type: ignore[assignment]  # an enum
    answer = client.ask(command, BaseCommand.GET_OR_CREATE_SCHEMA_RESPONSE)
    assert answer.error_code == ServerError.AuthorizationError
    assert ask(broker, "GET", f"schemas/{NAMESPACE}/plain/schema").status == 404


def test_schemas_are_shown_to_no_role_without_permission(broker: EmbeddedBroker) -> None:
    command = BaseCommand(type=BaseCommand.GET_SCHEMA)
    command.getSchema.request_id, command.getSchema.topic = 1, PLAIN
    answer = raw(broker, "nothing").ask(command, BaseCommand.GET_SCHEMA_RESPONSE)
    assert answer.error_code == ServerError.AuthorizationError


# CVE-2026-105934, CVE-2024-29834


@pytest.mark.parametrize("topic", ["plain", "parted", "parted-partition-0"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "truncate"),
        ("PUT", "unload"),
        ("PUT", "compaction"),
        ("POST", "terminate"),
        ("PUT", "properties"),
        ("DELETE", ""),
    ],
)
def test_calls_that_go_to_every_partition_are_judged_by_the_role_of_the_caller(
    broker: EmbeddedBroker, topic: str, method: str, path: str
) -> None:
    whole = f"persistent/{NAMESPACE}/{topic}" + (f"/{path}" if path else "")
    for role in ("producer", "consumer", "topic-producer", "topic-consumer", "stranger"):
        assert status(broker, method, whole, role, {"a": "b"} if path == "properties" else None) in DENIED
    assert ask(broker, "GET", f"persistent/{NAMESPACE}").json.count(PLAIN) == 1
    assert ask(broker, "GET", f"persistent/{NAMESPACE}/partitioned").json == [PARTED]


@pytest.mark.parametrize("role", ["producer", "stranger", "nothing"])
@pytest.mark.parametrize("topic", ["plain", "parted"])
def test_subscriptions_are_listed_for_no_role_that_may_not_consume(
    broker: EmbeddedBroker, role: str, topic: str
) -> None:
    assert status(broker, "GET", f"persistent/{NAMESPACE}/{topic}/subscriptions", role) in DENIED


@pytest.mark.parametrize("role", ["producer", "consumer"])
def test_properties_of_a_namespace_are_changed_by_its_admins_only(broker: EmbeddedBroker, role: str) -> None:
    assert status(broker, "PUT", f"namespaces/{NAMESPACE}/properties", role, {"a": "b"}) in DENIED
    assert ask(broker, "GET", f"namespaces/{NAMESPACE}/properties").json == {}


# CVE-2026-105938


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"namespaces/{NAMESPACE}/clearBacklog/kept"),
        ("POST", f"namespaces/{NAMESPACE}/clearBacklog"),
        ("POST", f"namespaces/{NAMESPACE}/unsubscribe/kept"),
        ("POST", f"persistent/{NAMESPACE}/kept/subscription/kept/skip_all"),
        ("POST", f"persistent/{NAMESPACE}/kept/subscription/kept/expireMessages/1"),
        ("POST", f"persistent/{NAMESPACE}/kept/all_subscription/expireMessages/1"),
        ("DELETE", f"persistent/{NAMESPACE}/kept/subscription/kept"),
        ("GET", f"persistent/{NAMESPACE}/kept/subscription/kept/position/1"),
    ],
)
def test_the_roles_of_a_subscription_count_on_every_way_to_its_backlog(
    broker: EmbeddedBroker, method: str, path: str
) -> None:
    topic = f"persistent://{NAMESPACE}/kept"
    assert ask(broker, "PUT", f"persistent/{NAMESPACE}/kept/subscription/kept").status in (204, 409)
    assert ask(broker, "POST", f"namespaces/{NAMESPACE}/permissions/subscription/kept", ["someone"]).status == 204
    produce(broker, topic, b"message")
    before = backlog(broker, topic, "kept")
    assert status(broker, method, path, "consumer") in DENIED
    assert (before > 0, backlog(broker, topic, "kept")) == (True, before)


# CVE-2026-105932, CVE-2024-28098


@pytest.mark.parametrize("domain", ["persistent", "non-persistent"])
def test_policies_of_topics_are_changed_and_shown_in_no_domain_by_a_permission(
    broker: EmbeddedBroker, domain: str
) -> None:
    routes = [one for one in all_routes().listed if str(one.operation).startswith("topicPolicy:")]
    assert {one.operation.name.split("_")[0] for one in routes} > {"RETENTION", "ENTRY", "MAX", "TTL"}
    wrong = []
    for route in routes:
        path = route.path.replace("{domain}", domain).replace("{tenant}/{namespace}", NAMESPACE)
        path = path.replace("{topic}", "plain").replace("{cluster}", "standalone")
        for role in ("producer", "consumer", "topic-producer", "topic-consumer"):
            found = status(broker, route.method, path, role)
            if found not in DENIED:
                wrong.append((route.method, path, role, found))
    assert wrong == []


# CVE-2026-105930, 105935, 105936, 105945, CVE-2023-37579, CVE-2024-27135, 27317, 27894


@pytest.mark.parametrize(
    "path",
    [
        "/admin/v3/functions/acme/shop",
        "/admin/v3/functions/connectors",
        "/admin/v3/sinks/acme/shop",
        "/admin/v3/sources/acme/shop",
        "/admin/v3/packages/function/acme/shop/..%2F..%2Fetc/versions",
        "/admin/v2/worker/cluster",
    ],
)
def test_functions_connectors_and_packages_answer_nothing_to_roles_without_permission(
    broker: EmbeddedBroker, path: str
) -> None:
    found = ask(broker, "GET", path, role="nothing")
    assert found.status in {401, 403, 404, 405, 501, 503}
    assert "root:" not in found.text


# CVE-2021-22160, CVE-2026-105931: tests of tokens (test_token.py), commands that do not exist, and foreign transactions


@pytest.mark.parametrize("kind", [BaseCommand.END_TXN_ON_PARTITION, BaseCommand.END_TXN_ON_SUBSCRIPTION])
def test_commands_between_brokers_are_refused(broker: EmbeddedBroker, kind: BaseCommand.Type.ValueType) -> None:
    assert ask_in(raw(broker, "producer"), kind).error == ServerError.NotAllowedError


@pytest.mark.parametrize("kind", [BaseCommand.END_TXN, BaseCommand.ADD_PARTITION_TO_TXN])
def test_the_transaction_of_another_role_does_not_exist(
    broker: EmbeddedBroker, kind: BaseCommand.Type.ValueType
) -> None:
    transaction = begin(raw(broker, "producer"))
    assert ask_in(raw(broker, "consumer"), kind, **transaction).error == ServerError.TransactionNotFound
    assert not end(raw(broker, "producer"), transaction, commit=False).HasField("error")


# CVE-2021-41571


def test_a_message_of_another_topic_is_not_shown_by_its_position(broker: EmbeddedBroker) -> None:
    for name in ("mine", "theirs"):
        produce(broker, f"persistent://{NAMESPACE}/{name}", name.encode())
    stats = ask(broker, "GET", f"persistent/{NAMESPACE}/theirs/internalStats").json
    ledger = stats["ledgers"][-1]["ledgerId"]
    assert ask(broker, "GET", f"persistent/{NAMESPACE}/theirs/ledger/{ledger}/entry/0").text.endswith("theirs")
    found = ask(broker, "GET", f"persistent/{NAMESPACE}/mine/ledger/{ledger}/entry/0")
    assert found.status in {404, 412}
    assert "theirs" not in found.text


# CVE-2022-34321, CVE-2023-37544


@pytest.mark.parametrize(
    "path",
    ["/proxy-stats/connections", "/ws/pingpong", "/ws/v2/producer/persistent/acme/shop/plain", "/", "/metrics/x"],
)
def test_no_path_answers_a_client_without_credentials(broker: EmbeddedBroker, path: str) -> None:
    assert ask(broker, "GET", path, role="").status == 401


# CVE-2023-30428, CVE-2023-30429


@pytest.mark.parametrize(
    ("role", "original", "path", "allowed"),
    [
        ("producer", "admin", "tenants", False),
        ("producer", "admin", f"persistent/{NAMESPACE}/plain/stats", False),
        ("admin", "producer", "tenants", False),
        ("proxy", "admin", "tenants", False),
        ("proxy", "stranger", f"persistent/{NAMESPACE}/plain/stats", False),
        ("proxy", "", f"persistent/{NAMESPACE}/plain/stats", False),
        ("proxy", "proxy", f"persistent/{NAMESPACE}/plain/stats", False),
        ("proxy", "\u00a0producer", f"persistent/{NAMESPACE}/plain/stats", False),
        ("proxy", "pr\u00f6ducer", f"persistent/{NAMESPACE}/plain/stats", False),
        ("proxy", "producer", f"persistent/{NAMESPACE}/plain/stats", True),
        ("producer", "producer", f"persistent/{NAMESPACE}/plain/stats", True),
    ],
)
def test_a_custom_header_gives_no_client_the_permissions_of_another(
    broker: EmbeddedBroker, role: str, original: str, path: str, allowed: bool
) -> None:
    headers = {"X_Original_Principal": original} if original else {}
    assert (status(broker, "GET", path, role, **headers) == 200) is allowed


@pytest.mark.parametrize("original", [" admin", "admin ", "admin\u00a0", "ad\x00min", "admin\n", " "])
def test_a_proxy_cannot_name_a_role_that_no_client_can_have(broker: EmbeddedBroker, original: str) -> None:
    client = stranger(broker)
    data = token("proxy").encode()
    client.send(client_commands.connect("raw", auth_method_name="token", auth_data=data, original_principal=original))
    assert "Invalid roles" in client.expect(BaseCommand.ERROR).message


@pytest.mark.parametrize("name", ["Authorization", "X-Original-Principal", "X-Pulsar-Auth-Method-Name"])
def test_a_header_that_says_who_the_client_is_must_not_be_there_twice(broker: EmbeddedBroker, name: str) -> None:
    values = {
        "Authorization": (f"Bearer {token('producer')}", f"Bearer {token(ADMIN)}"),
        "X-Original-Principal": ("producer", ADMIN),
        "X-Pulsar-Auth-Method-Name": ("token", "basic"),
    }[name]
    connection = http.client.HTTPConnection("127.0.0.1", int(broker.http_url.rpartition(":")[2]), timeout=10)
    connection.putrequest("GET", f"/admin/v2/persistent/{NAMESPACE}/plain/stats")
    if name != "Authorization":
        connection.putheader("Authorization", f"Bearer {token('proxy')}")
    for value in values:
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 401
    connection.close()


# CVE-2023-51437, Kafka CVE-2021-38153


def test_passwords_are_compared_in_constant_time_and_an_unknown_user_costs_a_comparison() -> None:
    assert "compare_digest" in inspect.getsource(passwords._same)
    assert "==" not in inspect.getsource(basic.BasicProvider.authenticate)


# Kafka CVE-2017-12610


def test_a_client_cannot_become_another_role_later(broker: EmbeddedBroker) -> None:
    client = raw(broker, "producer")
    client.send(client_commands.auth_response("raw", "token", token(ADMIN).encode()))
    assert client.is_closed()


# Kafka CVE-2022-34917


def test_a_length_that_a_client_announces_takes_no_memory(broker: EmbeddedBroker) -> None:
    clients = [raw(broker, "producer") for _ in range(20)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for client in clients:
        client.send((5 << 20).to_bytes(4, "big"))
    assert ask(broker, "GET", "tenants").status == 200
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB


# Redpanda CVE-2023-30450, Mosquitto CVE-2018-12550


def test_super_users_are_not_changed_over_rest(broker: EmbeddedBroker) -> None:
    assert ask(broker, "POST", "brokers/configuration/superUserRoles/producer").status in {404, 412}
    assert status(broker, "GET", "tenants", "producer") in DENIED


# Mosquitto CVE-2017-7650, RabbitMQ CVE-2026-44838


@pytest.mark.parametrize("role", ODD_ROLES)
def test_a_role_is_never_a_pattern(broker: EmbeddedBroker, role: str) -> None:
    client = raw(broker, role)
    body = CommandProducer(topic=PLAIN, producer_id=1, request_id=1)
    client.send(frame(BaseCommand(type=BaseCommand.PRODUCER, producer=body)))
    assert client.expect(BaseCommand.ERROR).error == ServerError.AuthorizationError


# Names


@pytest.mark.parametrize(
    "local",
    ["plain-partition--1", "plain-partition-00", "plain-partition-0-partition-1", "Plain", "plain%2F", "plain "],
)
def test_a_permission_on_a_topic_covers_no_name_that_looks_like_it(broker: EmbeddedBroker, local: str) -> None:
    client = raw(broker, "topic-producer")
    topic = f"persistent://{NAMESPACE}/{local}"
    body = CommandProducer(topic=topic, producer_id=1, request_id=1)
    client.send(frame(BaseCommand(type=BaseCommand.PRODUCER, producer=body)))
    assert client.expect(BaseCommand.ERROR).error in (ServerError.AuthorizationError, ServerError.InvalidTopicName)
    assert parse_topic(topic).local not in broker.broker.topics.loaded


@pytest.mark.parametrize(
    "path",
    [
        "namespaces/acme%2Fshop/../../other",
        "persistent/acme%2Fshop/plain/stats",
        "persistent/acme/shop%2Fplain/stats",
        "persistent/acme/shop/..%2F..%2Fother%2Fsecret/stats",
        "tenants/acme%00",
        "tenants/%2e%2e",
        "tenants/acme/",
        "//tenants",
    ],
)
def test_no_spelling_of_a_path_goes_around_the_permissions(broker: EmbeddedBroker, path: str) -> None:
    assert status(broker, "GET", path, "stranger") >= 400


def test_requests_before_connect_do_nothing(broker: EmbeddedBroker) -> None:
    for data in (client_commands.lookup(1, PLAIN), client_commands.topics_of_namespace(1, NAMESPACE)):
        client: RawClient = stranger(broker)
        client.send(data)
        assert client.is_closed()


def test_an_error_shows_no_traceback_and_no_secret(broker: EmbeddedBroker) -> None:
    for path in ("brokers/configuration/runtime", "tenants/nowhere", "persistent/a/b/c/stats"):
        found = ask(broker, "GET", path)
        assert "Traceback" not in found.text
        assert json.dumps("MDEyMzQ1")[1:-1] not in found.text
