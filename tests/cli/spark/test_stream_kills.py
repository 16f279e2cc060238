"""A streaming query on a cluster whose driver and executors are killed at random: every message once in its files.

The only subscription is the query's own, and the broker deletes a ledger as soon as it may. So a query that
acknowledges too early, or needs what it has acknowledged, shows here. `make stream-kills` runs it.
"""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pulsar
import pytest

pytest.importorskip("pyspark.sql.streaming.datasource")

from pulsarctl.tables.access import Access
from tests.cli.spark.processes import MARK, kill, marked_processes, needs_proc
from tests.cli.spark.standalone_cluster import free_port, quick_home, standalone_cluster
from tests.cli.spark.steady_publisher import SteadyPublisher
from tests.cli.spark.streaming_job import SUBSCRIPTION
from tests.support.broker_process import BrokerProcess
from tests.support.condition import wait_until
from tests.support.official_client import connect

KILLS = int(os.environ.get("STREAM_KILLS", "0"))
TOPIC = "persistent://public/default/streamed"
PARTITIONS = 2
MESSAGE_BYTES_MAX = 20_000
STEP_SECONDS = 900  # a busy machine takes long to start Spark
TOO_BUSY = "Timed out while waiting for the Python worker to connect back"  # Spark waits for 10 s, whatever it is told
SETTINGS = (
    f"maxMessageSize={MESSAGE_BYTES_MAX}",
    "managedLedgerMaxEntriesPerLedger=100",
    "managedLedgerMinLedgerRolloverTimeMinutes=0",
    "retentionOpenLedgerSeconds=1",
)

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800 + 240 * KILLS),
    pytest.mark.skipif(not KILLS, reason="takes minutes; make stream-kills runs it"),
    needs_proc,
]


def tell(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # for `make stream-kills`


class StreamingJob:
    """The driver and the executors, as processes."""

    def __init__(self, master: str, home: Path, broker: BrokerProcess, folder: Path) -> None:
        self._words = (master, broker.service_url, broker.http_url, TOPIC, str(folder))
        self._folder = folder
        self._mark = f"{folder}-driver"
        environment = {MARK: self._mark, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
        self._environment = os.environ | environment | {"SPARK_HOME": str(home)}
        self._log = folder.with_name("driver.log")
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> "subprocess.Popen[str]":
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.cli.spark.streaming_job", *self._words, *options],
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        return self._process

    def ensure_running(self) -> None:
        """Starts it after a kill. Fails if it has ended for a reason other than a machine that is too busy."""
        if self._process is not None and self._process.poll() is not None:
            assert TOO_BUSY in self.log_tail(), self.log_tail()
            tell(f"the query ended: {TOO_BUSY}")
            self.kill_driver()
        if self._process is None:
            self.start()

    def wait_for_batches(self, count: int) -> None:
        """Until the query, started if it must be, has planned some more."""
        goal = self.planned() + count

        def is_there() -> bool:
            self.ensure_running()
            return self.planned() >= goal

        wait_until(is_there, STEP_SECONDS)

    def planned(self) -> int:
        """The last micro-batch in the checkpoint, finished or not. Spark deletes the records of old ones."""
        return max((int(path.name) for path in (self._folder / "checkpoint" / "offsets").glob("[0-9]*")), default=-1)

    def kill_driver(self) -> None:
        """Python, the JVM, and the Python processes that plan."""
        wait_until(lambda: not kill(marked_processes(self._mark)), 60)
        if self._process is not None:
            self._process.communicate(timeout=60)
            self._process = None

    def drain(self) -> Counter[tuple[int, str]]:
        """Ends the query after everything that is there now; how often the files have each message."""
        text, code = "", -1
        while code != 0:
            process = self.start("--drain")
            text, _ = process.communicate(timeout=4 * STEP_SECONDS)
            code = process.returncode
            assert code == 0 or TOO_BUSY in self.log_tail(), self.log_tail()
        rows = (line.split() for line in text.splitlines())
        return Counter((int(number), digest) for number, digest in rows)

    def log_tail(self) -> str:
        return self._log.read_text()[-6000:]


def executors(mark: str) -> list[int]:
    return [process for process, line in marked_processes(mark).items() if "CoarseGrainedExecutorBackend" in line]


def backlogs(broker: BrokerProcess) -> list[int]:
    with closing(Access(broker.service_url, broker.http_url).admin()) as admin:
        parts = [f"{TOPIC}-partition-{number}" for number in range(PARTITIONS)]
        stats = [admin.topics.stats(part, getPreciseBacklog=True) for part in parts]
    return [each["subscriptions"][SUBSCRIPTION]["msgBacklog"] for each in stats]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "broker", *SETTINGS) as broker:
        with closing(Access(broker.service_url, broker.http_url).admin()) as admin:
            admin.topics.create_partitioned(TOPIC, PARTITIONS)
        with closing(connect(broker.service_url)) as client:
            client.subscribe(TOPIC, SUBSCRIPTION, pulsar.ConsumerType.Failover).close()
        yield broker


def kill_something(job: StreamingJob, cluster: str, chosen: random.Random) -> str:
    victims = executors(cluster)
    if chosen.random() < 0.5 or not victims:
        job.kill_driver()
        return "driver"
    kill([chosen.choice(victims)])
    return "executor"


def test_a_query_that_is_killed_again_and_again_writes_every_message_once(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    seed = random.randrange(1 << 32)
    chosen, cluster, killed = random.Random(seed), f"{tmp_path}-cluster", Counter[str]()
    home = quick_home(tmp_path)
    with (
        standalone_cluster(tmp_path, free_port(), cores=2, mark=cluster, home=home) as master,
        SteadyPublisher(broker.service_url, TOPIC, 3 * MESSAGE_BYTES_MAX) as publisher,
    ):
        job = StreamingJob(master, home, broker, tmp_path / "query")
        try:
            for kill in range(KILLS):
                job.wait_for_batches(chosen.randint(1, 4))
                time.sleep(chosen.uniform(0, 1.5))  # at any moment of a batch
                victim = kill_something(job, cluster, chosen)
                killed[victim] += 1
                tell(f"{kill + 1}: killed the {victim} in batch {job.planned()}, {len(publisher.digests)} messages")
            publisher.end()
            job.kill_driver()
            found = job.drain()
        finally:
            job.kill_driver()
    left = backlogs(broker)
    tell(f"seed {seed}: killed {dict(killed)}; {len(publisher.digests)} messages, {found.total()} rows, backlog {left}")
    assert found == Counter(publisher.digests.items())
    assert left == [0] * PARTITIONS
