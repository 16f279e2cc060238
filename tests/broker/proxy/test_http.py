"""What passes through the web port of a proxy, and what it says about itself."""

from __future__ import annotations

import dataclasses
import http.client
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pulsar
import pytest

from broker_core.config.proxy import ProxyHttpConfig
from broker_core.testing import EmbeddedBroker
from tests.support.http_stub import HttpStub, Reply, Request
from tests.support.running_proxy import RunningProxy, proxy_config

TOPICS = "/admin/v2/persistent/public/default"


@contextmanager
def before(answer: Callable[[Request], Reply], broker: EmbeddedBroker) -> Iterator[tuple[HttpStub, RunningProxy]]:
    """A proxy in front of a web server with the answers of a test."""
    with HttpStub(answer) as stub, RunningProxy(proxy_config(broker, web_url=stub.url)) as proxy:
        yield stub, proxy


def test_the_admin_api_passes_through(proxy: RunningProxy) -> None:
    assert proxy.ask("PUT", f"{TOPICS}/made").status == 204
    assert "persistent://public/default/made" in proxy.ask("GET", TOPICS).json
    assert proxy.ask("PUT", f"{TOPICS}/made").status == 409
    missing = proxy.ask("GET", f"{TOPICS}/missing/stats")
    assert (missing.status, "reason" in missing.json) == (404, True)


def test_bodies_pass_in_both_directions_unchanged(broker: EmbeddedBroker) -> None:
    large = "x" * 3_000_000
    with before(lambda request: Reply(200, request.body), broker) as (_, proxy):
        assert proxy.ask("POST", "/admin/v2/echo", large.encode()).text == large


def test_answers_without_a_body_leave_the_connection_usable(broker: EmbeddedBroker) -> None:
    replies = {
        "/admin/v2/head": Reply(200, None, {"Content-Length": "7"}),
        "/admin/v2/empty": Reply(204),
        "/admin/v2/unchanged": Reply(304),
    }
    with before(lambda request: replies.get(request.path, Reply(200, "whole")), broker) as (_, proxy):
        connection = http.client.HTTPConnection(proxy.http_url.removeprefix("http://"), timeout=10)
        for path, reply in replies.items():
            connection.request("HEAD" if path.endswith("head") else "GET", path)
            answer = connection.getresponse()
            assert (answer.status, answer.read(), answer.headers["Transfer-Encoding"]) == (reply.status, b"", None)
            assert path != "/admin/v2/head" or answer.headers["Content-Length"] == "7"
        connection.request("GET", "/admin/v2/x")
        assert connection.getresponse().read() == b"whole"
        connection.close()


def test_a_body_that_is_too_large_to_keep_is_streamed(broker: EmbeddedBroker) -> None:
    with HttpStub(lambda request: Reply(200, len(request.body))) as stub:
        config = dataclasses.replace(proxy_config(broker, web_url=stub.url), http=ProxyHttpConfig(max_body_bytes=1024))
        with RunningProxy(config) as proxy:
            assert proxy.ask("POST", "/admin/v2/size", b"x" * 500_000).json == 500_000


def test_headers_of_one_hop_and_of_other_identities_do_not_pass(broker: EmbeddedBroker) -> None:
    with before(lambda _: Reply(200, "ok", {"Keep-Alive": "timeout=5", "X-Answer": "1"}), broker) as (stub, proxy):
        answer = proxy.ask(
            "GET",
            "/admin/v2/x?token=secret&a=1",
            Connection="close, X-Private",
            X_Private="1",
            TE="trailers",
            X_Original_Principal="admin",
            X_Forwarded_For="10.0.0.1",
            Authorization="Bearer secret",
            X_Kept="1",
        )
        [request] = stub.requests
    names = {name.lower() for name in request.headers}
    assert not names & {"te", "x-private", "x-original-principal", "authorization", "keep-alive"}
    assert request.headers["X-Kept"] == "1"
    assert request.headers["X-Forwarded-For"] == "127.0.0.1"
    assert request.headers["Host"] == stub.url.removeprefix("http://")
    assert request.path == "/admin/v2/x?a=1"
    assert "Keep-Alive" not in answer.headers and answer.headers["X-Answer"] == "1"


@pytest.mark.parametrize(
    "path",
    [
        "/metrics/../admin/v2/x",
        "/admin/../secret",
        "/admin/%2e%2e/secret",
        "/admin/%252e%252e/secret",
        "/admin/..%2fsecret",
        "/admin/v2\\..\\x",
        "/secret",
        "/adminx",
        "http://169.254.169.254/admin/v2/x",
        "//169.254.169.254/admin/",
    ],
)
def test_no_other_path_is_passed_on(broker: EmbeddedBroker, path: str) -> None:
    with before(lambda _: Reply(), broker) as (stub, proxy):
        port = int(proxy.http_url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            response = http.client.HTTPResponse(connection)
            response.begin()
            assert response.status == 404
        assert stub.requests == []


def test_a_redirect_to_another_broker_is_followed_with_the_body(broker: EmbeddedBroker) -> None:
    with HttpStub(lambda request: Reply(200, request.body)) as owner:

        def redirect(_: Request) -> Reply:
            return Reply(307, None, {"Location": f"{owner.url}/admin/v2/there"})

        with HttpStub(redirect) as first:
            url = f"{first.url},{owner.url.removeprefix('http://')}"
            with RunningProxy(proxy_config(broker, web_url=url)) as proxy:
                assert proxy.ask("POST", "/admin/v2/here", {"a": 1}).json == {"a": 1}
        assert [request.path for request in owner.requests] == ["/admin/v2/there"]


def test_a_redirect_to_a_broker_that_is_down_is_a_bad_gateway(broker: EmbeddedBroker) -> None:
    with HttpStub(lambda _: Reply(307, None, {"Location": "http://localhost:1/admin/v2/there"})) as first:
        config = proxy_config(broker, web_url=f"{first.url},localhost:1")
        with RunningProxy(config) as proxy:
            answer = proxy.ask("GET", "/admin/v2/here")
            assert answer.status == 502 and "cannot reach the broker at localhost:1" in answer.text


@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/admin/v2/x",
        "http://other.test:8080/admin/v2/x",
        "https://localhost/admin/v2/x",
        "file:///etc/passwd",
        "/relative",
    ],
)
def test_a_redirect_to_anywhere_else_is_refused(broker: EmbeddedBroker, location: str) -> None:
    with before(lambda _: Reply(307, None, {"Location": location}), broker) as (stub, proxy):
        answer = proxy.ask("GET", "/admin/v2/x")
        assert answer.status == 502 and "may not follow" in answer.text
        assert len(stub.requests) == 1


def test_a_circle_of_redirects_over_http_ends(broker: EmbeddedBroker) -> None:
    def again(request: Request) -> Reply:
        return Reply(307, None, {"Location": f"http://{request.headers['Host']}/admin/v2/x"})

    with before(again, broker) as (stub, proxy):
        assert proxy.ask("GET", "/admin/v2/x").json == {"reason": "Reached max number of redirections"}
        assert len(stub.requests) == 21


def test_a_broker_that_is_down_is_a_bad_gateway(broker: EmbeddedBroker) -> None:
    with RunningProxy(proxy_config(broker, web_url="http://localhost:1")) as proxy:
        answer = proxy.ask("GET", "/admin/v2/clusters")
        assert answer.status == 502 and "cannot reach the broker at localhost:1" in answer.text


@pytest.mark.parametrize("path", ["/admin/v2/x", "/lookup/v2/topic/persistent/public/default/t"])
def test_an_answer_that_breaks_off_leaves_no_traceback_in_the_log(
    broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    with before(lambda _: Reply(200, "half", {"Content-Length": "8"}, hangs_up=True), broker) as (_, proxy):
        if path.startswith("/admin"):
            with pytest.raises((http.client.IncompleteRead, ConnectionError)):
                proxy.ask("GET", path)
        else:
            answer = proxy.ask("GET", path)
            assert (answer.status, "lost the connection" in answer.json["reason"]) == (502, True)
    assert not [record for record in caplog.records if record.exc_info]


def test_the_next_broker_is_asked_when_one_is_down(broker: EmbeddedBroker) -> None:
    url = f"http://localhost:1,{broker.http_url.removeprefix('http://')}"
    with RunningProxy(proxy_config(broker, web_url=url)) as proxy:
        assert [proxy.ask("GET", "/admin/v2/clusters").status for _ in range(2)] == [200, 200]


def test_a_lookup_over_http_leads_through_the_proxy(proxy: RunningProxy) -> None:
    answer = proxy.ask("GET", "/lookup/v2/topic/persistent/public/default/t").json
    assert (answer["brokerUrl"], answer["nativeUrl"], answer["httpUrl"]) == (
        proxy.service_url,
        proxy.service_url,
        proxy.http_url,
    )


def test_a_web_page_of_another_site_gets_no_answer(proxy: RunningProxy) -> None:
    assert proxy.ask("GET", "/admin/v2/clusters", Origin="http://evil.test").status == 403
    refused = proxy.ask("GET", "/admin/v2/clusters", Host="evil.test")
    assert refused.status == 403 and "pulsarctl proxy -X webServiceAllowedHosts" in refused.text


def test_the_metrics_have_the_names_of_pulsar(proxy: RunningProxy) -> None:
    lines = proxy.ask("GET", "/metrics").text.splitlines()
    samples = {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}
    assert samples["pulsar_proxy_new_connections_total"] == proxy.gateway.counts.new
    assert {
        "pulsar_proxy_active_connections",
        "pulsar_proxy_rejected_connections_total",
        "pulsar_proxy_binary_ops_total",
        "pulsar_proxy_binary_bytes_total",
        "pulsar_proxy_lookup_requests_total",
        "pulsar_proxy_partitions_metadata_requests_total",
        "pulsar_proxy_rejected_lookup_requests_total",
    } <= set(samples)
    assert all('{cluster="standalone"}' in line for line in lines if not line.startswith("#"))


def test_the_connections_can_be_listed(proxy: RunningProxy, client: pulsar.Client) -> None:
    client.create_producer("listed").send(b"x")
    [row] = proxy.ask("GET", "/proxy-stats/connections").json
    assert row["brokerAddress"].startswith("localhost:") and row["clientAddress"].startswith("/127.0.0.1:")
    assert row["byteRate"] > 0 and row["requestRate"] > 0
    assert proxy.ask("GET", "/proxy-stats/topics").json["reason"] == "Proxy doesn't have logging level 2"
    assert proxy.ask("GET", "/proxy-stats/logging").text == "0"
    assert proxy.ask("POST", "/proxy-stats/logging/0").status == 204
    assert proxy.ask("POST", "/proxy-stats/logging/2").status == 412
