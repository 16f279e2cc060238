"""Publish, unload, offload, and restore in a loop, with and without kill -9: every acknowledged message stays readable.

A short loop is part of the suite; `make restore-loop` runs 1,000 cycles.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pulsar
import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.condition import wait_until

CYCLES = int(os.environ.get("RESTORE_CYCLES", "8"))  # of all four loops together
LEDGER_ENTRIES = 80
LEDGERS_A_CYCLE = 4
CYCLES_A_TOPIC = 5  # then a topic begins again, so that a loop does not slow down
LATEST = (1 << 63) - 1
KILLED = (ConnectionError, urllib.error.URLError, TimeoutError, http.client.HTTPException)


class Loop:
    """One broker with a store in a directory."""

    def __init__(self, directory: Path, *lag: str, seed: int) -> None:
        store = directory / "store"
        store.mkdir()
        self.random = random.Random(seed)
        self.broker = BrokerProcess(
            directory / "d",
            "managedLedgerOffloadDriver=filesystem",
            f"fileSystemURI=file://{store}",
            f"managedLedgerMaxEntriesPerLedger={LEDGER_ENTRIES}",
            "managedLedgerMinLedgerRolloverTimeMinutes=0",
            "offloadRemovalIntervalSeconds=0.1",
            "diskReserveMB=0",
            *lag,
        )
        self.topic = ""
        self.sent: list[bytes] = []

    def client(self) -> pulsar.Client:
        return pulsar.Client(self.broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))

    def rest(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.broker.http_url}/admin/v2/persistent/public/default/{path}"
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read()
        return json.loads(text) if text else None

    def begin_topic(self, number: int) -> None:
        if self.topic:
            self.rest("DELETE", f"{self.topic}?force=true")
        self.topic, self.sent = f"looped-{number}", []

    def publish(self) -> None:
        client = self.client()
        try:
            client.subscribe(f"persistent://public/default/{self.topic}", "keeps").close()
            producer = client.create_producer(
                f"persistent://public/default/{self.topic}", batching_enabled=False, block_if_queue_full=True
            )
            start = len(self.sent)
            new = [b"%08d" % (start + i) for i in range(LEDGERS_A_CYCLE * LEDGER_ENTRIES)]
            for value in new:
                producer.send_async(value, None)
            producer.flush()
            self.sent += new
        finally:
            client.close()

    def offload_and_restore(self) -> None:
        """Raises one of KILLED if the broker is killed meanwhile."""
        self.rest("PUT", f"{self.topic}/unload")
        self.rest("PUT", f"{self.topic}/offload", {"ledgerId": LATEST, "entryId": LATEST})
        wait_until(lambda: self.rest("GET", f"{self.topic}/offload")["status"] != "RUNNING", 60)
        ended = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            housekeeping = pool.submit(self.ask_for_housekeeping, ended)
            try:
                while self.rest("POST", f"{self.topic}/offload/restore")[f"persistent://public/default/{self.topic}"]:
                    pass
            finally:
                ended.set()
            housekeeping.result()

    def ask_for_housekeeping(self, ended: threading.Event) -> None:
        """A change of a policy makes the broker look what is due: with lag 0, the files that a restore has written."""
        while not ended.is_set():
            self.rest("POST", f"{self.topic}/messageTTL?messageTTL=100000")

    def killed_in_the_middle(self) -> None:
        killer = threading.Timer(self.random.uniform(0.05, 1.5), self.broker.kill)
        killer.start()
        with contextlib.suppress(*KILLED):
            self.offload_and_restore()
        killer.join()
        self.broker.start()

    def check(self) -> None:
        client = self.client()
        try:
            reader = client.create_reader(f"persistent://public/default/{self.topic}", pulsar.MessageId.earliest)
            found = [reader.read_next(20_000).data() for _ in self.sent]
        finally:
            client.close()
        assert found == self.sent
        assert self.damage() == []

    def damage(self) -> Any:
        with urllib.request.urlopen(f"{self.broker.http_url}/admin/v2/brokers/damage", timeout=20) as response:
            return json.loads(response.read())


@pytest.mark.slow
@pytest.mark.timeout(120 + 20 * CYCLES)
@pytest.mark.parametrize("kills", [False, True], ids=["", "killed"])
@pytest.mark.parametrize("lag", [["managedLedgerOffloadDeletionLagMs=0"], []], ids=["lag 0", "default lag"])
def test_no_message_is_lost_by_offloads_and_restores(tmp_path: Path, lag: list[str], *, kills: bool) -> None:
    loop = Loop(tmp_path, *lag, seed=len(lag) + 2 * kills)
    loop.broker.start()
    try:
        for cycle in range(max(1, CYCLES // 4)):
            if cycle % CYCLES_A_TOPIC == 0:
                loop.begin_topic(cycle)
            loop.publish()
            if kills:
                loop.killed_in_the_middle()
            else:
                loop.offload_and_restore()
            loop.check()
    finally:
        loop.broker.kill()
