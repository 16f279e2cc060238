"""Sends mutated HTTP requests to a live broker that wants credentials, each on its own connection.

The invariants: each one is answered, but never with 500, or its connection ends; the broker logs no traceback, and goes
on to answer good requests.
"""

from __future__ import annotations

import json
import logging
import random
import select
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from broker_core.testing import EmbeddedBroker
from tests.long.fuzz.mutation import mutated
from tests.support.secured import ADMIN, ask, config, prepare, token

ANSWER_SECONDS = 60.0
INCOMPLETE_SECONDS = 0.1  # without an answer the broker waits for more of a request, and learns that nothing comes
AT_A_TIME = 16
ROUND = 1_000
_MOST = 1 << 20
_TOPIC = "/admin/v2/persistent/acme/shop/plain"


class HttpRequests:
    """`with HttpRequests() as requests: requests.run(1000, seed=1)`."""

    def __init__(self) -> None:
        free = 1 << 60  # of failed logins that are not delayed
        self._broker = EmbeddedBroker(config=config(failed_attempts=free, failed_attempts_of_user=free))

    def __enter__(self) -> HttpRequests:
        self._broker.start()
        prepare(self._broker)
        self._address = ("127.0.0.1", int(self._broker.http_url.rpartition(":")[2]))
        self._originals = list(_originals())
        return self

    def __exit__(self, *_: object) -> None:
        self._broker.stop()

    def run(self, count: int, seed: int) -> dict[str, int]:
        """How many of `count` mutations of requests were answered with 2xx. Raises `AssertionError`."""
        chance = random.Random(seed)
        found = 0
        with _no_tracebacks(), ThreadPoolExecutor(AT_A_TIME) as pool:
            for done in range(0, count, ROUND):
                round_ = [mutated(chance.choice(self._originals), chance) for _ in range(min(ROUND, count - done))]
                found += sum(pool.map(self._is_accepted, round_))
        assert ask(self._broker, "GET", "tenants").status == 200, "the broker no longer answers"
        return {"HTTP requests": found}

    def _is_accepted(self, request: bytes) -> bool:
        status = self._status(request)
        assert status != 500, f"{request!r} is answered with 500"
        return 200 <= status < 300

    def _status(self, request: bytes) -> int:
        """The status of the first answer; 0 if the broker closed the connection without one."""
        with socket.create_connection(self._address, ANSWER_SECONDS) as connection:
            answer = b""
            try:
                connection.sendall(request)
                select.select([connection], [], [], INCOMPLETE_SECONDS)
                connection.shutdown(socket.SHUT_WR)
                while len(answer) < _MOST and (chunk := connection.recv(65536)):
                    answer += chunk
            except ConnectionError:
                """It may answer, and close, before it has everything."""
        words = answer.split(maxsplit=2)
        return int(words[1]) if len(words) > 1 else 0


def _originals() -> Iterator[bytes]:
    yield _request("GET", "/admin/v2/tenants")
    yield _request("GET", f"{_TOPIC}/stats?getPreciseBacklog=true")
    yield _request("POST", f"{_TOPIC}/retention", json.dumps({"retentionTimeInMinutes": 1, "retentionSizeInMB": 1}))
    yield _request("PUT", f"{_TOPIC}/subscription/s%20x", '{"ledgerId": 1, "entryId": 2}')
    yield _request("GET", "/lookup/v2/topic/persistent/acme/shop/plain", authorization="Basic YWRtaW46cGFzc3dvcmQ=")
    chunked = 'Transfer-Encoding: chunked\r\n\r\n9\r\n["produce\r\n3\r\n"]\n\r\n0\r\n\r\n'
    yield (_head("POST", "/admin/v2/namespaces/acme/shop/permissions/x") + chunked).encode()


def _request(method: str, target: str, body: str = "", authorization: str = "") -> bytes:
    length = f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n" if body else ""
    return f"{_head(method, target, authorization)}{length}\r\n{body}".encode()


def _head(method: str, target: str, authorization: str = "") -> str:
    proof = authorization or f"Bearer {token(ADMIN)}"
    return f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {proof}\r\nConnection: close\r\n"


@contextmanager
def _no_tracebacks() -> Iterator[None]:
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info:
                found.append(record.getMessage())

    collector = Collector(logging.WARNING)
    logging.getLogger().addHandler(collector)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(collector)
    assert not found, f"the broker logged tracebacks: {found[:3]}"
