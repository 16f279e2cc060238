"""Limits on what a client of the admin API may hold: connections, heads, bodies, and answers, and for how long."""

import asyncio
import contextlib
import json
import logging
import socket
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from broker_core.admin.exchange import SLICE_BYTES
from broker_core.config.broker import BrokerConfig
from broker_core.config.http import HttpConfig
from broker_core.names import parse_topic
from broker_core.storage.records.position import LATEST
from broker_core.wire.compression import compress
from broker_core.wire.pulsar_api_pb2 import CompressionType, EncryptionKeys, KeyValue
from tests.broker.admin.conftest import PORT_ZERO, Admin, start

MB = 1 << 20
TOPIC = "persistent/acme/shop/plain"
FULL = "persistent://acme/shop/plain"
POST = b"POST /admin/v2/namespaces/public/default/retention HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def config(request: pytest.FixtureRequest) -> BrokerConfig:
    """A broker with the limits that the test parameter gives."""
    return BrokerConfig(server=PORT_ZERO, http=replace(HttpConfig(), **getattr(request, "param", {})))


def limits(**values: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("config", [values], indirect=True)


async def answer(admin: Admin, sent: bytes) -> tuple[int, str]:
    """Status and reason of the answer to these bytes, on a connection that the broker closes afterwards."""
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    try:
        writer.write(sent)
        async with asyncio.timeout(10):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.transport.abort()  # what the broker has refused to read would hold the connection open
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return int(head.split()[1]), json.loads(body)["reason"]


@limits(idle_seconds=0.1)
async def test_an_unfinished_request_head_times_out(admin: Admin) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()


@limits(idle_seconds=0.1)
async def test_a_body_that_never_arrives_is_408(admin: Admin) -> None:
    status, reason = await answer(admin, POST + b"Connection: close\r\nContent-Length: 100\r\n\r\n{")
    assert (status, reason) == (408, "the request body did not arrive within 0.1 seconds")


async def test_a_head_with_too_many_lines_is_431(admin: Admin) -> None:
    status, reason = await answer(admin, b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(5000)))
    assert status == 431
    assert reason


async def test_a_client_that_has_not_sent_all_of_its_head_sees_the_refusal(admin: Admin) -> None:
    status, reason = await answer(admin, b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(200_000)))
    assert (status, reason) == (431, "the header of a request has more than 32768 bytes")


async def test_a_head_that_is_too_large_is_refused_once(admin: Admin, caplog: pytest.LogCaptureFixture) -> None:
    head = b"POST / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(4000))
    status, _ = await answer(admin, head + b"Content-Length: 5000000\r\n\r\n" + bytes(5_000_000))
    assert status == 431
    assert not [record for record in caplog.records if record.name == "asyncio"]


@limits(max_header_bytes=200)
async def test_any_number_of_requests_may_use_one_connection(admin: Admin) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    for _ in range(20):
        writer.write(b"GET /admin/v2/tenants HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(10):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split()[0]))
    writer.close()


@limits(max_connections=1)
async def test_a_connection_over_the_limit_is_503(admin: Admin) -> None:
    _, held = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    held.write(b"GET / HTTP/1.1\r\n")
    assert await answer(admin, b"") == (503, "more than 1 connections at a time")
    held.close()
    await held.wait_closed()


@limits(max_connections_per_ip=1)
async def test_a_connection_over_the_limit_of_its_address_is_503(admin: Admin) -> None:
    _, held = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    held.write(b"GET / HTTP/1.1\r\n")
    assert await answer(admin, b"") == (503, "more than 1 connections at a time from one address")
    held.close()
    await held.wait_closed()
    while (await answer(admin, b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))[0] == 503:
        """The broker may not have seen the end of the first one yet."""


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"G" * 20_000, POST + b"Content-Length: -1\r\n\r\n"]
)
async def test_what_is_not_http_is_400_with_a_reason_and_without_a_traceback(
    admin: Admin, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    status, reason = await answer(admin, sent)
    assert status == 400
    assert reason.startswith("cannot read the request: ")
    assert not any(record.exc_info for record in caplog.records)


async def test_an_upload_that_is_reset_is_one_line_in_the_log(
    admin: Admin, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr("broker_core.client_log._budget._lines", {})
    with socket.create_connection(("127.0.0.1", admin.server.web_port)) as one:
        one.sendall(POST + b"Content-Length: 100000\r\n\r\n{")
        await admin("GET", "tenants")
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    async with asyncio.timeout(10):
        while "did not arrive completely" not in caplog.text:
            await admin("GET", "tenants")
    assert "Traceback" not in caplog.text


async def test_a_client_that_leaves_before_a_large_answer_leaves_no_traceback(
    shop: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    topic = await shop.broker.topics.get(parse_topic(FULL))
    for number in range(3_000):
        await topic.ledger.open_cursor(f"s-{number}", initial=LATEST, durable=False)
    with socket.create_connection(("127.0.0.1", shop.server.web_port)) as one:
        one.sendall(f"GET /admin/v2/{TOPIC}/internalStats HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    for _ in range(3):  # each takes as long as the abandoned one
        assert len((await shop("GET", f"{TOPIC}/internalStats")).text) > SLICE_BYTES
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("head", [b"Content-Length: 2000000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n1e8480\r\n"])
async def test_a_large_body_is_413_with_a_reason(admin: Admin, head: bytes) -> None:
    status, reason = await answer(admin, POST + b"Connection: close\r\n" + head + b"x" * 2_000_000)
    assert (status, reason) == (413, "the request body has more than 1048576 bytes (httpMaxRequestSize)")


@pytest.mark.parametrize("raw", [b"[" * 900 + b"]" * 900, b"[" * 20_000, b'{"a":' * 20_000])
async def test_a_deeply_nested_body_is_400(admin: Admin, raw: bytes) -> None:
    reply = await admin("POST", "namespaces/public/default/retention", raw=raw)
    assert (reply.status, reply.reason) == (400, "the request body is nested more than 100 deep (httpMaxJsonDepth)")


async def test_a_body_with_too_many_values_is_400(admin: Admin) -> None:
    reply = await admin("POST", "namespaces/public/default/retention", raw=b"[" + b"[]," * 60_000 + b"0]")
    assert (reply.status, reply.reason) == (400, "the request body has more than 30000 values (httpMaxJsonValues)")


async def test_a_batch_index_out_of_range_is_400(shop: Admin) -> None:
    await shop("PUT", f"{TOPIC}/subscription/s")
    body = {"ledgerId": 0, "entryId": 0, "batchIndex": 8_000_000_000}
    reply = await shop("POST", f"{TOPIC}/subscription/s/resetcursor", body)
    assert (reply.status, reply.reason) == (400, "batchIndex must be less than 100000 (maxMessagesPerBatch)")


async def test_half_a_character_is_refused_for_a_reason_that_can_be_read(admin: Admin) -> None:
    reply = await admin("POST", "schemas/public/default/t/schema", raw=b'{"type": "\\ud800"}')
    reason = "type must be Unicode text: '\\ud800' has half of a surrogate pair"
    assert (reply.status, reply.reason) == (400, reason)


# Messages shown by peek and examine


async def publish_zeros(admin: Admin, megabytes: int) -> None:
    size = megabytes * MB
    stored = compress(CompressionType.ZSTD, bytes(size))
    await admin.publish(FULL, [stored], compression=CompressionType.ZSTD, uncompressed_size=size)


@limits(max_shown_mb=2)
async def test_a_message_that_decompresses_beyond_the_limit_is_refused(shop: Admin) -> None:
    await publish_zeros(shop, 3)
    refused = await shop("GET", f"{TOPIC}/examinemessage")
    assert refused.status == 412
    assert refused.reason == f"cannot read the message: {3 * MB} bytes uncompressed; the limit is {2 * MB}"


@limits(max_shown_mb=16, body_memory_mb=24, request_seconds=4)
async def test_an_unread_answer_holds_its_memory_until_it_times_out(shop: Admin) -> None:
    await publish_zeros(shop, 16)
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", shop.server.web_port))
        one.sendall(f"GET /admin/v2/{TOPIC}/examinemessage HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await asyncio.to_thread(one.recv, 1)
        assert (await shop("GET", f"{TOPIC}/examinemessage")).status == 503
        whole = await shop("GET", f"{TOPIC}/examinemessage")
    assert (whole.status, len(whole.text)) == (200, 16 * MB)


@limits(body_memory_mb=2, request_seconds=5)
async def test_a_body_that_nothing_reads_takes_no_room_from_the_message_that_is_asked_for(shop: Admin) -> None:
    await shop.publish(FULL, [b"x"])
    assert (await shop("GET", f"{TOPIC}/examinemessage", raw=b"{}")).text == "x"


@limits(body_memory_mb=2)
async def test_bodies_that_exceed_the_memory_together_are_503(admin: Admin) -> None:
    unfinished = POST + b"Content-Length: 1048576\r\n\r\n" + b" " * (MB - 1)
    answers = {asyncio.create_task(answer(admin, unfinished)) for _ in range(3)}
    done, waiting = await asyncio.wait(answers, timeout=10, return_when=asyncio.FIRST_COMPLETED)
    status, reason = done.pop().result()
    assert (status, reason.startswith("the bodies of other requests use all the memory")) == (503, True)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


@pytest.mark.parametrize(
    "metadata",
    [
        {"properties": [KeyValue(key=f"k{n}", value="v" * 100) for n in range(1000)]},
        {"encryption_keys": [EncryptionKeys(key=f"k{n}", value=b"v") for n in range(100)]},
    ],
    ids=["properties", "keys"],
)
async def test_a_value_that_no_header_can_hold_is_refused(shop: Admin, metadata: dict[str, Any]) -> None:
    await shop.publish(FULL, [b"x"], **metadata)
    refused = await shop("GET", f"{TOPIC}/examinemessage")
    assert refused.status == 412
    assert "do not fit into HTTP headers; consume it instead" in refused.reason


@pytest.mark.parametrize(
    "metadata",
    [
        {"replicate_to": ["c\r\nX-Injected: 1"], "replicated_from": "r\nX-Injected: 1", "uuid": "u\0\r\n"},
        {"event_time": 2**64 - 1},
        {"compression": CompressionType.LZ4, "uncompressed_size": 9, "num_chunks_from_msg": 3, "chunk_id": 0},
    ],
    ids=["line ends", "times", "a chunk"],
)
async def test_any_message_can_be_shown(shop: Admin, metadata: dict[str, Any]) -> None:
    await shop.publish(FULL, [b"x"], **metadata)
    reader, writer = await asyncio.open_connection("127.0.0.1", shop.server.web_port)
    writer.write(f"GET /admin/v2/{TOPIC}/examinemessage HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    assert (head.split()[1], body) == (b"200", b"x")
    assert not any(line.startswith(b"X-Injected") for line in head.splitlines())


async def test_a_client_that_asks_before_it_sends_a_body_is_answered_at_once(admin: Admin) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", admin.server.web_port)
    writer.write(POST + b"Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(10):
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert await reader.readline() == b"\r\n"
        writer.write(b"{}")
        assert (await reader.readline()).split()[1] in (b"204", b"412")
    writer.close()


async def test_a_client_that_leaves_within_a_refused_body_outlives_no_server(tmp_path: Path) -> None:
    server = await start(tmp_path / "data", BrokerConfig(server=PORT_ZERO))
    before = asyncio.all_tasks()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.web_port)
    writer.write(b"POST /admin/v2/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    async with asyncio.timeout(10):
        assert b" 404 " in await reader.readline()
    writer.close()
    await server.stop()
    assert [task for task in asyncio.all_tasks() - before if "Connection.start" in repr(task)] == []
