"""One load through the official Python client in a separate process; prints its result as one JSON line.

    python -m tests.long.bench.load '{"load": "publish", "url": "pulsar://localhost:6650", "count": 200000}'

The time of a load runs from the first send or receive to the last acknowledgment, without the creation of clients
and producers. With `pid`, the result includes the broker's CPU time over the same period.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import pulsar

from tests.long.bench.procfs import cpu_seconds
from tests.support.official_client import connect

SUBSCRIPTION = "bench"
RECEIVE_MS = 30_000
STAMP_BYTES = 8

Result = dict[str, Any]


@dataclass(frozen=True)
class Load:
    load: str
    url: str
    topic: str
    count: int = 200_000
    size: int = 100  # bytes of payload
    batched: bool = False
    topics: int = 100  # fan-in: one producer on each
    rate: int = 1000  # latency: messages per second
    warmup: int = 0  # messages sent before the clock starts
    pid: int | None = None  # the broker's process
    token: str = ""
    trust_file: str = ""  # authorities, for a `pulsar+ssl` URL

    def connect(self) -> pulsar.Client:
        if not self.token:
            return connect(self.url)
        authentication = pulsar.AuthenticationToken(self.token)
        return connect(self.url, authentication=authentication, tls_trust_certs_file_path=self.trust_file or None)

    def producer(self, client: pulsar.Client, topic: str) -> pulsar.Producer:
        return client.create_producer(
            topic,
            batching_enabled=self.batched,
            batching_max_messages=1000,
            batching_max_publish_delay_ms=1,
            max_pending_messages=10_000,
            block_if_queue_full=True,
        )


class Stretch:
    """Wall time, and CPU time of the broker and of this process, during a `with` block."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid

    def __enter__(self) -> "Stretch":
        self._broker, self._client = cpu_seconds(self.pid), time.process_time()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._start
        self.client_cpu = time.process_time() - self._client
        self.broker_cpu = cpu_seconds(self.pid) - self._broker

    def result(self, count: int) -> Result:
        found = {"count": count, "seconds": self.seconds, "msg_s": count / self.seconds}
        found["client_us"] = self.client_cpu / count * 1e6
        if self.pid:
            found["broker_us"] = self.broker_cpu / count * 1e6
        return found


def publish(load: Load) -> Result:
    """Pipelined, one producer. An existing subscription keeps the messages for `consume`."""
    client = load.connect()
    client.subscribe(load.topic, SUBSCRIPTION).close()
    producer = load.producer(client, load.topic)
    send_all([producer], bytes(load.size), load.warmup)
    with Stretch(load.pid) as stretch:
        failed = send_all([producer], bytes(load.size), load.count)
    client.close()
    return stretch.result(load.count) | {"errors": failed}


def fan_in(load: Load) -> Result:
    """Pipelined, one producer on each of `topics` topics, sending in turn."""
    client = load.connect()
    producers = [load.producer(client, f"{load.topic}-{index}") for index in range(load.topics)]
    send_all(producers, bytes(load.size), load.warmup)
    with Stretch(load.pid) as stretch:
        failed = send_all(producers, bytes(load.size), load.count)
    client.close()
    return stretch.result(load.count) | {"errors": failed}


def send_all(producers: list[pulsar.Producer], payload: bytes, count: int) -> int:
    """Sends `count` messages without waiting; returns how many were refused."""
    refused: list[pulsar.Result] = []

    def on_receipt(result: pulsar.Result, _: object) -> None:
        if result != pulsar.Result.Ok:
            refused.append(result)

    sends = [producer.send_async for producer in producers]
    for index in range(count):
        sends[index % len(sends)](payload, on_receipt)
    for producer in producers:
        producer.flush()
    return len(refused)


def consume(load: Load) -> Result:
    """Catch-up: reads and acknowledges the messages of `publish` one by one."""
    client = load.connect()
    with Stretch(load.pid) as stretch:
        consumer = client.subscribe(load.topic, SUBSCRIPTION)
        for _ in range(load.count):
            consumer.acknowledge(consumer.receive(RECEIVE_MS))
    client.close()
    return stretch.result(load.count)


def sync(load: Load) -> Result:
    """One message at a time: each is sent after the receipt of the previous one."""
    client = load.connect()
    producer = load.producer(client, load.topic)
    payload = bytes(load.size)
    waits: list[int] = []
    send_all([producer], payload, load.warmup)
    with Stretch(load.pid) as stretch:
        for _ in range(load.count):
            started = time.monotonic_ns()
            producer.send(payload)
            waits.append(time.monotonic_ns() - started)
    client.close()
    return stretch.result(load.count) | percentiles(waits)


def steady(load: Load) -> Result:
    """One message at a time at a fixed rate; a message that is late moves the later ones."""
    client = load.connect()
    producer = load.producer(client, load.topic)
    payload = bytes(load.size)
    waits: list[int] = []
    send_all([producer], payload, load.warmup)
    with Stretch(load.pid) as stretch:
        due = time.monotonic_ns()
        for _ in range(load.count):
            due = max(due, time.monotonic_ns() - 10**9 // load.rate) + 10**9 // load.rate
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)  # paces the load
            started = time.monotonic_ns()
            producer.send(payload)
            waits.append(time.monotonic_ns() - started)
    client.close()
    return stretch.result(load.count) | percentiles(waits)


def latency(load: Load) -> Result:
    """End to end at a fixed rate: a send stamps the monotonic clock, another process reads it on arrival."""
    receiver = subprocess.Popen(
        [sys.executable, "-m", "tests.long.bench.load", json.dumps(asdict(replace(load, load="receive")))],
        stdout=subprocess.PIPE,
    )
    assert receiver.stdout is not None
    receiver.stdout.readline()  # the consumer has subscribed
    client = load.connect()
    producer = load.producer(client, load.topic)
    with Stretch(load.pid) as stretch:
        lateness = send_paced(producer, load)
        arrived: Result = json.loads(receiver.stdout.readline())
    receiver.wait()
    client.close()
    return stretch.result(load.count) | arrived | {"sender_late_p99_ms": percentiles(lateness)["p99_ms"]}


def send_paced(producer: pulsar.Producer, load: Load) -> list[int]:
    """Sends at `rate`; returns by how many ns each send missed its schedule."""
    padding, start = bytes(load.size - STAMP_BYTES), time.monotonic_ns()
    lateness: list[int] = []
    for index in range(load.count):
        due = start + index * 10**9 // load.rate
        now = time.monotonic_ns()
        if now < due:
            time.sleep((due - now) / 1e9)  # paces the load
            now = time.monotonic_ns()
        lateness.append(now - due)
        producer.send_async(now.to_bytes(STAMP_BYTES, "big") + padding, lambda *_: None)
    producer.flush()
    return lateness


def receive(load: Load) -> Result:
    """The receiving half of `latency`; prints a line when it has subscribed."""
    client = load.connect()
    consumer = client.subscribe(load.topic, SUBSCRIPTION)
    print("subscribed", flush=True)
    delays: list[int] = []
    for _ in range(load.count):
        message = consumer.receive(RECEIVE_MS)
        delays.append(time.monotonic_ns() - int.from_bytes(message.data()[:STAMP_BYTES], "big"))
        consumer.acknowledge(message)
    client.close()
    return percentiles(delays)


def percentiles(nanoseconds: list[int]) -> Result:
    ordered, last = sorted(nanoseconds), len(nanoseconds) - 1
    return {name: ordered[round(mark * last)] / 1e6 for name, mark in (("p50_ms", 0.5), ("p99_ms", 0.99))}


LOADS: dict[str, Callable[[Load], Result]] = {
    "publish": publish,
    "fan_in": fan_in,
    "consume": consume,
    "sync": sync,
    "steady": steady,
    "latency": latency,
    "receive": receive,
}

if __name__ == "__main__":
    asked = Load(**json.loads(sys.argv[1]))
    print(json.dumps(LOADS[asked.load](asked)), flush=True)
