"""The embedded broker and the fixture for users' tests."""

import asyncio
import gc
import socket
import urllib.request
from pathlib import Path

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ServerConfig
from broker_core.server.ports import PortInUse
from broker_core.storage.errors import DirectoryLocked
from broker_core.testing import EmbeddedBroker
from tests.support.condition import wait_until

pytest_plugins = ["pytester"]

TOPIC = "persistent://public/default/t"


def connect(broker: EmbeddedBroker) -> pulsar.Client:
    return pulsar.Client(broker.service_url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))


def publish_and_receive(broker: EmbeddedBroker, value: bytes) -> bytes:
    client = connect(broker)
    consumer = client.subscribe(TOPIC, "s", initial_position=pulsar.InitialPosition.Earliest)
    client.create_producer(TOPIC).send(value)
    received = consumer.receive(5000)
    consumer.acknowledge(received)
    client.close()
    return bytes(received.data())


def test_a_client_publishes_and_consumes() -> None:
    with EmbeddedBroker() as broker:
        assert publish_and_receive(broker, b"hello") == b"hello"


def test_the_garbage_collector_settings_do_not_change() -> None:
    before, frozen = (gc.get_threshold(), gc.isenabled()), gc.get_freeze_count()
    with EmbeddedBroker() as broker:
        urllib.request.urlopen(f"{broker.http_url}/admin/v2/brokers/ready", timeout=10).close()
        assert (gc.get_threshold(), gc.isenabled()) == before
        assert gc.get_freeze_count() <= frozen  # objects that the test run froze may die


async def test_an_embedded_broker_runs_next_to_an_event_loop() -> None:
    async with EmbeddedBroker() as broker:
        assert await asyncio.to_thread(publish_and_receive, broker, b"hello") == b"hello"


def test_the_temporary_directory_is_removed() -> None:
    with EmbeddedBroker() as broker:
        assert (broker.directory / "FORMAT").exists()
    assert not broker.directory.exists()


def test_a_given_directory_keeps_published_messages(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "data") as broker:
        client = connect(broker)
        client.create_producer(TOPIC).send(b"kept")
        client.close()
    with EmbeddedBroker(tmp_path / "data") as broker:
        client = connect(broker)
        reader = client.create_reader(TOPIC, pulsar.MessageId.earliest)
        assert reader.read_next(5000).data() == b"kept"
        client.close()


def test_two_brokers_at_a_time_do_not_interfere() -> None:
    with EmbeddedBroker() as one, EmbeddedBroker() as other:
        assert one.service_url != other.service_url and one.directory != other.directory
        assert publish_and_receive(one, b"1") == b"1"
        assert publish_and_receive(other, b"2") == b"2"


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path), pytest.raises(DirectoryLocked), EmbeddedBroker(tmp_path):
        pass


def test_a_broker_that_does_not_stop_in_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedBroker() as broker:
        with monkeypatch.context() as patch:
            patch.setattr("broker_core.testing.DEADLINE_SECONDS", 0.0)
            with pytest.raises(TimeoutError, match="the broker did not stop within 0 s"):
                broker.stop()
        # The stop continues in its thread, and removes the directory when it is done.
        wait_until(lambda: not broker.directory.exists(), 10.0)


def test_a_failed_start_leaves_no_files_or_threads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = ServerConfig(broker_port=taken.getsockname()[1], web_port=0)
        broker = EmbeddedBroker(config=BrokerConfig(server=server))
        with pytest.raises(PortInUse):
            broker.start()
    assert not broker.directory.exists()


def test_stopping_twice_is_allowed() -> None:
    broker = EmbeddedBroker().start()
    broker.stop()
    broker.stop()


def test_the_fixture_needs_only_to_be_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pulsar

        def test_it(pulsar_broker):
            client = pulsar.Client(pulsar_broker.service_url)
            client.create_producer("t").send(b"x")
            client.close()

        def test_a_module_shares_one(pulsar_broker):
            assert "persistent://public/default/t" in pulsar_broker.broker.topics.loaded
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2)
