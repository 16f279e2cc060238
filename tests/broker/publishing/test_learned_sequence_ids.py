"""What a start learns from the entries on disk is what the broker knew before it stopped."""

import json
import random
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import DeduplicationConfig
from broker_core.names import parse_topic
from broker_core.publishing.deduplication_snapshot import SequenceSnapshot
from broker_core.publishing.open_chunks import OpenChunks
from broker_core.publishing.sequence_ids import SequenceIds
from broker_core.storage.records.position import EARLIEST
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.message import parse_metadata
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.support import official_client
from tests.support.loaded_topics import loaded
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import producer, send, send_batch, send_chunk

DEDUPLICATING = BrokerConfig(server=FREE_PORTS, deduplication=DeduplicationConfig(enabled=True))
NAMES = ["p", "q", "r"]  # of producers, of REST requests, and of copied messages
LOCAL, COPIES, POSITIONS = 1, 2, 3  # producer IDs


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=DEDUPLICATING) as running:
        yield running


def post(broker: EmbeddedBroker, topic: str, body: dict[str, Any]) -> None:
    data = json.dumps(body).encode()
    url = f"{broker.http_url}/topics/{topic.replace('://', '/')}"
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=30) as response:
        assert response.status == 200


def rest_message(name: str, sequence_id: int) -> dict[str, Any]:
    return {"producerName": name, "messages": [{"payload": "x", "sequenceId": sequence_id}]}


def join(client: RawClient, topic: str, name: str, producer_id: int = LOCAL) -> int:
    joined = client.ask(
        producer(topic, producer_id, producer_name=name, user_provided_producer_name=True), BaseCommand.PRODUCER_SUCCESS
    )
    return int(joined.last_sequence_id)


def is_new(client: RawClient, frame: bytes) -> bool:
    client.send(frame)
    return bool(client.expect(BaseCommand.SEND_RECEIPT).message_id.ledgerId != (1 << 64) - 1)


@pytest.mark.parametrize(("rest_id", "lost"), [(1000, 6), (0, 3)], ids=["higher", "lower"])
def test_sequence_ids_of_rest_messages_are_not_learned_after_a_crash(tmp_path: Path, rest_id: int, lost: int) -> None:
    topic = "persistent://public/default/rest"
    with EmbeddedBroker(tmp_path / "running", config=DEDUPLICATING) as broker, RawClient(broker.service_url) as client:
        join(client, topic, "p")
        assert all(is_new(client, send(sequence_id)) for sequence_id in range(6))
        post(broker, topic, rest_message("p", rest_id))
        shutil.copytree(tmp_path / "running", tmp_path / "killed")
    with EmbeddedBroker(tmp_path / "killed", config=DEDUPLICATING) as broker, RawClient(broker.service_url) as client:
        assert join(client, topic, "p") == 5
        assert is_new(client, send(lost)) is (lost > 5)


def test_a_client_reads_what_a_rest_request_stored(broker: EmbeddedBroker) -> None:
    topic = "persistent://public/default/seen"
    with RawClient(broker.service_url) as raw:
        join(raw, topic, "p")
        post(broker, topic, rest_message("p", 7))
    block = broker.call(loaded(broker, topic).ledger.read(EARLIEST, 10, 1 << 20))
    metadata = parse_metadata(block.entry(0))
    assert (metadata.producer_name, metadata.sequence_id) == ("p", 7)
    client = official_client.connect(broker.service_url)
    try:
        assert client.create_reader(topic, pulsar.MessageId.earliest).read_next(30_000).data() == b"x"
    finally:
        client.close()


class Mix:
    """Random publishers of one topic; each writes what the broker stores and what it drops."""

    def __init__(self, broker: EmbeddedBroker, topic: str, seed: int) -> None:
        self.broker, self.topic = broker, topic
        self.random = random.Random(seed)
        self.steps = [self.single, self.batch, self.chunk, self.rest, self.copy, self.position, self.marker]
        self.clients = [self._client(client_commands.connect("local")) for _ in NAMES]
        for client, name in zip(self.clients, NAMES, strict=True):
            join(client, topic, name)
        self.copies = self._client(client_commands.connect("copies"))
        join(self.copies, topic, "pulsar.repl.east", COPIES)
        self.positions = self._client(client_commands.connect("positions", supports_source_positions=True))
        join(self.positions, topic, "pulsar.repl.west", POSITIONS)

    def _client(self, connect: Any) -> RawClient:
        client = RawClient(self.broker.service_url, handshake=False)
        client.send(connect)
        client.expect(BaseCommand.CONNECTED)
        return client

    def close(self) -> None:
        for client in [*self.clients, self.copies, self.positions]:
            client.close()

    def step(self) -> None:
        self.random.choice(self.steps)()

    def _publish(self, number: int, frame: bytes) -> None:
        is_new(self.clients[number], frame)

    def _any(self) -> tuple[int, str, int]:
        number = self.random.randrange(len(NAMES))
        return number, NAMES[number], self.random.randrange(30)

    def single(self) -> None:
        number, name, lowest = self._any()
        self._publish(number, send(lowest, name=name))

    def batch(self) -> None:
        number, name, lowest = self._any()
        self._publish(number, send_batch(lowest, lowest + self.random.randrange(1, 5), name=name))

    def chunk(self) -> None:
        number, name, lowest = self._any()
        self._publish(number, send_chunk(lowest, self.random.randrange(2), 2, name=name))

    def rest(self) -> None:
        post(self.broker, self.topic, rest_message(self._any()[1], self.random.randrange(1000)))

    def copy(self) -> None:
        _, name, lowest = self._any()
        described = {"replicated_from": "east", "highest_sequence_id": lowest + self.random.randrange(3)}
        is_new(self.copies, send(lowest, name=name, producer_id=COPIES, metadata=described))

    def position(self) -> None:
        at = f"{self.random.randrange(4)}:{self.random.randrange(4)}"
        properties = [pb.KeyValue(key="__MSG_PROP_REPL_SOURCE_POSITION", value=at)]
        described = {"replicated_from": "west", "properties": properties}
        is_new(self.positions, send(self._any()[2], producer_id=POSITIONS, metadata=described))

    def marker(self) -> None:
        described = {"marker_type": 10, "replicated_from": "east"}
        frame = send(5, name="pulsar.marker", producer_id=COPIES, metadata=described, marker=True)
        is_new(self.copies, frame)


def known(broker: EmbeddedBroker, topic: str, names: set[str]) -> dict[str, int]:
    """What the running broker has noted of those names."""
    found = {name: broker.call(loaded(broker, topic).deduplication.last_sequence_id(name)) for name in names}
    return {name: last for name, last in found.items() if last >= 0}


@pytest.mark.parametrize("seed", range(5))
def test_a_start_learns_what_the_running_broker_knows(broker: EmbeddedBroker, seed: int) -> None:
    topic = f"persistent://public/default/mixed-{seed}"
    mix = Mix(broker, topic, seed)
    try:
        for number in range(80):
            mix.step()
            if number == 10 * seed:
                broker.call(loaded(broker, topic).deduplication_switch.take_snapshot())
        learned = SequenceIds()
        broker.call(SequenceSnapshot(loaded(broker, parse_topic(topic)).ledger, 1000).restore(learned, OpenChunks()))
        names = {*NAMES, *learned.persisted, "pulsar.repl.east", "pulsar.repl.west"}
        assert learned.persisted == known(broker, topic, names)
    finally:
        mix.close()


def test_a_start_keeps_the_highest_sequence_id_that_it_reads() -> None:
    ids = SequenceIds()
    for sequence_id in (3, 0):
        ids.learn("p", sequence_id)
    assert ids.last("p") == 3
