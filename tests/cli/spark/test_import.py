"""Imports by Spark tasks, beside those of one process: the same messages, also after one of them was killed.

`make import-kills` kills the command more than once.
"""

import json
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulsar
import pytest

pytest.importorskip("pyspark")

from broker_core.testing import EmbeddedBroker
from pulsarctl.admin.client import AdminClient
from pulsarctl.backlog.engine import Engine, EngineChoice
from pulsarctl.commands.ops.import_plan import (
    Imported,
    ImportPlan,
    ImportRequest,
    send_locally,
    send_on_spark,
    target_of,
)
from pulsarctl.commands.ops.job import Job, Where
from pulsarctl.commands.ops.on_spark import explained
from pulsarctl.errors import CliError
from pulsarctl.output.render import Progress
from pulsarctl.settings.settings import Settings
from pulsarctl.tables.access import Access
from pulsarctl.tables.options import TableOptions
from pulsarctl.tables.topic_table import TopicTable
from pulsarctl.transfer import import_progress
from pulsarctl.transfer.import_progress import ImportProgress
from pulsarctl.transfer.imported_rows import import_source
from pulsarctl.transfer.row_sender import RowSender
from tests.cli.spark.processes import kill, needs_proc, python_workers
from tests.cli.transfer.moved_topics import command
from tests.support.condition import wait_until
from tests.support.official_client import connect
from tests.support.runner import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(400)]

PARTITIONS = 3
MESSAGES = 2400
KILLS = int(os.environ.get("IMPORT_KILLS", "1"))
KILLS_OF_ONE_IMPORT_MAX = 3
END_SECONDS = 200  # a busy machine takes long to start Spark
SOURCE = "persistent://public/default/imported-from"
JOB = Job("import", Where(Engine.SPARK, 0, "local[2]", {}), EngineChoice(Engine.SPARK), 0)
COMPARED = "partition,producer,sequence_id,batch_index,batch_size,key,ordering_key,properties,event_time,schema_version"


class Counted(pulsar.schema.Record):  # type: ignore[misc]  # the client ships no types
    number = pulsar.schema.Integer()


@pytest.fixture(scope="module")
def client(pulsar_broker: EmbeddedBroker) -> Iterator[pulsar.Client]:
    with closing(connect(pulsar_broker.service_url)) as client:
        yield client


@pytest.fixture(scope="module")
def admin(pulsar_broker: EmbeddedBroker) -> Iterator[AdminClient]:
    with closing(AdminClient(Settings(web_url=pulsar_broker.http_url))) as admin:
        yield admin


@pytest.fixture(scope="module")
def exported(pulsar_broker: EmbeddedBroker, client: pulsar.Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several files of a partitioned topic whose schema begins in the middle; some messages have no key."""
    folder = tmp_path_factory.mktemp("exported")
    pulsar_broker.create_partitioned_topic(SOURCE, 2)
    for schema in (pulsar.schema.BytesSchema(), pulsar.schema.JsonSchema(Counted)):
        producer = client.create_producer(SOURCE, schema=schema, block_if_queue_full=True)
        for number in range(MESSAGES // 2):
            value = b"%d" % number if isinstance(schema, pulsar.schema.BytesSchema) else Counted(number=number)
            fields: dict[str, Any] = {"partition_key": f"k{number % 11}"} if number % 5 else {}
            producer.send_async(value, None, {"n": str(number)}, event_timestamp=1 + number, **fields)
        producer.flush()
        producer.close()
    cli = Cli(folder, pulsar_broker.http_url, pulsar_broker.service_url)
    outcome = cli("ops", "export", SOURCE, str(folder / "out"), "--by", "key", "--key-groups", "3")
    assert outcome.exit_code == 0, outcome.stderr
    return folder / "out"


class Import:
    """One import, whose progress is in a file; each run continues the one before."""

    def __init__(self, broker: EmbeddedBroker, source: Path, topic: str, file: Path) -> None:
        broker.create_partitioned_topic(topic, PARTITIONS)
        self.topic = topic
        self.file = file
        self._access = Access(broker.service_url, broker.http_url)
        self._request = ImportRequest(import_source(str(source)), topic, None, 0, "json", False)

    @property
    def plan(self) -> ImportPlan:
        progress = import_progress.load(self.file).begun(self.topic, PARTITIONS, {})
        return ImportPlan(self._request, self.file, progress, JOB)

    def locally(self) -> Imported:
        return send_locally(self.plan, target_of(self._access, self.plan), Progress(quiet=True))

    def on_spark(self, spark: "SparkSession") -> Imported:
        target, progress = target_of(self._access, self.plan), Progress(quiet=True)
        return explained(lambda: send_on_spark(spark.sparkContext, self.plan, target, progress))

    def partly(self, rows: int) -> None:
        """What a process has sent that is killed after this number of rows of the first file: nothing is flushed."""
        source = self._request.source
        with RowSender(target_of(self._access, self.plan)) as sender:
            for batch in source.read(source.files[0], None):
                sender.send(batch.slice(0, rows))
                return

    def messages(self) -> list[dict[str, Any]]:
        """As stored: with producers, sequence IDs, and batches."""
        options = {"topic": self.topic, "columns": f"{COMPARED},value", "decode": "raw", "tasks_min": "1"}
        where = {"service_url": self._access.service_url, "admin_url": self._access.admin_url}
        table = TopicTable.open(TableOptions.parse(options | where))
        return [row for part in table.plan() for batch in table.read(part) for row in batch.to_pylist()]


def deduplicate(admin: AdminClient, topic: str) -> None:
    admin.topics.set_policy(topic, "deduplicationEnabled", True)


def throttle(admin: AdminClient, topic: str, rate: int = 2) -> None:
    """The first batch of each partition passes. With the default, the next one waits for longer than a test takes."""
    limits = {"publishThrottlingRateInMsg": rate, "publishThrottlingRateInByte": -1}
    admin.topics.set_policy(topic, "publishRate", limits)


def test_spark_sends_what_one_process_sends(
    spark: "SparkSession", pulsar_broker: EmbeddedBroker, exported: Path, tmp_path: Path
) -> None:
    local = Import(pulsar_broker, exported, "persistent://public/default/by-one", tmp_path / "one")
    tasks = Import(pulsar_broker, exported, "persistent://public/default/by-tasks", tmp_path / "tasks")
    assert local.locally() == tasks.on_spark(spark) == Imported(MESSAGES, MESSAGES)
    assert tasks.messages() == local.messages()
    assert len(tasks.messages()) == MESSAGES
    assert import_progress.load(tasks.file) == import_progress.load(local.file)
    assert import_progress.load(local.file) == ImportProgress(6, MESSAGES, 0, True, 0, PARTITIONS)


def test_spark_finishes_what_a_killed_process_began(
    spark: "SparkSession", pulsar_broker: EmbeddedBroker, admin: AdminClient, exported: Path, tmp_path: Path
) -> None:
    wanted = Import(pulsar_broker, exported, "persistent://public/default/at-once", tmp_path / "once")
    wanted.locally()
    begun = Import(pulsar_broker, exported, "persistent://public/default/begun", tmp_path / "begun")
    deduplicate(admin, begun.topic)
    begun.partly(700)
    assert begun.messages()
    assert begun.on_spark(spark).messages == MESSAGES
    assert begun.messages() == wanted.messages()


@needs_proc
def test_an_import_whose_workers_were_killed_continues_without_duplicates(
    spark: "SparkSession", pulsar_broker: EmbeddedBroker, admin: AdminClient, exported: Path, tmp_path: Path
) -> None:
    topic = "persistent://public/default/killed"
    killed = Import(pulsar_broker, exported, topic, tmp_path / "killed")
    deduplicate(admin, topic)
    throttle(admin, topic)
    failure: list[Exception] = []

    def run() -> None:
        try:
            killed.on_spark(spark)
        except CliError as error:
            failure.append(error)

    running = threading.Thread(target=run)
    running.start()
    try:
        wait_until(lambda: len(killed.messages()) >= 300, 200)
        assert kill(python_workers(os.getpid()))
    finally:
        running.join(200)
    assert not running.is_alive()
    assert failure
    assert import_progress.load(killed.file).files == 0
    before = len(killed.messages())
    assert 300 <= before < MESSAGES
    admin.topics.remove_policy(topic, "publishRate")
    killed.on_spark(spark)
    wanted = Import(pulsar_broker, exported, f"{topic}-wanted", tmp_path / "wanted")
    wanted.locally()
    assert killed.messages() == wanted.messages()


@pytest.mark.timeout(600 + 200 * KILLS)
def test_an_import_command_that_was_killed_finishes_when_it_is_run_again(
    pulsar_broker: EmbeddedBroker,
    admin: AdminClient,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    seed = random.randrange(1 << 32)
    chosen, killed = random.Random(seed), 0
    wanted = Import(pulsar_broker, exported, "persistent://public/default/command", tmp_path / "wanted")
    wanted.locally()
    while killed < KILLS:
        topic = f"{wanted.topic}-after-{killed}"
        found = Import(pulsar_broker, exported, topic, tmp_path / "unused")
        words = command(pulsar_broker, "import", exported, topic, "--engine", "spark", "--master", "local[2]")
        deduplicate(admin, topic)
        throttle(admin, topic, 5)
        for _ in range(min(KILLS - killed, KILLS_OF_ONE_IMPORT_MAX)):
            kill_once_stored(words, found, len(found.messages()) + chosen.randint(1, 300))
            killed += 1
        assert 0 < len(found.messages()) < MESSAGES
        admin.topics.remove_policy(topic, "publishRate")
        done = subprocess.run(words, capture_output=True, text=True, timeout=END_SECONDS, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["messages"] == MESSAGES
        assert found.messages() == wanted.messages(), f"seed {seed}, {killed} kills"


def kill_once_stored(words: list[str], running: Import, messages: int) -> None:
    """kill -9 of the command alone. Its Java and its workers have to notice."""
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: len(running.messages()) >= messages, END_SECONDS)
            assert process.poll() is None
        finally:
            process.kill()
