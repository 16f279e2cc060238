"""The well-behaved client: publishes and consumes all the time, `python -m tests.long.abuse.client URL [TOKEN]`.

It answers each line on stdin with what it saw since the last one: the number of messages received, whether one was
missing or out of order, and the longest time from `send` to `receive`, in seconds, with the median and the 99th of 100.
"""

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

import pulsar

from tests.support.official_client import connect

TOPIC = "persistent://public/default/well-behaved"
PAUSE_SECONDS = 0.01
SEND_MS = 10_000
REMEMBERED = 500_000  # delays


class WellBehaved:
    def __init__(self, url: str, token: str = "") -> None:
        client = connect(url, authentication=pulsar.AuthenticationToken(token) if token else None)
        self._consumer = client.subscribe(TOPIC, "well-behaved")
        self._producer = client.create_producer(TOPIC, send_timeout_millis=SEND_MS)
        self._lock = threading.Lock()
        self._received = self._wrong = 0
        self._delays: deque[float] = deque(maxlen=REMEMBERED)
        self._slowest = 0.0
        self._failure = ""
        for work in (self._publish, self._consume):
            threading.Thread(target=self._run, args=(work,), daemon=True).start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self._failure = f"{type(error).__name__}: {error}"

    def _publish(self) -> None:
        number = 0
        while True:
            self._producer.send(f"{number} {time.monotonic()}".encode())
            number += 1
            time.sleep(PAUSE_SECONDS)  # paces the load

    def _consume(self) -> None:
        expected = 0
        while True:
            message = self._consumer.receive()
            number, sent = message.data().split()
            self._consumer.acknowledge(message)
            with self._lock:
                self._received += 1
                self._wrong += int(number) != expected
                self._delays.append(time.monotonic() - float(sent))
                self._slowest = max(self._slowest, self._delays[-1])
            expected = int(number) + 1

    def report(self) -> dict[str, object]:
        with self._lock:
            found = {"received": self._received, "wrong": self._wrong, "slowest": self._slowest}
            found |= {"median": _share(self._delays, 0.5), "p99": _share(self._delays, 0.99)}
            self._delays.clear()
            self._received, self._wrong, self._slowest = 0, 0, 0.0
            return {**found, "failure": self._failure}


def _share(delays: Iterable[float], share: float) -> float:
    ordered = sorted(delays)
    return ordered[round(share * (len(ordered) - 1))] if ordered else 0.0


def main() -> None:
    client = WellBehaved(*sys.argv[1:])
    for _ in sys.stdin:
        print(json.dumps(client.report()), flush=True)


if __name__ == "__main__":
    main()
