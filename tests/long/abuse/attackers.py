"""Three attackers, each in a thread: commands, requests, and connections that misbehave below HTTP."""

import contextlib
import http.client
import itertools
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from broker_core.admin.all_routes import all_routes
from broker_core.wire import commands
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.long.abuse import http_table, rest_table, wire_table
from tests.long.abuse.rest_table import RestInput
from tests.long.abuse.tally import Tally
from tests.long.abuse.wire_table import WireInput
from tests.support.raw_client import Closed, RawClient
from tests.support.raw_publishing import producer

ANSWER_SECONDS = 20.0
PAUSE_SECONDS = 1.0  # after a failure, so that a broker that is gone is not asked thousands of times
LONGEST_FAILURE = 500
PREPARE_EVERY = 300  # inputs between two repairs of what they deleted
TENANT = b'{"allowedClusters":["standalone"]}'
PREPARATION = (
    ("PUT", "tenants/abuse", TENANT),
    ("PUT", "namespaces/abuse/wire", b""),  # not touched by the requests
    ("PUT", "persistent/abuse/wire/messages", b""),
    ("PUT", "namespaces/abuse/ns", b""),
    ("PUT", "persistent/abuse/ns/t", b""),
    ("PUT", "persistent/abuse/ns/messages", b""),
    ("PUT", "persistent/abuse/ns/parted/partitions", b"2"),
    ("PUT", "persistent/abuse/ns/t/subscription/s", b""),
)


class Requests:
    """Sends requests byte for byte, one after the other, on one connection while it is open."""

    def __init__(self, http_url: str) -> None:
        parts = urlsplit(http_url)
        self.address = ("127.0.0.1", parts.port or 80)
        self.host = f"localhost:{parts.port}"
        self._socket: socket.socket | None = None

    def ask(self, method: str, target: str, body: bytes = b"") -> tuple[int, bytes]:
        """Returns status and body. Raises `OSError` or `http.client.HTTPException` if there is no answer."""
        reused = self._socket is not None
        try:
            return self._ask(method, target, body)
        except (OSError, http.client.HTTPException):
            self.close()
            if not reused:
                raise
            return self._ask(method, target, body)  # the broker may close a connection between two requests

    def _ask(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        if self._socket is None:
            self._socket = socket.create_connection(self.address, ANSWER_SECONDS)
        head = f"{method} {target} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(body)}\r\n"
        kind = "Content-Type: application/json\r\n" if body else ""
        with contextlib.suppress(ConnectionError):  # it may answer before it has received everything
            self._socket.sendall(f"{head}{kind}\r\n".encode() + body)
        response = http.client.HTTPResponse(self._socket, method=method)
        response.begin()
        found = response.status, response.read()
        if response.will_close:
            self.close()
        return found

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Attack:
    """The common part of the attackers: target, tally, and end."""

    def __init__(self, service_url: str, http_url: str, tally: Tally, seed: int) -> None:
        self.service_url = service_url
        self.http_url = http_url
        self.tally = tally
        self.seed = seed
        self.stopped = threading.Event()

    def start(self) -> list[threading.Thread]:
        requests = Requests(self.http_url)
        self.prepare(requests)
        requests.close()
        works = (self._commands, self._requests, self._connections)
        threads = [threading.Thread(target=self.guarded, args=(work,), name=work.__name__) for work in works]
        for thread in threads:
            thread.start()
        return threads

    def guarded(self, work: Callable[[], None]) -> None:
        """Reports a failure of the attacker itself and goes on, since a run may be long."""
        while not self.stopped.is_set():
            try:
                work()
            except Exception as error:
                failure = f"the attacker {work.__name__} failed: {type(error).__name__}: {error}"
                self.tally.fail(failure[:LONGEST_FAILURE])
                self.seed += 1  # another order, so that the same input does not fail first again
                self.stopped.wait(PAUSE_SECONDS)

    def prepare(self, requests: Requests) -> None:
        for method, path, body in PREPARATION:
            requests.ask(method, f"/admin/v2/{path}", body)

    def _commands(self) -> None:
        chance = random.Random(self.seed)
        table = list(wire_table.table())
        chance.shuffle(table)
        for one in itertools.chain(table, (wire_table.generated(chance) for _ in itertools.count())):
            if self.stopped.is_set():
                return
            if not self.tally.leaves_out(one.name):
                self._command(one)

    def _command(self, one: WireInput) -> None:
        data, started = one.make(), time.time()
        try:
            self._exchange(data, one.prepared)
        except TimeoutError:
            self.tally.fail(f"no PONG within {ANSWER_SECONDS:g} s: {one.name}")
        except ConnectionRefusedError:
            raise  # the broker is gone
        except (ConnectionError, Closed):
            pass  # closing the connection is a valid answer
        self.tally.sent("commands", one.name, started)

    def _exchange(self, data: bytes, prepared: bool) -> None:
        with RawClient(self.service_url, handshake=prepared) as client:
            client.socket.settimeout(ANSWER_SECONDS)
            if prepared:
                client.ask(producer(wire_table.TOPIC), BaseCommand.PRODUCER_SUCCESS)
                client.send(wire_table.prelude())
            client.send(data)
            client.send(commands.ping())
            deadline = time.monotonic() + ANSWER_SECONDS
            while True:
                item = client.next(max(deadline - time.monotonic(), 0.0))
                if isinstance(item, Command) and item.type == BaseCommand.PONG:
                    return

    def _requests(self) -> None:
        chance = random.Random(self.seed)
        requests = Requests(self.http_url)
        for number, one in enumerate(self._rest_inputs(chance)):
            if self.stopped.is_set():
                break
            if number % PREPARE_EVERY == 0:
                self.prepare(requests)
            if not self.tally.leaves_out(one.name):
                self._request(requests, one)
        requests.close()

    def _rest_inputs(self, chance: random.Random) -> Iterator[RestInput]:
        routes = all_routes().listed
        table = list(rest_table.table(routes))
        chance.shuffle(table)
        yield from table
        while True:
            yield rest_table.generated(routes, chance)

    def _request(self, requests: Requests, one: RestInput) -> None:
        body, started = one.body, time.time()
        try:
            status, answer = requests.ask(one.method, one.target, body)
        except ConnectionRefusedError:
            raise  # the broker is gone
        except (OSError, http.client.HTTPException) as error:
            self.tally.fail(f"no answer: {one.name}: {type(error).__name__}: {error}")
        else:
            self.tally.answered(one.name, status, answer)
        self.tally.sent("requests", one.name, started)

    def _connections(self) -> None:
        chance = random.Random(self.seed)
        target = http_table.Target(self.service_url, Requests(self.http_url))
        with contextlib.closing(target.requests):
            for name in self._scripts(chance):
                if self.stopped.is_set():
                    return
                if not self.tally.leaves_out(name):
                    self._connection(target, name)

    def _scripts(self, chance: random.Random) -> Iterator[str]:
        while True:
            yield from chance.sample(list(http_table.TABLE), len(http_table.TABLE))

    def _connection(self, target: http_table.Target, name: str) -> None:
        started = time.time()
        try:
            for status, body in http_table.TABLE[name](target):
                self.tally.answered(name, status, body)
        except ConnectionRefusedError:
            raise  # the broker is gone
        except ConnectionError:
            pass  # closing is a valid answer to what is not HTTP
        except (OSError, http.client.HTTPException) as error:
            self.tally.fail(f"no answer: {name}: {type(error).__name__}: {error}")
        self.tally.sent("connections", name, started)
