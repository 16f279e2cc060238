"""kill -9 of the broker at each change on disk that a split, a merge, a migration, or a collection makes."""

import http.client
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pulsarctl.errors import CliError
from pulsarctl.raw.entry_record import EntryRecord
from pulsarctl.raw.outgoing_entry import ProducerSettings, message_of
from pulsarctl.raw.scalable.segment_consumer import ConsumerSettings
from pulsarctl.raw.scalable.segments_consumer import SegmentsConsumer
from pulsarctl.raw.scalable.segments_producer import SegmentsProducer
from pulsarctl.raw.topic_lookup import TopicLookup
from tests.support.broker_process import BrokerProcess
from tests.support.condition import wait_until

STRIDE = int(os.environ.get("SCALABLE_KILL_STRIDE", "8"))  # `make scalable-kills` leaves no change out
SECONDS = 20.0
BEFORE = [f"before-{number}" for number in range(8)]
AFTER = [f"after-{number}" for number in range(4)]
CHANGES = {"split": "split/0", "merge": "merge/0/1", "migrate": "migrate?force=true"}


class Topic:
    """The topic of one round; `kind` is its change. The acknowledgments of what is `in_doubt` may not be stored."""

    def __init__(self, broker: BrokerProcess, kind: str, number: int) -> None:
        self.broker = broker
        self.kind = kind
        self.path = f"/admin/v2/scalable/public/default/{kind}-{number}"
        domain = "persistent" if kind == "migrate" else "topic"
        self.name = f"{domain}://public/default/{kind}-{number}"
        self.unacknowledged: set[str] = set()
        self.in_doubt: set[str] = set()

    def prepare(self) -> None:
        """Messages in two segments, and a subscription that has acknowledged none of them."""
        if self.kind == "migrate":
            self.ask("PUT", self.path.replace("scalable", "persistent") + "/partitions", 2)
        else:
            self.ask("PUT", f"{self.path}?numInitialSegments=2")
        self.consumer().close()
        self.publish(BEFORE)
        if self.kind == "collect":
            self.ask("POST", f"{self.path}/split/0")

    def change(self) -> None:
        """Raises `OSError`, `HTTPException`, or `CliError` if the broker is killed."""
        if self.kind == "collect":
            self.receive()
            wait_until(lambda: "0" not in self.ask("GET", self.path)["segments"], SECONDS)
            self.in_doubt.clear()
        else:
            self.ask("POST", f"{self.path}/{CHANGES[self.kind]}")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        with closing(
            http.client.HTTPConnection(self.broker.http_url.partition("://")[2], timeout=SECONDS)
        ) as connection:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            response = connection.getresponse()
            text = response.read().decode()
            assert response.status < 300, (path, response.status, text)
            return json.loads(text) if text else None

    def publish(self, values: list[str]) -> None:
        producer = SegmentsProducer(self.lookup, self.name, ProducerSettings("p"), SECONDS)
        for value in values:
            producer.send(message_of(value.encode(), value), value, None)
        producer.flush()
        producer.close()
        self.unacknowledged.update(values)

    def receive(self) -> None:
        """Receives and acknowledges everything. It is in doubt then: the consumer hides that the broker died."""
        consumer = self.consumer()
        records: list[EntryRecord] = []
        received: list[str] = []
        while not self.unacknowledged <= set(received):
            arrived = consumer.receive(int(SECONDS * 1000), 100)
            assert arrived, f"{self.name}: only {received} in {SECONDS:g} seconds"
            records += arrived
            received += [(record.value or b"").decode() for record in arrived]
        assert len(received) == len(set(received)), received
        assert set(received) <= self.unacknowledged | self.in_doubt
        self.in_doubt |= self.unacknowledged
        self.unacknowledged.clear()
        consumer.settle(records)
        consumer.close()

    def consumer(self) -> SegmentsConsumer:
        settings = ConsumerSettings("s", "c", is_shared=True, from_earliest=True, permits=100)
        return SegmentsConsumer(self.lookup, self.name, settings, SECONDS)

    def lookup(self) -> TopicLookup:
        return TopicLookup(self.broker.service_url, timeout_seconds=SECONDS)

    def has_each_hash_once(self) -> bool:
        segments = self.ask("GET", self.path)["segments"].values()
        ranges = sorted(tuple(one["hashRange"].values()) for one in segments if one["state"] == "ACTIVE")
        is_complete = (ranges[0][0], ranges[-1][1]) == (0, 0xFFFF)
        return is_complete and all(one[1] + 1 == other[0] for one, other in itertools.pairwise(ranges))


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    return tmp_path / "allowed"


@pytest.fixture
def broker(tmp_path: Path, allowed: Path) -> Iterator[BrokerProcess]:
    program = (sys.executable, "-m", "tests.broker.scalable.killed_broker", str(allowed))
    process = BrokerProcess(tmp_path / "data", "scalableTopicAutoScaleEnabled=false", program=program).start()
    yield process
    process.kill()


def is_completed(change: Callable[[], None]) -> bool:
    try:
        change()
    except (OSError, http.client.HTTPException, CliError):
        return False
    return True


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [*CHANGES, "collect"])
def test_a_broker_killed_at_any_step_of_a_change_loses_nothing(broker: BrokerProcess, allowed: Path, kind: str) -> None:
    completed, step = False, 0
    while not completed:
        topic = Topic(broker, kind, step)
        topic.prepare()
        arm(allowed, step)
        completed = is_completed(topic.change)
        broker.kill()
        allowed.unlink()
        broker.start()
        topic.publish(AFTER)
        topic.receive()
        assert (kind == "migrate" and not completed) or topic.has_each_hash_once()
        step += STRIDE


def arm(allowed: Path, changes: int) -> None:
    written = allowed.with_suffix(".new")
    written.write_text(str(changes))
    written.rename(allowed)
