"""`make crowd`: failed logins, slow connections, and many connections, while a client publishes and consumes.

Both come from other loopback addresses than the client, as from other machines. A slow connection sends one byte at a
time, and comes again when the broker has closed it.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import resource
import socket
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.long.abuse import many
from tests.long.abuse.monitor import Log, read_log, resident_mb
from tests.long.soak.client_process import ClientProcess
from tests.support.broker_process import BrokerProcess, port_of
from tests.support.raw_client import Closed, RawClient
from tests.support.secured import ADMIN, SECRET_URL, token

SETTINGS = (
    "authenticationEnabled=true",
    "authenticationProviders=AuthenticationProviderToken",
    f"tokenSecretKey={SECRET_URL}",
    "failedAuthenticationsBeforeRefusal=20",  # so that most logins are refused at once, and not delayed
)
ADDRESSES = 40  # of slow connections, which are limited to 100 for each
KNOCKERS = 8  # threads that fail to log in
QUIET_SECONDS = 2.0  # before the crowd comes
GROWTH_MB = 100.0
DEADLINE_SECONDS = 60.0
BEGINNINGS = (client_commands.connect("slow"), b"GET /admin/v2/tenants HTTP/1.1\r\nHost: localhost\r\n")


@dataclass
class Report:
    """`before` and `during`: what the client saw, in seconds."""

    logins: int = 0
    accepted: int = 0
    connections: int = 0  # the most at a time
    reopened: int = 0
    seconds: float = 0.0
    before: dict[str, Any] = field(default_factory=dict)
    during: dict[str, Any] = field(default_factory=dict)
    memory: tuple[float, float] = (0.0, 0.0)  # MB before and after
    log: Log = field(default_factory=lambda: Log(0, 0, "", ""))

    def failures(self) -> list[str]:
        """One sentence for each failure."""
        found = [f"{self.accepted} logins with a wrong token were accepted"] if self.accepted else []
        if self.log.tracebacks:
            found.append(f"{self.log.tracebacks} tracebacks in the log, the first:\n{self.log.first_traceback}")
        if self.memory[1] > self.memory[0] + GROWTH_MB:
            found.append(f"memory went from {self.memory[0]:.0f} to {self.memory[1]:.0f} MB")
        if self.during["wrong"] or self.during["failure"] or not self.during["received"]:
            found.append(f"the well-behaved client: {self.during}")
        return found

    def __str__(self) -> str:
        before, during = (
            f"median {one['median'] * 1000:.1f}, 99 % {one['p99'] * 1000:.1f}, slowest {one['slowest'] * 1000:.0f} ms"
            for one in (self.before, self.during)
        )
        return (
            f"{self.logins:,} failed logins and {self.connections:,} slow connections at a time"
            f" ({self.reopened:,} of them opened again) in {self.seconds:.0f} s\n"
            f"well-behaved client: {during} ({self.during['received']:,} messages); before: {before}\n"
            f"memory: {self.memory[0]:.0f} MB before, {self.memory[1]:.0f} MB after"
        )


class Crowd:
    def __init__(self, broker: BrokerProcess, report: Report, logins: int, connections: int) -> None:
        self._broker = broker
        self._report = report
        self._left = itertools.count(1)
        self._logins = logins
        self._connections = connections
        self._ports = [int(port_of(url)) for url in (broker.service_url, broker.http_url)]
        self._done = threading.Event()

    def run(self) -> None:
        """Returns after the last login."""
        slow = threading.Thread(target=self._be_slow)
        knockers = [threading.Thread(target=self._knock) for _ in range(KNOCKERS)]
        for thread in (slow, *knockers):
            thread.start()
        for thread in knockers:
            thread.join()
        self._done.set()
        slow.join()

    def _knock(self) -> None:
        wrong = client_commands.connect("knocker", auth_method_name="token", auth_data=token(ADMIN).encode() + b"AAAA")
        while next(self._left) <= self._logins:
            client = RawClient(self._broker.service_url, handshake=False, source="127.0.1.1")
            with contextlib.closing(client), contextlib.suppress(Closed, ConnectionError):
                client.send(wrong)
                if client.next(DEADLINE_SECONDS).type == BaseCommand.CONNECTED:  # type: ignore[union-attr]  # no message
                    self._report.accepted += 1
            self._report.logins += 1

    def _be_slow(self) -> None:
        """One round after the other: each connection gets a byte, or is opened again."""
        sockets: list[tuple[socket.socket, itertools.cycle[int]] | None] = [None] * self._connections
        for rounds in itertools.count():
            for number, one in enumerate(sockets):
                if self._done.is_set() and rounds > 1:
                    break
                sockets[number] = self._slower(number, one)
            self._report.connections = max(self._report.connections, sum(one is not None for one in sockets))
            if self._done.wait(0.2) and rounds > 1:
                break
        for one in sockets:
            if one is not None:
                one[0].close()

    def _slower(
        self, number: int, one: tuple[socket.socket, itertools.cycle[int]] | None
    ) -> tuple[socket.socket, itertools.cycle[int]] | None:
        try:
            if one is None:
                source = (f"127.0.2.{number % ADDRESSES + 1}", 0)
                opened = socket.create_connection(("127.0.0.1", self._ports[number % 2]), DEADLINE_SECONDS, source)
                one = opened, itertools.cycle(BEGINNINGS[number % 2])
            one[0].send(bytes([next(one[1])]))
        except OSError:
            self._report.reopened += 1
            if one is not None:
                one[0].close()
            return None
        return one


def run(directory: Path, logins: int, connections: int) -> Report:
    allow_files(connections + 1_000)
    report = Report()
    with BrokerProcess(directory / "data", *SETTINGS) as broker:
        client = ClientProcess("tests.long.abuse.client", broker.service_url, token(ADMIN))
        try:
            client.ask("report")  # waits for its first messages, which are slow
            _observe(client, report)
            started, memory = time.monotonic(), resident_mb(broker.pid)
            Crowd(broker, report, logins, connections).run()
            report.during, report.seconds = client.ask("report"), time.monotonic() - started
            report.memory = memory, resident_mb(broker.pid)
        finally:
            client.end()
        broker.check_running()
        report.log = read_log(broker.log_path)
    return report


def _observe(client: ClientProcess, report: Report) -> None:
    """What the client sees before the crowd comes."""
    time.sleep(QUIET_SECONDS)  # samples for a given time
    report.before = client.ask("report")


def allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard), hard))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make crowd", description=__doc__)
    parser.add_argument("--logins", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=2_000)
    parser.add_argument("--at-once", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crowd-") as scratch:
        reports: list[Report | many.Report] = [run(Path(scratch), options.logins, options.connections)]
        reports += _many(Path(scratch), options.at_once)
    failures = [sentence for report in reports for sentence in report.failures()]
    print(*failures, *reports, sep="\n")
    return 1 if failures else 0


def _many(directory: Path, count: int) -> list[many.Report]:
    """One broker for each kind of limits."""
    allow_files(2 * count)  # the broker inherits it
    return [many.run(directory / f"many-{number}", count, name) for number, name in enumerate(many.limits_of(count))]


if __name__ == "__main__":
    sys.exit(main())
