"""One producer that survives kills of the broker: `python -m tests.long.soak.writer URL TOPIC KIND`.

`go` starts sending; `stop` ends it and answers with what was acknowledged. Messages carry their number, from 0, so that
a reader can distinguish a gap from a duplicate.
"""

import json
import sys
import threading
import time

import pulsar

from tests.support.official_client import connect

KINDS = ("sync", "pipelined", "batched")
RATE = 5000  # messages a second of the two kinds that do not wait
TICK_SECONDS = 0.01


class Writer:
    def __init__(self, url: str, topic: str, kind: str) -> None:
        self._client = connect(url)
        self._producer = self._client.create_producer(
            topic,
            batching_enabled=kind == "batched",
            batching_max_messages=10,
            block_if_queue_full=True,
            send_timeout_millis=0,  # keep trying until the broker is back
        )
        self._send_some = self._send_one if kind == "sync" else self._send_tick
        self._sending = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self.sent = self.acknowledged = self.refused = self.sent_bytes = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while self._sending.wait():
            self._idle.clear()
            try:
                while self._sending.is_set():
                    self._send_some()
            except pulsar.PulsarException:
                self.refused += 1
                self._sending.clear()
            self._idle.set()

    def _send_one(self) -> None:
        self._producer.send(self._next())
        self.acknowledged += 1

    def _send_tick(self) -> None:
        due = time.monotonic() + TICK_SECONDS
        for _ in range(int(RATE * TICK_SECONDS)):
            self._producer.send_async(self._next(), self._on_receipt)
        time.sleep(max(0.0, due - time.monotonic()))  # paces the load

    def _next(self) -> bytes:
        message = b"%d:" % self.sent + bytes(50 + self.sent % 100)
        self.sent += 1
        self.sent_bytes += len(message)
        return message

    def _on_receipt(self, result: pulsar.Result, _: object) -> None:
        if result == pulsar.Result.Ok:
            self.acknowledged += 1
        else:
            self.refused += 1

    def go(self) -> None:
        self._sending.set()

    def stop(self) -> dict[str, int]:
        self._sending.clear()
        self._idle.wait()
        self._producer.flush()
        return {"sent": self.sent, "acknowledged": self.acknowledged, "refused": self.refused, "bytes": self.sent_bytes}


def main() -> None:
    writer = Writer(*sys.argv[1:])
    for line in sys.stdin:
        if line == "go\n":
            writer.go()
        else:
            print(json.dumps(writer.stop()), flush=True)


if __name__ == "__main__":
    main()
