"""`python -m tests.long.soak_scalable --messages 1000000`: the order of keys while the segments of a topic change.

Publishers send numbered messages of many keys. Stream consumers share the topic; every two seconds one of them leaves,
or is killed, and another one joins. Every second a segment is split, or two are merged. With `--kill-broker`, the
broker is killed during each fifth change.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from tests.long.soak_scalable.order import Delivery, Verdict, judge
from tests.long.soak_scalable.publisher import Publisher
from tests.support.broker_process import PULSARCTL, BrokerProcess

STANDALONE = (str(PULSARCTL), "standalone")
SETTINGS = ("scalableTopicConsumerSessionGracePeriodSeconds=2", "scalableTopicAutoScaleEnabled=false")
TOPIC = "topic://public/default/ordered"
PATH = "/admin/v2/scalable/public/default/ordered"
PUBLISHERS = 4
CONSUMERS = 8
MOST_SEGMENTS = 8
CHURN_SECONDS = 2.0
CHANGE_SECONDS = 1.0
KILL_EVERY = 5  # changes
DRAIN_SECONDS = 60.0


class Soak:
    def __init__(self, folder: Path, program: Sequence[str], seed: int, *, kill_broker: bool = False) -> None:
        self.broker = BrokerProcess(folder / "data", *SETTINGS, program=program).start()
        self.changes = self.kills = self.broker_kills = 0
        self._kill_broker = kill_broker
        self._folder = folder
        self._chance = random.Random(seed)
        self._consumers: dict[str, subprocess.Popen[bytes]] = {}
        self._joined = 0
        self._ending = threading.Event()
        self._restarting = threading.Lock()

    def run(self, messages: int, keys: int) -> tuple[Verdict, float]:
        """The verdict, and the slowest publish in seconds."""
        assert self._request("PUT", f"{PATH}?numInitialSegments=2") == 204
        for _ in range(CONSUMERS):
            self._join()
        publishers = [self._publisher(number, messages, keys) for number in range(PUBLISHERS)]
        disturbers = [threading.Thread(target=work, daemon=True) for work in (self._change, self._churn)]
        for thread in (*publishers, *disturbers):
            thread.start()
        for publisher in publishers:
            publisher.join()
        self._ending.set()
        for thread in disturbers:
            thread.join()
        failures = [publisher.failure for publisher in publishers if publisher.failure is not None]
        if failures:
            raise failures[0]
        published = {key: count for publisher in publishers for key, count in publisher.published.items()}
        verdict = self._drained(published)
        return verdict, max(publisher.slowest for publisher in publishers)

    def _publisher(self, number: int, messages: int, keys: int) -> Publisher:
        own = [f"key-{key}" for key in range(number, keys, PUBLISHERS)]
        return Publisher(self.broker.service_url, TOPIC, own, messages // PUBLISHERS, number)

    def _join(self) -> None:
        self._joined += 1
        name = f"c{self._joined}"
        module = "tests.long.soak_scalable.stream_consumer"
        command = [sys.executable, "-m", module, self.broker.service_url, TOPIC, "s", name, str(self._folder / name)]
        self._consumers[name] = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def _churn(self) -> None:
        while not self._ending.wait(CHURN_SECONDS):
            with self._restarting:  # consumers without a broker would only take its CPU time
                self._replace_ended()
            name = self._chance.choice(list(self._consumers))
            self._end(name, signal.SIGKILL if self._chance.random() < 0.5 else signal.SIGTERM)
            self._join()

    def _replace_ended(self) -> None:
        """A consumer ends when its connection does: with a kill of the broker, all of them."""
        for name in [name for name, process in self._consumers.items() if process.poll() is not None]:
            self._end(name, signal.SIGTERM)
            self._join()

    def _end(self, name: str, how: signal.Signals) -> None:
        process = self._consumers.pop(name)
        if process.poll() is None:
            process.send_signal(how)
            self.kills += how == signal.SIGKILL
        process.wait(30)

    def _change(self) -> None:
        attempts = 0
        while not self._ending.wait(CHANGE_SECONDS):
            active = self._active()
            at = self._chance.randrange(len(active))
            if len(active) >= MOST_SEGMENTS or (len(active) > 1 and self._chance.random() < 0.4):
                at = min(at, len(active) - 2)
                change = f"{PATH}/merge/{active[at]}/{active[at + 1]}"
            else:
                change = f"{PATH}/split/{active[at]}"
            attempts += 1
            if self._kill_broker and attempts % KILL_EVERY == 0:
                self._kill_during(change)
            else:
                self.changes += self._request("POST", change) == 204

    def _kill_during(self, change: str) -> None:
        request = threading.Thread(target=self._request, args=("POST", change))
        request.start()
        time.sleep(self._chance.random() * 0.03)
        with self._restarting:
            self.broker.kill()
            self.broker_kills += 1
            request.join()
            self.broker.start()

    def _active(self) -> list[int]:
        segments = json.loads(self._get(PATH))["segments"].values()
        active = [one for one in segments if one["state"] == "ACTIVE"]
        return [one["segmentId"] for one in sorted(active, key=lambda one: one["hashRange"]["start"])]

    def _get(self, path: str) -> str:
        while True:
            status, body = self._ask("GET", path)
            if status == 200:
                return body
            time.sleep(0.1)  # the broker is being restarted

    def _request(self, method: str, path: str) -> int:
        return self._ask(method, path)[0]

    def _ask(self, method: str, path: str) -> tuple[int, str]:
        """The status and the body; 0 if the broker was killed meanwhile."""
        with closing(http.client.HTTPConnection(self.broker.http_url.partition("://")[2], timeout=30)) as connection:
            try:
                connection.request(method, path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except (OSError, http.client.HTTPException):
                return 0, ""

    def _drained(self, published: dict[str, int]) -> Verdict:
        """Once everything has arrived, or after a while without it."""
        deadline = time.monotonic() + DRAIN_SECONDS
        while True:
            self._replace_ended()
            verdict = judge(self._deliveries(), published)
            if not verdict.lost or time.monotonic() > deadline:
                return verdict
            time.sleep(2)

    def _deliveries(self) -> Iterator[Delivery]:
        for file in self._folder.glob("c*"):
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    if (delivery := Delivery.parse(line, file.name)) is not None:
                        yield delivery

    def close(self) -> None:
        for name in list(self._consumers):
            self._end(name, signal.SIGKILL)
        self.broker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.long.soak_scalable", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--kill-broker", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), STANDALONE, chosen.seed, kill_broker=chosen.kill_broker)
        began = time.monotonic()
        try:
            verdict, slowest = soak.run(chosen.messages, chosen.keys)
        finally:
            soak.close()
    sys.stdout.write(
        f"seed {chosen.seed}: {chosen.messages:,} messages in {time.monotonic() - began:.0f} s,"
        f" {soak.changes} splits and merges, {soak.kills} consumers and {soak.broker_kills} brokers killed;"
        f" {verdict.deliveries:,} deliveries, {verdict.repeated:,} repeated, {verdict.lost} lost,"
        f" slowest batch of 200 {slowest * 1000:.0f} ms\n"
    )
    sys.stdout.writelines(f"{fault}\n" for fault in verdict.faults)
    sys.exit(0 if verdict.ok else 1)


if __name__ == "__main__":
    main()
