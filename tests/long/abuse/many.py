"""The second part of `make crowd`: thousands of connections at once, with and without limits on them.

A third of the connections send CONNECT and stay idle, a third send one byte, and a third send nothing.
"""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.wire import client_commands
from tests.long.abuse.monitor import resident_mb
from tests.long.soak.client_process import ClientProcess
from tests.support.broker_process import BrokerProcess, port_of

ADDRESSES = 200
BEGINNINGS = (client_commands.connect("idle"), b"\x00", b"")
DEADLINE_SECONDS = 60.0
SECONDS_PER_CONNECTION = 0.003  # linear, with room for a busy machine
SLOWEST_SECONDS = 5.0
KIB_PER_CONNECTION = 32.0


def limits_of(count: int) -> dict[str, tuple[str, ...]]:
    """By name: settings that let all of them in, and settings of a crowd that is refused."""
    return {
        "without limits": (),
        "limits above the crowd": (f"brokerMaxConnections={2 * count}", f"brokerMaxConnectionsPerIp={count}"),
        "all from one address": (f"brokerMaxConnectionsPerIp={2 * count}",),
        "most are refused": ("brokerMaxConnectionsPerIp=2",),
    }


@dataclass
class Report:
    name: str
    count: int
    opened_seconds: float = 0.0
    answered: int = 0  # CONNECTED, or the error that refuses
    kib_each: float = 0.0
    client: dict[str, Any] = field(default_factory=dict)

    def failures(self) -> list[str]:
        """One sentence for each failure."""
        found = []
        if self.answered < self.count // len(BEGINNINGS):
            found.append(f"only {self.answered} connections were answered")
        if self.opened_seconds > 1 + self.count * SECONDS_PER_CONNECTION:
            found.append(f"it took {self.opened_seconds:.0f} s to accept {self.count:,} connections")
        if self.kib_each > KIB_PER_CONNECTION:
            found.append(f"each connection takes {self.kib_each:.0f} KiB")
        if self.client["wrong"] or self.client["failure"] or self.client["slowest"] > SLOWEST_SECONDS:
            found.append(f"the well-behaved client: {self.client}")
        return [f"{self.name}: {sentence}" for sentence in found]

    def __str__(self) -> str:
        median, slowest = (self.client[key] * 1000 for key in ("median", "slowest"))
        return (
            f"{self.count:,} connections at once, {self.name}: {self.opened_seconds:.1f} s, {self.kib_each:.1f} KiB"
            f" each; well-behaved client: median {median:.1f}, slowest {slowest:.0f} ms"
        )


def run(directory: Path, count: int, name: str) -> Report:
    report = Report(name, count)
    with BrokerProcess(directory, *limits_of(count)[name]) as broker, ExitStack() as opened:
        client = ClientProcess("tests.long.abuse.client", broker.service_url)
        opened.callback(client.end)
        client.ask("report")  # waits for its first messages, which are slow
        memory, started = resident_mb(broker.pid), time.monotonic()
        sockets = [_opened(broker, number, opened, name) for number in range(count)]
        report.answered = sum(bool(one.recv(64)) for one in sockets[:: len(BEGINNINGS)])
        report.opened_seconds = time.monotonic() - started
        report.kib_each = (resident_mb(broker.pid) - memory) * 1024 / count
        report.client = client.ask("report")
        broker.check_running()
    return report


def _opened(broker: BrokerProcess, number: int, opened: ExitStack, name: str) -> socket.socket:
    source = "127.0.3.1" if name == "all from one address" else f"127.0.3.{number % ADDRESSES + 1}"
    one = socket.create_connection(("127.0.0.1", int(port_of(broker.service_url))), DEADLINE_SECONDS, (source, 0))
    opened.callback(one.close)
    one.send(BEGINNINGS[number % len(BEGINNINGS)])
    return one
