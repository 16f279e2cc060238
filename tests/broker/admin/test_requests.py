"""What all requests share: paths, bodies, errors."""

import asyncio
import socket

import pytest

from broker_core.admin.call import Call
from broker_core.admin.routes import Match, Route, Routes
from broker_core.security.operations import ANYONE
from tests.broker.admin.conftest import Admin


async def handler(call: Call) -> None: ...


async def other(call: Call) -> None: ...


PARTITIONED = Route("GET", "/a/{tenant}/{namespace}/partitioned", handler, ANYONE)
GET_TOPIC = Route("GET", "/a/{tenant}/{namespace}/{topic}", other, ANYONE)
PUT_TOPIC = Route("PUT", "/a/{tenant}/{namespace}/{topic}", other, ANYONE)
ROUTES = Routes([PARTITIONED, GET_TOPIC, PUT_TOPIC])


def test_a_literal_segment_wins_over_a_variable_one() -> None:
    assert ROUTES.find("GET", "/a/t/n/partitioned") == Match(PARTITIONED, {"tenant": "t", "namespace": "n"})


def test_a_variable_segment_takes_methods_that_the_literal_one_lacks() -> None:
    found = ROUTES.find("PUT", "/a/t/n/partitioned")
    assert found == Match(PUT_TOPIC, {"tenant": "t", "namespace": "n", "topic": "partitioned"})


@pytest.mark.parametrize("path", ["/a/t/n/x/", "//a//t/n/x", "/a/t/n/x"])
def test_double_and_trailing_slashes_are_ignored(path: str) -> None:
    assert ROUTES.find("GET", path) == Match(GET_TOPIC, {"tenant": "t", "namespace": "n", "topic": "x"})


def test_path_parts_are_passed_on_unchanged() -> None:
    found = ROUTES.find("GET", "/a/t/n/x%2Fy+z")
    assert isinstance(found, Match)
    assert found.parts["topic"] == "x%2Fy+z"


def test_the_methods_of_a_path_are_known() -> None:
    assert ROUTES.find("DELETE", "/a/t/n/x") == frozenset({"GET", "PUT"})
    assert ROUTES.find("GET", "/nothing") == frozenset()


def test_a_duplicate_route_is_an_error() -> None:
    with pytest.raises(AssertionError, match="GET /a/\\{b\\} is routed twice"):
        Routes([Route("GET", "/a/{b}", handler, ANYONE), Route("GET", "/a/{b}", other, ANYONE)])


async def test_an_unknown_path_is_404_and_an_unknown_method_405_both_with_a_reason(admin: Admin) -> None:
    missing = await admin("GET", "nothing/here/at/all")
    assert (missing.status, missing.reason) == (404, "this broker has no resource at /admin/v2/nothing/here/at/all")
    wrong = await admin("PATCH", "tenants/public")
    assert (wrong.status, wrong.reason) == (
        405,
        "PATCH is not allowed on /admin/v2/tenants/public; allowed: DELETE, GET, POST, PUT",
    )


async def test_a_trailing_slash_is_served(admin: Admin) -> None:
    assert (await admin("GET", "tenants/")).json == ["public", "pulsar"]
    assert (await admin("GET", "/metrics/")).status == 200


@pytest.mark.parametrize("raw", [b"{bad", b"\xff", b"[1,"])
async def test_a_body_that_is_not_json_is_400(admin: Admin, raw: bytes) -> None:
    reply = await admin("PUT", "tenants/acme", raw=raw)
    assert reply.status == 400
    assert reply.reason.startswith("the request body is not JSON")


@pytest.mark.parametrize("raw", [None, b"", b"  ", b"null", b'""', b"{}"])
async def test_an_absent_null_or_empty_body_means_the_same(admin: Admin, raw: bytes | None) -> None:
    assert (await admin("PUT", "namespaces/public/new", raw=raw)).status == 204


async def test_an_unneeded_body_is_ignored(shop: Admin) -> None:
    assert (await shop("DELETE", "persistent/acme/shop/plain", {})).status == 204
    assert (await shop("GET", "tenants", {"x": 1})).status == 200


async def test_a_head_request_is_answered_like_a_get_without_body(admin: Admin) -> None:
    reply = await admin("HEAD", "brokers/health")
    assert (reply.status, reply.text) == (200, "")


async def test_unknown_query_parameters_are_ignored(admin: Admin) -> None:
    assert (await admin("GET", "tenants?authoritative=false&whatever=1")).status == 200


async def test_an_unexpected_failure_is_500_with_a_reason(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> list[str]:
        raise RuntimeError("out of order")

    monkeypatch.setattr(admin.broker.tenancy, "tenants", broken)
    reply = await admin("GET", "tenants")
    assert (reply.status, reply.reason) == (500, "RuntimeError: out of order")


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_every_loopback_address_answers_on_the_same_port(admin: Admin, host: str) -> None:
    if host == "::1" and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    reader, writer = await asyncio.open_connection(host, admin.server.web_port)
    writer.write(b"GET /admin/v2/brokers/ready HTTP/1.0\r\n\r\n")
    assert (await reader.readline()).split()[1] == b"200"
    writer.close()
    await writer.wait_closed()


async def test_a_web_page_may_not_change_anything(admin: Admin) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    head = "POST /admin/v2/persistent/public/default/t/unload HTTP/1.0"
    writer.write(f"{head}\r\nOrigin: http://somewhere.example\r\n\r\n".encode())
    assert (await reader.readline()).split()[1] == b"403"
    writer.close()
    await writer.wait_closed()


async def test_a_body_beyond_a_megabyte_is_refused(admin: Admin) -> None:
    assert (await admin("PUT", "namespaces/public/new", raw=b" " * (1 << 21))).status == 413
