"""Messages of every shape that arrive at a topic until the test has enough: single, batched, and chunked, mixed."""

import hashlib
from contextlib import closing
from typing import Any

import pulsar

from tests.support.official_client import connect
from tests.support.worker import Worker

TICK_SECONDS = 0.5
SINGLES, BATCHED = 4, 8  # of each tick
CHUNKED_EVERY = 2  # ticks
SHAPES: tuple[dict[str, Any], ...] = (
    {"batching_enabled": False},
    {"batching_enabled": True, "batching_max_messages": 5, "compression_type": pulsar.CompressionType.LZ4},
    {"batching_enabled": False, "chunking_enabled": True},
)


class SteadyPublisher(Worker):
    """`digests` has the MD5 of each message, by the number that it begins with."""

    def __init__(self, service_url: str, topic: str, chunked_bytes: int) -> None:
        super().__init__()
        self.digests: dict[int, str] = {}
        self._refused: list[str] = []
        self._service_url, self._topic = service_url, topic
        self._chunked_bytes = chunked_bytes

    def end(self) -> None:
        """Returns when every message is stored. Fails if one was refused."""
        super().end()
        assert not self._refused, self._refused

    def work(self) -> None:
        with closing(connect(self._service_url)) as client:
            single, batched, chunked = (client.create_producer(self._topic, **shape) for shape in SHAPES)
            tick = 0
            while not self.ended.wait(TICK_SECONDS):
                tick += 1
                for _ in range(SINGLES):
                    self._send(single, 50)
                for _ in range(BATCHED):
                    self._send(batched, 200)
                if tick % CHUNKED_EVERY == 0:
                    self._send(chunked, self._chunked_bytes)
            for producer in (single, batched, chunked):
                producer.flush()

    def _send(self, producer: Any, size: int) -> None:
        number = len(self.digests)
        value = (b"%08d" % number).ljust(size + number % 40, b"x")
        self.digests[number] = hashlib.md5(value, usedforsecurity=False).hexdigest()
        producer.send_async(value, self._on_receipt, partition_key=str(number % 7))

    def _on_receipt(self, result: Any, message_id: Any) -> None:
        """Runs in a thread of the client."""
        if result != pulsar.Result.Ok:
            self._refused.append(str(result))
