"""A report about many topics pauses after each time slice: no step of it reads many topics.

On the clock of these tests, two readings of the clock are more than a time slice apart. So the number of iterations of
the loop tells how many topics a report handled between two readings, on any machine.
"""

import asyncio
import gc
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.names import parse_topic
from broker_core.rates.long_text import PIECE_BYTES
from broker_core.rates.time_slices import SLICE_SECONDS, gathered
from broker_core.server.server import Server
from broker_core.stats.metrics import prometheus_text
from broker_core.testing import FREE_PORTS
from broker_core.topic.topic import Topic
from broker_core.topics.registry import TopicRegistry
from tests.support.loop_iterations import MeasuredLoop, iterations

TOPICS = 400
REPORTS = {
    "metrics": "/metrics",
    "metrics as JSON": "/admin/v2/broker-stats/metrics",
    "topics of a namespace": "/admin/v2/persistent/public/default",
    "topics of a namespace, all kinds": "/admin/v2/namespaces/public/default/topics?mode=ALL",
    "stats of all topics": "/admin/v2/broker-stats/topics",
    "load report": "/admin/v2/broker-stats/load-report",
    "console, topics": "/console/topics?namespace=public%2Fdefault",
    "console, filtered": "/console/topics?namespace=public%2Fdefault&filter=nothing",
    "console, backlogs": "/console/backlogs",
}


class MeasuredBroker:
    """A broker with many topics on a measured loop, which runs only during the calls."""

    def __init__(self, directory: Path) -> None:
        self._runner = asyncio.Runner(loop_factory=MeasuredLoop)
        self._server = Server(BrokerConfig(server=FREE_PORTS), directory)
        self._runner.run(self._start())

    async def _start(self) -> None:
        await self._server.start()
        await gathered(range(TOPICS), self._topic)

    async def _topic(self, number: int) -> Topic:
        name = parse_topic(f"persistent://public/default/many-{number}")
        topic = await self._server.broker.topics.for_client(name)
        await topic.subscriptions.open("s", durable=True, start=None, earliest=True, properties={})
        return topic

    def ask(self, path: str, method: str = "GET") -> tuple[bytes, int]:
        """The answer, and how many iterations of the loop it took."""
        return self._runner.run(self._ask(path, method))

    async def _ask(self, path: str, method: str) -> tuple[bytes, int]:
        port = self._server.broker.main_http_url.rpartition(":")[2]
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port.rstrip("/")))
        before = iterations().iterations
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read(-1)
        writer.close()
        return answer, iterations().iterations - before

    @property
    def topics(self) -> TopicRegistry:
        return self._server.broker.topics

    def scrape(self) -> None:
        self._runner.run(prometheus_text(self._server.broker))

    def stop(self) -> None:
        self._runner.run(self._server.stop())
        self._runner.close()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredBroker]:
    broker = MeasuredBroker(tmp_path_factory.mktemp("reports"))
    yield broker
    broker.stop()


@pytest.fixture
def slow_clock(broker: MeasuredBroker) -> Iterator[None]:
    """Two readings are more than a time slice apart."""
    looks = iter(range(10**9))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "perf_counter", lambda: next(looks) * SLICE_SECONDS * 0.6)
        yield


@contextmanager
def collections_after(objects: int) -> Iterator[list[int]]:
    """The generations of garbage that are collected, which is when there are more objects by that number."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    thresholds = gc.get_threshold()
    gc.collect(0)  # a full one would also empty the lists of free objects, whose refill counts as growth
    gc.set_threshold(objects, 100, 100)
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    gc.set_threshold(*thresholds)


@pytest.mark.parametrize("path", REPORTS.values(), ids=REPORTS)
def test_a_report_pauses_after_every_few_topics(path: str, broker: MeasuredBroker, slow_clock: None) -> None:
    answer, taken = broker.ask(path)
    assert answer.startswith(b"HTTP/1.1 200")
    assert taken >= TOPICS / 2


def test_a_scrape_keeps_no_object_for_each_topic(broker: MeasuredBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many objects at a time make a collection of all garbage due, which holds up messages for tens of ms."""
    topics = 10 * TOPICS  # more than the 2,000 tuples that CPython keeps for their next use
    monkeypatch.setattr(broker.topics, "loaded", repeated(broker.topics.loaded, 10))
    broker.scrape()
    with collections_after(topics // 3) as generations:
        broker.scrape()
    assert generations == []


def repeated(loaded: Mapping[str, Topic], times: int) -> dict[str, Topic]:
    """Each topic under several keys, because opening thousands of them takes seconds."""
    return {f"{key}/{number}": topic for key, topic in loaded.items() for number in range(times)}


def test_a_long_answer_pauses_after_every_few_pieces(broker: MeasuredBroker, slow_clock: None) -> None:
    _, without = broker.ask("/metrics", "HEAD")
    answer, taken = broker.ask("/metrics")
    assert taken - without >= len(answer) / PIECE_BYTES / 2


def test_the_head_of_a_long_answer_comes_without_it(broker: MeasuredBroker) -> None:
    answer, _ = broker.ask("/metrics", "HEAD")
    head, body = answer.split(b"\r\n\r\n")
    length = next(line for line in head.splitlines() if line.lower().startswith(b"content-length:"))
    assert int(length.split()[1]) > 100_000
    assert body == b""
