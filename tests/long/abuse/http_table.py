"""Misbehavior below the routes: requests that are not HTTP, aborted uploads, answers that are never read."""

import contextlib
import gzip
import http.client
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.compression import compress
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.long.abuse.wire_table import METADATA, NOT_UTF8_STAND_IN, send_with
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer

if TYPE_CHECKING:
    from tests.long.abuse.attackers import Requests

HELD_SECONDS = 1.0
ANSWER_SECONDS = 20.0
BOMB_BYTES = 127 << 20
MESSAGES = "persistent://abuse/wire/messages"
PATH = "/admin/v2/persistent/abuse/wire/messages"
READ = b"/admin/v2/brokers/ready"

Answers = Iterator[tuple[int, bytes]]


@dataclass
class Target:
    service_url: str
    requests: "Requests"

    def open(self, receive_buffer: int = 0) -> socket.socket:
        one = socket.socket()
        if receive_buffer:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        one.settimeout(ANSWER_SECONDS)
        one.connect(self.requests.address)
        return one


Script = Callable[[Target], Answers]


def _raw(data: bytes) -> Script:
    """Sends the bytes and yields the answer, if one arrives before the connection ends."""

    def script(target: Target) -> Answers:
        with target.open() as one:
            host = f"Host: {target.requests.host}".encode()
            with contextlib.suppress(OSError):  # answered and closed before everything was sent
                one.sendall(data.replace(b"Host: %", host))
                one.shutdown(socket.SHUT_WR)
            yield from _answer(one)

    return script


def _answer(one: socket.socket) -> Answers:
    response = http.client.HTTPResponse(one)
    try:
        response.begin()
        yield response.status, response.read()
    except (http.client.BadStatusLine, http.client.IncompleteRead):
        return


def _aborted(head: bytes, part: bytes) -> Script:
    """Sends a part of the body, then resets the connection."""

    def script(target: Target) -> Answers:
        with target.open() as one:
            one.sendall(head.replace(b"Host: %", f"Host: {target.requests.host}".encode()) + part)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        yield from target_is_there(target)

    return script


def target_is_there(target: Target) -> Answers:
    yield target.requests.ask("GET", READ.decode())


def _held(count: int, data: bytes) -> Script:
    """Opens many connections that never finish a request."""

    def script(target: Target) -> Answers:
        with contextlib.ExitStack() as open_ones:
            for _ in range(count):
                one = open_ones.enter_context(target.open())
                with contextlib.suppress(ConnectionError):
                    one.sendall(data)
            yield from target_is_there(target)
            time.sleep(HELD_SECONDS)  # a client that holds its connections open
            yield from target_is_there(target)

    return script


def _unread(path: str) -> Script:
    """Requests twenty answers and reads none."""

    def script(target: Target) -> Answers:
        publish(target, pb.ZSTD, BOMB_BYTES)
        with contextlib.ExitStack() as open_ones:
            for _ in range(20):
                one = open_ones.enter_context(target.open(receive_buffer=4096))
                one.sendall(f"GET {path} HTTP/1.1\r\nHost: {target.requests.host}\r\n\r\n".encode())
            time.sleep(HELD_SECONDS)  # a client that holds its connections open
            yield from target_is_there(target)

    return script


def _bomb(codec: int, size: int) -> Script:
    """Peeks at a message of zeros that is small when compressed."""

    def script(target: Target) -> Answers:
        publish(target, codec, size)
        yield target.requests.ask("GET", f"{PATH}/examinemessage")

    return script


_packed: dict[tuple[int, int], bytes] = {}


def publish(target: Target, codec: int, size: int) -> None:
    if (codec, size) not in _packed:
        _packed[codec, size] = compress(codec, bytes(size))
    metadata = {**METADATA, "compression": codec, "uncompressed_size": size}
    publish_one(target, metadata, _packed[codec, size])


def publish_one(target: Target, metadata: dict[str, Any], payload: bytes = b"payload") -> None:
    with RawClient(target.service_url) as client:
        client.ask(producer(MESSAGES), BaseCommand.PRODUCER_SUCCESS)
        client.send(send_with(metadata, payload))
        client.next()


HOSTILE_METADATA: dict[str, dict[str, Any]] = {
    "line ends in every text": {
        "producer_name": "p\r\nX-Injected: 1",
        "partition_key": "k\r\nX-Injected: 1\r\n\r\n",
        "replicated_from": "r\nX-Injected: 1",
        "replicate_to": ["c\r\nX-Injected: 1"],
        "encryption_algo": "e\rX-Injected: 1",
        "uuid": "u\0\r\n",
        "properties": [{"key": "k\r\nX: 1", "value": "v\r\nX: 1"}],
    },
    "texts that are not UTF-8": {
        "producer_name": NOT_UTF8_STAND_IN.decode(),
        "partition_key": NOT_UTF8_STAND_IN.decode(),
        "replicate_to": [NOT_UTF8_STAND_IN.decode()],
        "properties": [{"key": NOT_UTF8_STAND_IN.decode(), "value": NOT_UTF8_STAND_IN.decode()}],
    },
    "letters of all kinds": {"partition_key": "ü\u202e\U0001f600", "replicate_to": ["ü\u202e"]},
    "the latest times there are": {"event_time": 2**64 - 1, "deliver_at_time": 2**63 - 1},
    "a publish time that no calendar has": {"publish_time": 2**64 - 1},
    "a megabyte of properties": {"properties": [{"key": f"k{n}", "value": "v" * 100} for n in range(10_000)]},
    "a damaged LZ4": {"compression": pb.LZ4, "uncompressed_size": 100},
    "a damaged ZSTD": {"compression": pb.ZSTD, "uncompressed_size": 100},
    "a damaged SNAPPY": {"compression": pb.SNAPPY, "uncompressed_size": 100},
    "4 GB announced": {"compression": pb.ZLIB, "uncompressed_size": 2**32 - 1},
    "one chunk of three": {
        "compression": pb.LZ4,
        "uncompressed_size": 300,
        "uuid": "u",
        "chunk_id": 0,
        "num_chunks_from_msg": 3,
        "total_chunk_msg_size": 21,
    },
    "a batch of nothing": {"num_messages_in_batch": 0},
    "a batch of less than nothing": {"num_messages_in_batch": -1},
    "encrypted by many": {"encryption_keys": [{"key": f"k{n}", "value": b"v"} for n in range(1_000)]},
}


def _metadata(fields: dict[str, Any]) -> Script:
    def script(target: Target) -> Answers:
        publish_one(target, {**METADATA, **fields})
        for path in ("examinemessage", "lastMessageId", "stats", "internalStats"):
            yield target.requests.ask("GET", f"{PATH}/{path}")

    return script


_POST = b"POST /admin/v2/namespaces/abuse/ns/retention HTTP/1.1\r\nHost: %\r\n"
_GET = b"GET " + READ + b" HTTP/1.1\r\nHost: %\r\n"
_BOMB = gzip.compress(bytes(100 << 20))

TABLE: dict[str, Script] = {
    "upload aborted": _aborted(_POST + b"Content-Length: 100000\r\n\r\n", b"{" * 100),
    "upload aborted at once": _aborted(_POST + b"Content-Length: 100000\r\n\r\n", b""),
    "upload aborted in a chunk": _aborted(_POST + b"Transfer-Encoding: chunked\r\n\r\n", b"ffff\r\nabc"),
    "upload that ends early": _raw(_POST + b"Content-Length: 100\r\n\r\n{}"),
    "upload of a terabyte": _raw(_POST + b"Content-Length: 1000000000000\r\n\r\n{}"),
    "upload of a negative size": _raw(_POST + b"Content-Length: -1\r\n\r\n{}"),
    "upload of two sizes": _raw(_POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
    "upload of a size and in chunks": _raw(
        _POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    ),
    "upload in chunks without a size": _raw(_POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "upload in chunks of 2^64": _raw(_POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\n{}"),
    "upload in a million chunks": _raw(_POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n1\r\n" * 300_000),
    "upload of an unknown coding": _raw(_POST + b"Content-Encoding: nonsense\r\nContent-Length: 2\r\n\r\n{}"),
    "upload of a gzip bomb": _raw(_POST + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_BOMB) + _BOMB),
    "method unknown": _raw(b"FOO " + READ + b" HTTP/1.1\r\nHost: %\r\n\r\n"),
    "method of bytes": _raw(b"\0\1\2 / HTTP/1.1\r\nHost: %\r\n\r\n"),
    "method of 10 KB": _raw(b"G" * 10_000 + b" / HTTP/1.1\r\nHost: %\r\n\r\n"),
    "method CONNECT": _raw(b"CONNECT x:1 HTTP/1.1\r\nHost: %\r\n\r\n"),
    "method OPTIONS of everything": _raw(b"OPTIONS * HTTP/1.1\r\nHost: %\r\n\r\n"),
    "method TRACE": _raw(b"TRACE " + READ + b" HTTP/1.1\r\nHost: %\r\n\r\n"),
    "request of another version": _raw(b"GET / HTTP/9.9\r\nHost: %\r\n\r\n"),
    "request without a version": _raw(b"GET /\r\n\r\n"),
    "request of spaces": _raw(b"   \r\n\r\n"),
    "request for a whole URL": _raw(b"GET http://x:1/metrics HTTP/1.1\r\nHost: %\r\n\r\n"),
    "request of bytes in the path": _raw(b"GET /admin/v2/\xff\xfe\x80/\xf0 HTTP/1.1\r\nHost: %\r\n\r\n"),
    "request with a path of 100 KB": _raw(b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: %\r\n\r\n"),
    "request with a path of 4,000 parts": _raw(b"GET " + b"/x" * 4_000 + b" HTTP/1.1\r\nHost: %\r\n\r\n"),
    "request without a host": _raw(b"GET " + READ + b" HTTP/1.1\r\n\r\n"),
    "request of TLS": _raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)),
    "request of Pulsar's protocol": _raw(frame(BaseCommand(type=BaseCommand.PING, ping=pb.CommandPing()))),
    "headers, 10,000 of them": _raw(_GET + b"".join(b"X-%d: 1\r\n" % n for n in range(10_000)) + b"\r\n"),
    "header of a megabyte": _raw(_GET + b"X: " + b"x" * (1 << 20) + b"\r\n\r\n"),
    "header without a name": _raw(_GET + b": 1\r\n\r\n"),
    "header with NUL": _raw(_GET + b"X: a\0b\r\n\r\n"),
    "header over two lines": _raw(_GET + b"X: a\r\n b\r\n\r\n"),
    "header of an upgrade": _raw(_GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nxx"),
    "header that expects": _raw(_POST + b"Expect: something\r\nContent-Length: 2\r\n\r\n{}"),
    "1,000 requests in one write": _raw((_GET + b"\r\n") * 1_000),
    "100 connections that say nothing": _held(100, b""),
    "100 connections in the middle of a header": _held(100, b"GET / HTTP/1.1\r\nHost: x\r\nX: "),
    "100 connections in the middle of a body": _held(
        100, b"PUT /admin/v2/tenants/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 60_000
    ),
    "answers unread: examinemessage": _unread(f"{PATH}/examinemessage"),
    "answers unread: metrics": _unread("/metrics"),
    **{
        f"bomb of {size >> 20} MB in {name}": _bomb(codec, size)
        for name, codec in (("LZ4", pb.LZ4), ("ZLIB", pb.ZLIB), ("ZSTD", pb.ZSTD), ("SNAPPY", pb.SNAPPY))
        for size in (10 << 20, BOMB_BYTES)
    },
    **{f"message with {what}": _metadata(fields) for what, fields in HOSTILE_METADATA.items()},
}
