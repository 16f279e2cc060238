"""A scalable topic beside a partitioned topic of as many segments, and how long a publish waits for a split."""

from __future__ import annotations

import statistics
import threading
import time
from contextlib import closing
from pathlib import Path

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandSubscribe
from pulsarctl.admin.client import AdminClient
from pulsarctl.raw.outgoing_entry import ProducerSettings, message_of
from pulsarctl.raw.scalable.layout import Layout
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.settings.settings import Settings
from tests.broker.scalable.commands import lookup
from tests.long.bench.brokers import scratch_dir
from tests.long.bench.procfs import cpu_seconds, resident_mb
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import subscribe
from tests.support.raw_publishing import producer, send

SEGMENTS = 4
MESSAGES = 100_000  # in each topic and round
IN_FLIGHT = 1000
ROUNDS = 5
SPLITS = 10
TOPICS, SEGMENTS_EACH = 1000, 16
PAUSE_SECONDS = 0.5  # between two splits
PATH = "scalable/public/default"
Measured = dict[tuple[str, str], list[float]]  # the load and the kind of topic -> the broker's microseconds a message


def segments(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "segments")) as process, closing(_admin(process)) as admin:
        lines = [_beside_partitions(process, admin), _splits(process, admin)]
    lines.append(_many_topics(directory))
    scratch_dir(directory, "segments")
    return "\n".join(lines)


def _admin(process: BrokerProcess) -> AdminClient:
    return AdminClient(Settings(service_url=process.service_url, web_url=process.http_url))


def _beside_partitions(process: BrokerProcess, admin: AdminClient) -> str:
    runs: Measured = {}
    for number in range(ROUNDS + 1):
        for kind, create in (("partitions", _partitions), ("segments", _segments)):
            topics = create(process, admin, f"{kind}-{number}")
            for name, load in (("publish", _publish), ("consume", _consume)):
                before = cpu_seconds(process.pid)
                load(process.service_url, topics)
                spent = (cpu_seconds(process.pid) - before) / MESSAGES * 1e6
                if number:  # the first round warms up
                    runs.setdefault((name, kind), []).append(spent)
    return "\n".join(_line(runs, name) for name in ("publish", "consume"))


def _line(runs: Measured, load: str) -> str:
    on_segments, on_partitions = (statistics.median(runs[load, kind]) for kind in ("segments", "partitions"))
    return (
        f"{load} 100 B: {on_segments:.2f} us of the broker a message on {SEGMENTS} segments, "
        f"{on_partitions:.2f} us on {SEGMENTS} partitions (medians of {ROUNDS})"
    )


def _partitions(process: BrokerProcess, admin: AdminClient, name: str) -> list[str]:
    admin.topics.create_partitioned(f"persistent://public/default/{name}", SEGMENTS)
    return [f"persistent://public/default/{name}-partition-{number}" for number in range(SEGMENTS)]


def _segments(process: BrokerProcess, admin: AdminClient, name: str) -> list[str]:
    topic = f"topic://public/default/{name}"
    admin.scalable_topics.create(topic, SEGMENTS, {})
    with RawClient(process.service_url) as client:
        return [segment.topic for segment in Layout.of(topic, lookup(client, topic).dag).active]


def _publish(url: str, topics: list[str]) -> None:
    with RawClient(url) as client:
        for number, topic in enumerate(topics):
            client.ask(producer(topic, number, number), BaseCommand.PRODUCER_SUCCESS)
        each = IN_FLIGHT // len(topics)
        for first in range(0, MESSAGES // len(topics), each):
            sent = (
                send(sequence, b"x" * 100, producer_id=number)
                for number in range(len(topics))
                for sequence in range(first, first + each)
            )
            client.send(b"".join(sent))
            for _ in range(IN_FLIGHT):
                client.expect(BaseCommand.SEND_RECEIPT)


def _consume(url: str, topics: list[str]) -> None:
    with RawClient(url) as client:
        for number, topic in enumerate(topics):
            subscribe(client, topic, number, permits=0, initial_position=CommandSubscribe.Earliest)
        for number in range(len(topics)):
            client.send(client_commands.flow(number, MESSAGES // len(topics)))
            for _ in range(MESSAGES // len(topics)):
                client.expect(BaseCommand.MESSAGE)


def _splits(process: BrokerProcess, admin: AdminClient) -> str:
    topic, loads, done = "splits", 4, threading.Event()
    admin.scalable_topics.create(f"topic://public/default/{topic}", 1, {})
    times: list[float] = []
    threads = [
        threading.Thread(target=_publish_until, args=(process.service_url, topic, number, done, times))
        for number in range(loads)
    ]
    for thread in threads:
        thread.start()
    took = [_split(admin, topic) for _ in range(SPLITS) if not done.wait(PAUSE_SECONDS)]
    done.set()
    for thread in threads:
        thread.join()
    return (
        f"{SPLITS} splits under {len(times):,} publishes, each awaited: "
        f"{statistics.median(took) * 1000:.1f} ms a split, "
        f"{statistics.median(times) * 1000:.2f} ms a publish, the slowest {max(times) * 1000:.1f} ms"
    )


def _split(admin: AdminClient, topic: str) -> float:
    """Splits the widest segment; returns the seconds."""
    document = admin.scalable_topics.metadata(f"topic://public/default/{topic}")
    widest = max(
        (segment for segment in document["segments"].values() if segment["state"] == "ACTIVE"),
        key=lambda segment: segment["hashRange"]["end"] - segment["hashRange"]["start"],
    )
    began = time.perf_counter()
    admin.http.post(f"/admin/v2/{PATH}/{topic}/split/{widest['segmentId']}")
    return time.perf_counter() - began


def _publish_until(url: str, topic: str, number: int, done: threading.Event, times: list[float]) -> None:
    publisher = SegmentsProducer(
        lambda: TopicLookup(url, timeout_seconds=10.0),
        f"topic://public/default/{topic}",
        ProducerSettings(f"p{number}"),
        10.0,
    )
    sent = 0
    while not done.is_set():
        key = f"{number}-{sent % 100}"
        began = time.perf_counter()
        publisher.send(message_of(b"x" * 100, key), key, None)
        publisher.flush()
        times.append(time.perf_counter() - began)
        sent += 1
    publisher.close()


def _many_topics(directory: Path) -> str:
    with BrokerProcess(scratch_dir(directory, "segments-many")) as process, closing(_admin(process)) as admin:
        for number in range(TOPICS):
            admin.scalable_topics.create(f"topic://public/default/many-{number}", SEGMENTS_EACH, {})
        created = resident_mb(process.pid)
        process.stop()
        process.start()
        restarted = resident_mb(process.pid)
    scratch_dir(directory, "segments-many")
    scene = f"{TOPICS:,} scalable topics of {SEGMENTS_EACH} segments"
    return f"{scene}: {created:.0f} MB resident, {restarted:.0f} MB after a restart"
