"""The web console in front of 10,000 topics with a backlog each: pages, and a producer that publishes meanwhile."""

import statistics
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pulsar

from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.bench.brokers import scratch_dir
from tests.bench.many_topics import AT_ONCE, CONNECTIONS, TOPICS, answered, attach
from tests.bench.procfs import resident_mb
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient
from tests.raw_publishing import send

RUNS = 15
NAMESPACE = {"namespace": "public/default"}
PAGES = {
    "first page of topics": f"/console/topics?{urlencode(NAMESPACE)}",
    "last page": f"/console/topics?{urlencode({**NAMESPACE, 'page': 200})}",
    "filtered": f"/console/topics?{urlencode({**NAMESPACE, 'filter': 'many-99'})}",
    "largest backlogs": "/console/backlogs",
}


def console_pages(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "console-pages")) as process:
        clients = [RawClient(process.service_url) for _ in range(CONNECTIONS)]
        each = TOPICS // CONNECTIONS
        for number, client in enumerate(clients):
            numbers = range(number * each, (number + 1) * each)
            attach(client, numbers, permits=0)
            publish_one_each(client, numbers)
        before, rested = resident_mb(process.pid), publishing(process.service_url)
        busy = publishing(process.service_url, [f"{process.http_url}{page}" for page in PAGES.values()])
        pages = [f"{name} {milliseconds(process.http_url + page):.0f} ms" for name, page in PAGES.items()]
        memory = resident_mb(process.pid) - before
        for client in clients:
            client.close()
    latency = f"a producer's p99 {rested:.1f} ms, with pages {busy:.1f} ms"
    return f"console, {TOPICS:,} topics with a backlog: {', '.join(pages)}; {memory:+.0f} MB; {latency}"


def publish_one_each(client: RawClient, numbers: range) -> None:
    for first in range(numbers.start, numbers.stop, AT_ONCE):
        some = range(first, min(first + AT_ONCE, numbers.stop))
        for number in some:
            client.send(send(0, producer_id=number))
        answered(client, BaseCommand.SEND_RECEIPT, len(some))


def milliseconds(url: str) -> float:
    """The median time of a page."""
    return statistics.median(seconds(url) for _ in range(RUNS)) * 1000


def seconds(url: str) -> float:
    started = time.perf_counter()
    with urllib.request.urlopen(url, timeout=60) as response:
        response.read()
    return time.perf_counter() - started


def publishing(service_url: str, pages: list[str] | None = None) -> float:
    """The 99th percentile of a producer's latency (ms), while the pages are read in turn if there are any."""
    client = pulsar.Client(service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
    producer = client.create_producer("persistent://public/default/latency", batching_enabled=False)
    done = threading.Event()
    reader = threading.Thread(target=read_until, args=(done, pages or []))
    reader.start()
    times = []
    for _ in range(3000):
        started = time.perf_counter()
        producer.send(b"x")
        times.append(time.perf_counter() - started)
    done.set()
    reader.join()
    client.close()
    return sorted(times)[int(len(times) * 0.99)] * 1000


def read_until(done: threading.Event, pages: list[str]) -> None:
    while pages and not done.is_set():
        for page in pages:
            seconds(page)
