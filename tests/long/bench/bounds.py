"""Memory under loads that do not fit in it: `python -m tests.long.bench.bounds`.

slow-disk     publishers faster than a disk of 10 MB/s, for 60 s: resident memory of the broker
stalled       100 consumers that stop reading their sockets over a 2 GB backlog, while one continues:
              resident memory, and the rate of that one compared with its rate alone
slow-sync     pipelined publish with a sync of 20 ms: messages a second
"""

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pulsar

from broker_core.wire import client_commands
from broker_core.wire.pulsar_api_pb2 import BaseCommand, MessageIdData
from tests.long.bench.procfs import cpu_seconds, resident_mb
from tests.support.raw_client import RawClient

TOPIC = "persistent://public/default/bounds"
U64_MAX = (1 << 64) - 1


@contextmanager
def broker(*flags: str) -> Iterator[tuple[str, int]]:
    """Service URL and process id of a throttled broker."""
    with tempfile.TemporaryDirectory(prefix="bounds-") as directory:
        command = [sys.executable, "-m", "tests.long.bench.throttled_broker", directory, *flags]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()
            process.communicate(timeout=60)


def new_client(url: str) -> pulsar.Client:
    return pulsar.Client(url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))


class Peak(threading.Thread):
    """The peak resident memory of a process, sampled ten times a second."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.mb = 0.0
        self._pid = pid
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.1):
            self.mb = max(self.mb, resident_mb(self._pid))

    def stop(self) -> float:
        self._done.set()
        self.join()
        return self.mb


def slow_disk(seconds: float) -> str:
    with broker("--mb-s", "10") as (url, pid):
        peak = Peak(pid)
        peak.start()
        client = new_client(url)
        producers = [
            client.create_producer(f"{TOPIC}-{index}", block_if_queue_full=True, send_timeout_millis=0)
            for index in range(4)
        ]
        sent = [0, 0]  # messages sent, receipts
        deadline = time.monotonic() + seconds
        payload = bytes(10_000)

        def receipt(result: pulsar.Result, _: pulsar.MessageId) -> None:
            sent[1] += result == pulsar.Result.Ok

        while time.monotonic() < deadline:
            for producer in producers:
                producer.send_async(payload, receipt)
                sent[0] += 1
        most = peak.stop()
        client.shutdown()
        return f"slow-disk: {most:.0f} MB resident at most, {sent[1] * len(payload) / seconds / 1e6:.1f} MB/s receipted"


def stalled(gigabytes: float) -> str:
    with broker() as (url, pid):
        count = fill(url, gigabytes)
        alone = read_rate(url, count)
        peak = Peak(pid)
        peak.start()
        clients = [stalled_consumer(url, index) for index in range(100)]
        wait_until_idle(pid)
        beside = read_rate(url, count)
        most = peak.stop()
        for client in clients:
            client.close()
        share = beside / alone * 100
        return f"stalled: {most:.0f} MB resident at most; {beside:.0f} msg/s beside 100 stalled, {share:.0f} % of alone"


def wait_until_idle(pid: int, seconds: float = 60) -> None:
    """Waits until the process uses less than a twentieth of a core: then every stalled socket is full."""
    deadline = time.monotonic() + seconds
    before = cpu_seconds(pid)
    while time.monotonic() < deadline:
        time.sleep(1.0)  # measures the CPU time of a second
        now = cpu_seconds(pid)
        if now - before < 0.05:
            return
        before = now


def fill(url: str, gigabytes: float) -> int:
    client = new_client(url)
    producer = client.create_producer(TOPIC, block_if_queue_full=True, batching_enabled=False)
    payload, count = bytes(10_000), int(gigabytes * 1e9 / 10_000)
    for _ in range(count):
        producer.send_async(payload, lambda result, message_id: None)
    producer.flush()
    client.close()
    return count


def stalled_consumer(url: str, index: int) -> RawClient:
    client = RawClient(url, receive_buffer=65536)
    earliest = MessageIdData(ledgerId=U64_MAX, entryId=U64_MAX)
    subscribe = client_commands.subscribe(1, TOPIC, f"stalled-{index}", 1, durable=False, start_message_id=earliest)
    client.send(subscribe)
    client.expect(BaseCommand.SUCCESS)
    client.send(client_commands.flow(1, 1_000_000))
    return client


def read_rate(url: str, count: int) -> float:
    client = new_client(url)
    reader = client.create_reader(TOPIC, pulsar.MessageId.earliest, receiver_queue_size=500)
    started = time.monotonic()
    for _ in range(count):
        reader.read_next(timeout_millis=30_000)
    seconds = time.monotonic() - started
    client.close()
    return count / seconds


def slow_sync(messages: int) -> str:
    with broker("--sync-ms", "20") as (url, _):
        client = new_client(url)
        producer = client.create_producer(TOPIC, block_if_queue_full=True)
        started = time.monotonic()
        for _ in range(messages):
            producer.send_async(bytes(100), lambda result, message_id: None)
        producer.flush()
        seconds = time.monotonic() - started
        client.close()
        return f"slow-sync: {messages / seconds:.0f} msg/s of 100 B with a sync of 20 ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", action="append", choices=["slow-disk", "stalled", "slow-sync"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--gigabytes", type=float, default=2)
    options = parser.parse_args()
    wanted = options.row or ["slow-disk", "stalled", "slow-sync"]
    if "slow-disk" in wanted:
        print(slow_disk(options.seconds), flush=True)
    if "stalled" in wanted:
        print(stalled(options.gigabytes), flush=True)
    if "slow-sync" in wanted:
        print(slow_sync(100_000), flush=True)


if __name__ == "__main__":
    main()
