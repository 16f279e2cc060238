"""A crowd of connections that publishes and receives 1 GB a minute: straight, through `pulsarctl proxy`, and through
the proxy of Apache Pulsar, with the CPU time and the memory of broker and proxy beside each other.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import cpu_seconds, peak_resident_mb, resident_mb
from tests.long.bench.proxy_clients import Crowd, Way
from tests.long.bench.table import aligned
from tests.long.real_pulsar.java_proxy import VERSION, JavaProxy
from tests.long.real_pulsar.java_pulsar import Missing
from tests.support.broker_process import BrokerProcess
from tests.support.proxy_process import ProxyProcess

CONNECTIONS = 2_000
SIZE = 10_000
MESSAGES_PER_SECOND = 1_000_000_000 / 60 / SIZE
SECONDS, WARM_UP_SECONDS = 60.0, 20.0  # a JVM is slow until it is warm
OTHER_FILES = 500  # of this process
WAYS = ("without a proxy", "pulsarctl proxy", f"Apache Pulsar's proxy {VERSION}")
HEADINGS = ["through", "messages", "broker CPU", "broker MB", "proxy CPU", "proxy MB", "its peak", "p50 ms", "p99 ms"]


@dataclass(frozen=True)
class Process:
    """CPU in percent of one core, and memory in MB, while the crowd publishes; nothing without a process."""

    pid: int | None
    cpu_before: float

    @classmethod
    def watch(cls, pid: int | None) -> Process:
        return cls(pid, cpu_seconds(pid))

    def cells(self, seconds: float) -> list[str]:
        if self.pid is None:
            return ["-", "-"]
        return [f"{(cpu_seconds(self.pid) - self.cpu_before) / seconds * 100:.1f} %", f"{resident_mb(self.pid):.0f}"]


def proxy_crowd(
    directory: Path, *, connections: int = CONNECTIONS, seconds: float = SECONDS, warm_up: float = WARM_UP_SECONDS
) -> str:
    allow_files(connections)
    lines, left_out = [], ""
    for name in WAYS:
        try:
            lines.append(_line(directory, name, connections, seconds, warm_up))
        except Missing as reason:
            left_out = f"\n  left out: {name}: {reason}"
    scratch_dir(directory, "proxy-crowd")
    head = f"{connections:,} connections, half of which publish 1 GB a minute to the others, in messages of 10 KB:"
    return f"{head}\n{aligned(HEADINGS, lines)}{left_out}"


def allow_files(connections: int) -> None:
    """This process has one socket for each connection, and a proxy, which inherits the limit, two."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * connections + OTHER_FILES
    if most != resource.RLIM_INFINITY and most < wanted:
        raise SystemExit(f"the row needs {wanted} open files, and the limit is {most}: raise it with `ulimit -n`")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _line(directory: Path, name: str, connections: int, seconds: float, warm_up: float) -> list[str]:
    folder = scratch_dir(directory, "proxy-crowd")
    folder.mkdir(parents=True)
    with BrokerProcess(folder / "data") as broker, _way(name, folder, broker) as (way, proxy):
        return [name, *asyncio.run(_measured(way, (broker.pid, proxy), connections // 2, seconds, warm_up))]


@contextmanager
def _way(name: str, folder: Path, broker: BrokerProcess) -> Iterator[tuple[Way, int | None]]:
    """How clients connect, and the process of the proxy. Raises `Missing`."""
    if name == WAYS[0]:
        yield Way(broker.service_url), None
        return
    if name == WAYS[1]:
        own = ProxyProcess(broker.service_url, broker.http_url, folder / "proxy.log")
        with own as proxy:
            yield Way(proxy.service_url, broker.service_url), proxy.pid
        return
    with JavaProxy(folder / "proxy", broker.service_url, broker.http_url) as other:
        yield Way(other.service_url, broker.service_url), other.pid


async def _measured(way: Way, pids: tuple[int, int | None], pairs: int, seconds: float, warm_up: float) -> list[str]:
    payload, crowd = bytes(SIZE), Crowd()
    try:
        await crowd.open(way, "crowd", pairs)
        await crowd.send(payload, MESSAGES_PER_SECOND, warm_up)
        await crowd.settle()
        crowd.take_waits()
        before = crowd.received
        watched = [Process.watch(pid) for pid in pids]
        took = await crowd.send(payload, MESSAGES_PER_SECOND, seconds)
        cells = [cell for process in watched for cell in process.cells(took)]
        await crowd.settle()
    finally:
        crowd.close()
    peak = "-" if pids[1] is None else f"{peak_resident_mb(pids[1]):.0f}"
    waits = crowd.take_waits()
    p50, p99 = (f"{waits[int(len(waits) * share)] * 1000:.1f}" for share in (0.5, 0.99))
    return [f"{crowd.received - before:,}", *cells, peak, p50, p99]
