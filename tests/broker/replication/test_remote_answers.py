"""What a replicator makes of the answers of another cluster's broker."""

import contextlib
import socket
from collections.abc import Iterator

import pulsar
import pytest

from broker_core.publishing.replication import OF_A_MARKER, source_position
from broker_core.replication import replicator
from broker_core.storage.cursor.cursor import ManagedCursor
from broker_core.testing import EmbeddedBroker
from broker_core.wire import commands
from broker_core.wire.frame import Command
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.replication.following import SECONDS, subscribe
from tests.broker.replication.pair import NAMES, publish
from tests.broker.replication.scripted_cluster import ScriptedCluster, Sent, stored
from tests.support import official_client
from tests.support.clusters import admin, config_of, new_namespace, register, replication_stats
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded
from tests.support.threaded_listener import ThreadedListener

NUMBERS = [b"%d" % number for number in range(50)]
SNAPSHOT_REQUEST = 10


@pytest.fixture(scope="module")
def west() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config=config_of("west")) as running:
        yield running


@pytest.fixture(scope="module")
def client(west: EmbeddedBroker) -> Iterator[pulsar.Client]:
    connected = official_client.connect(west.service_url)
    yield connected
    connected.close()


def replicated_to(west: EmbeddedBroker, url: str) -> tuple[str, str]:
    """A topic that is replicated to the cluster at that address, and the name of the cluster."""
    cluster = f"c{next(NAMES)}"
    register(west, cluster, url)
    return f"persistent://{new_namespace((west,), f'ns{next(NAMES)}', ['west', cluster])}/t", cluster


def cursor_of(west: EmbeddedBroker, topic: str, cluster: str) -> ManagedCursor:
    return loaded(west, topic).replicators[f"pulsar.repl.{cluster}"].cursor


def test_a_broker_that_knows_no_positions_confirms_by_sequence_id(west: EmbeddedBroker, client: pulsar.Client) -> None:
    with ScriptedCluster(stored) as other:
        topic, cluster = replicated_to(west, other.url)
        publish(client, topic, NUMBERS, batching_enabled=False)
        wait_until(lambda: cursor_of(west, topic, cluster).backlog_entries == 0, 10)
        assert other.arrived == NUMBERS
        assert other.producers == [f"pulsar.repl.west-->{cluster}"]
        assert {one.replicated_from for one in other.metadata} == {"west"}
        assert not any(one.properties for one in other.metadata)


def test_what_follows_a_refused_message_is_sent_again_once(west: EmbeddedBroker, client: pulsar.Client) -> None:
    attempts = 0

    def refuse_20(sent: Sent) -> bytes:
        nonlocal attempts
        if sent.payload != b"20" or attempts >= 4:
            return stored(sent)
        attempts += 1
        return commands.send_error(sent.producer_id, sent.sequence_id, 2, "no room")

    with ScriptedCluster(refuse_20) as other:
        topic, cluster = replicated_to(west, other.url)
        publish(client, topic, NUMBERS, batching_enabled=False)
        wait_until(lambda: "no room" in str(replication_stats(west, topic, cluster)["lastError"]), 10)
        wait_until(lambda: cursor_of(west, topic, cluster).backlog_entries == 0, 20)
        assert attempts == 4
        assert max(other.arrived.count(payload) for payload in NUMBERS if payload != b"20") <= 2
        last_attempt = len(other.arrived) - 1 - other.arrived[::-1].index(b"20")
        assert other.arrived[last_attempt:] == NUMBERS[20:]


def test_a_receipt_for_something_else_ends_the_connection(west: EmbeddedBroker, client: pulsar.Client) -> None:
    wrong = iter([True])

    def confuse_once(sent: Sent) -> bytes:
        shift = 1000 if next(wrong, False) else 0
        return commands.send_receipt(sent.producer_id, sent.sequence_id + shift, 1, 1)

    with ScriptedCluster(confuse_once) as other:
        topic, cluster = replicated_to(west, other.url)
        publish(client, topic, NUMBERS[:3], batching_enabled=False)
        wait_until(lambda: cursor_of(west, topic, cluster).backlog_entries == 0, 10)
        assert len(other.producers) == 2
        assert list(dict.fromkeys(other.arrived)) == NUMBERS[:3]


def test_a_lost_receipt_is_asked_for_by_sending_again(west: EmbeddedBroker, client: pulsar.Client) -> None:
    with ScriptedCluster(lambda sent: b"") as other:
        topic, cluster = replicated_to(west, other.url)
        publish(client, topic, NUMBERS[:3], batching_enabled=False)
        wait_until(lambda: other.arrived == NUMBERS[:3], 10)
        assert cursor_of(west, topic, cluster).backlog_entries == 3
        with ScriptedCluster(stored) as another:
            admin(west.http_url, "POST", f"clusters/{cluster}", {"brokerServiceUrl": another.url})
            wait_until(lambda: cursor_of(west, topic, cluster).backlog_entries == 0, 10)
            assert another.arrived == NUMBERS[:3]


def test_a_broker_that_confirms_nothing_gets_everything_again_on_another_connection(
    west: EmbeddedBroker, client: pulsar.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicator, "STUCK_SECONDS", 0.3)

    def stored_by_the_second(sent: Sent) -> bytes:
        return stored(sent) if other.connections > 1 else b""

    with ScriptedCluster(stored_by_the_second) as other:
        topic, cluster = replicated_to(west, other.url)
        publish(client, topic, NUMBERS[:3], batching_enabled=False)
        wait_until(lambda: cursor_of(west, topic, cluster).backlog_entries == 0, 10)
        assert list(dict.fromkeys(other.arrived)) == NUMBERS[:3]
        assert other.connections == 2


def test_a_marker_is_confirmed_without_a_position(west: EmbeddedBroker, client: pulsar.Client) -> None:
    def stored_by_position(sent: Sent) -> bytes:
        if sent.metadata.HasField("marker_type"):
            return commands.send_receipt(sent.producer_id, 0, 1, 1, highest_sequence_id=OF_A_MARKER)
        position = source_position(sent.metadata)
        assert position is not None
        return commands.send_receipt(sent.producer_id, position[0], 1, 1, highest_sequence_id=position[1])

    with ScriptedCluster(stored_by_position, {"supports_repl_dedup_by_lid_and_eid": True}) as other:
        topic, cluster = replicated_to(west, other.url)
        subscribe(client, topic)
        for some in (NUMBERS[:3], NUMBERS[3:5]):
            publish(client, topic, some, batching_enabled=False)
            wait_until(lambda: SNAPSHOT_REQUEST in [one.marker_type for one in other.metadata], SECONDS)
        wait_until(lambda: cursor_of(west, topic, cluster).backlog_entries == 0, SECONDS)
        assert len(other.producers) == 1  # no receipt was a surprise
        assert [one.marker_type for one in other.metadata].count(SNAPSHOT_REQUEST) == 1  # it waits for the answer
        assert {one.replicated_from for one in other.metadata} == {"west"}


class WebServer(ThreadedListener):
    """The port of an admin API: it answers CONNECT as a web server does."""

    def accepted(self, connection: socket.socket) -> None:
        self.start(self._refuse, connection)

    def _refuse(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


def test_the_port_of_a_web_server_is_named_as_such(west: EmbeddedBroker, client: pulsar.Client) -> None:
    with WebServer() as other:
        topic, cluster = replicated_to(west, other.url)
        publish(client, topic, [b"x"])
        expected = "a web server answered; is this the port of the binary protocol?"
        wait_until(lambda: replication_stats(west, topic, cluster)["lastError"].endswith(expected), SECONDS)


class Pinged(ScriptedCluster):
    """Counts the PINGs, and answers them if it should."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__(stored)
        self.pings = 0
        self._is_alive = answers

    def _reply(self, command: Command) -> Iterator[bytes]:
        is_ping = command.type == BaseCommand.PING
        self.pings += is_ping
        if self._is_alive or not is_ping:
            yield from super()._reply(command)


def test_a_connection_that_leaves_a_ping_unanswered_is_replaced(
    west: EmbeddedBroker, client: pulsar.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker_core.replication.connection.PING_SECONDS", 0.1)
    with Pinged(answers=False) as other:
        publish(client, replicated_to(west, other.url)[0], NUMBERS)
        wait_until(lambda: other.connections > 1, 10)


def test_a_connection_that_answers_each_ping_stays(
    west: EmbeddedBroker, client: pulsar.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker_core.replication.connection.PING_SECONDS", 0.2)
    with Pinged(answers=True) as other:
        publish(client, replicated_to(west, other.url)[0], NUMBERS)
        wait_until(lambda: other.pings > 4, 10)
        assert other.connections == 1
