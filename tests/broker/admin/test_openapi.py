"""The OpenAPI document says what the routing table says, and the broker does what the document says."""

import html
import re

import pytest
import schemathesis

from broker_core.admin.all_routes import all_routes
from broker_core.testing import EmbeddedBroker
from tests.broker.admin.conftest import Admin
from tests.broker.admin.generated import WITH_TRANSACTIONS, run, set_up

ROUTES = all_routes().listed


async def test_the_document_is_valid_and_has_every_route(admin: Admin) -> None:
    reply = await admin("GET", "/openapi.json")
    assert (reply.status, reply.content_type) == (200, "application/json")
    document = reply.json
    schemathesis.openapi.from_dict(document).validate()
    assert document["openapi"] == "3.1.0"
    shown = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert shown == {(route.method, route.path) for route in ROUTES}


async def test_an_operation_shows_its_parameters_its_body_and_who_may_use_it(admin: Admin) -> None:
    paths = (await admin("GET", "/openapi.json")).json["paths"]
    retention = paths["/admin/v2/{domain}/{tenant}/{namespace}/{topic}/retention"]["post"]
    assert retention["summary"] == "Set retention of a topic"
    assert retention["x-operation"] == "topicPolicy:RETENTION_WRITE"
    assert [parameter["name"] for parameter in retention["parameters"]] == [
        "domain",
        "tenant",
        "namespace",
        "topic",
        "isGlobal",
    ]
    body = retention["requestBody"]["content"]["application/json"]["schema"]
    assert body["properties"].keys() == {"retentionTimeInMinutes", "retentionSizeInMB"}
    assert paths["/admin/v2/tenants"]["get"]["x-operation"] == "tenant:LIST_TENANTS"


async def test_every_operation_has_a_name_of_its_own(admin: Admin) -> None:
    paths = (await admin("GET", "/openapi.json")).json["paths"]
    names = [operation["operationId"] for methods in paths.values() for operation in methods.values()]
    assert len(names) == len(set(names)) == len(ROUTES)


async def test_the_page_lists_every_route_and_runs_no_script(admin: Admin) -> None:
    reply = await admin("GET", "/openapi.html")
    assert (reply.status, reply.content_type) == (200, "text/html; charset=utf-8")
    for route in ROUTES:
        assert html.escape(route.path) in reply.text
    assert "<script" not in reply.text and not re.search(r"https?://", reply.text)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_generated_requests_get_an_answer_with_a_reason() -> None:
    with EmbeddedBroker(config=WITH_TRANSACTIONS) as broker:
        set_up(broker.http_url)
        report = run(broker.http_url, examples=1)
    assert report.failures == []
    assert report.operations == len(ROUTES)
    assert report.statuses[200] > 50 and report.statuses[204] > 100
