"""A broker for tests: real, in this process, on free ports, in its own directory.

    with EmbeddedBroker() as broker:
        client = pulsar.Client(broker.service_url)

It runs on an event loop in a thread, so that blocking clients can use it. Inside a running event loop,
`async with EmbeddedBroker()` does the same without blocking the loop. A temporary directory is removed at the end; a
given one keeps its messages for the next start. The pytest fixture `pulsar_broker` (plugin
`broker_core.pytest_plugin`) shares one broker among the tests of a module.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig

if TYPE_CHECKING:
    from broker_core.broker import Broker
    from broker_core.clock import Clock
    from broker_core.storage.disk import Disk

T = TypeVar("T")
DEADLINE_SECONDS = 30.0  # for the start, the stop, and each call
FREE_PORTS = ServerConfig(broker_port=0, web_port=0)


class EmbeddedBroker:
    """`config` defaults to Pulsar's settings on free ports; `directory` to a temporary one."""

    def __init__(
        self,
        directory: Path | None = None,
        *,
        config: BrokerConfig | None = None,
        clock: Clock | None = None,
        disk: Disk | None = None,
    ) -> None:
        self._temporary = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix="pulsarctl-"))
        self._config = config or BrokerConfig(server=FREE_PORTS)
        self._clock = clock
        self._disk = disk
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.service_url = ""
        self.http_url = ""
        self.broker: Broker

    def start(self) -> Self:
        """Returns when the broker answers; raises the error if it does not start."""
        from broker_core.server.server import Server

        self._server = Server(self._config, self.directory, clock=self._clock, disk=self._disk)
        self._started = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="broker", daemon=True)
        self._thread.start()
        if not self._started.wait(DEADLINE_SECONDS):
            raise TimeoutError(f"the broker did not start within {DEADLINE_SECONDS:.0f} s")
        self._raise_failure()
        self.broker = self._server.broker
        self.service_url, self.http_url = self.broker.service_url, self.broker.http_url
        return self

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=_new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failure = error
        finally:
            self._remove_folder()
            self._started.set()  # last, so that a failed start leaves no files

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        await self._server.start()
        self._started.set()
        await self._stopping.wait()
        await self._server.stop()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine of the broker on its loop and waits for the result: `broker.call(topic.close())`."""
        assert self._loop is not None, "the broker is not started"
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_SECONDS)

    def create_partitioned_topic(self, topic: str, partitions: int) -> None:
        from broker_core.names import parse_topic

        self.call(self.broker.partitioned.create(parse_topic(topic), partitions))

    def stop(self) -> None:
        """Stops cleanly; removes a temporary directory. A stop that misses the deadline continues in its thread."""
        if self._loop is None or self._thread is None:
            return
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if thread.is_alive():
            loop.call_soon_threadsafe(self._stopping.set)
        thread.join(DEADLINE_SECONDS)
        if thread.is_alive():
            raise TimeoutError(f"the broker did not stop within {DEADLINE_SECONDS:.0f} s")
        self._raise_failure()

    def _remove_folder(self) -> None:
        if self._temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
