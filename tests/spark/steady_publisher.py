"""Messages of every shape that arrive at a topic until the test has enough: single, batched, and chunked, mixed."""

import hashlib
import threading
from contextlib import closing
from types import TracebackType
from typing import Any, Self

import pulsar

from tests.official_client import connect

TICK_SECONDS = 0.5
SINGLES, BATCHED = 4, 8  # of each tick
CHUNKED_EVERY = 2  # ticks
SHAPES: tuple[dict[str, Any], ...] = (
    {"batching_enabled": False},
    {"batching_enabled": True, "batching_max_messages": 5, "compression_type": pulsar.CompressionType.LZ4},
    {"batching_enabled": False, "chunking_enabled": True},
)


class SteadyPublisher:
    """`digests` has the MD5 of each message, by the number that it begins with."""

    def __init__(self, service_url: str, topic: str, chunked_bytes: int) -> None:
        self.digests: dict[int, str] = {}
        self._refused: list[str] = []
        self._service_url, self._topic = service_url, topic
        self._chunked_bytes = chunked_bytes
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="steady-publisher")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Returns when every message is stored. Fails if one was refused."""
        self._ended.set()
        self._thread.join(60)
        assert not self._thread.is_alive() and not self._refused, self._refused

    def _run(self) -> None:
        with closing(connect(self._service_url)) as client:
            single, batched, chunked = (client.create_producer(self._topic, **shape) for shape in SHAPES)
            tick = 0
            while not self._ended.wait(TICK_SECONDS):
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
