"""`read --from index:N` where the index is yet to come, and with brokers that cannot tell where it is."""

from collections.abc import Iterator

import pulsar
import pytest

from broker_core.config.broker import BrokerConfig
from broker_core.config.features import EntryMetadataConfig
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from pulsarctl.errors import CannotConnect, CliError, NotAuthorized, NotFound, TimedOut
from pulsarctl.raw.reading import EntrySource, ReadRequest
from pulsarctl.settings.settings import Settings
from pulsarctl.values.positions import AtIndex
from tests.cli.publishing import publish
from tests.support.http_stub import HttpStub, Reply, Request

RECEIVE_MS = 30_000


@pytest.fixture(scope="module")
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    """Clients get the index of each message."""
    config = BrokerConfig(server=FREE_PORTS, entry_metadata=EntryMetadataConfig(exposed=True))
    with EmbeddedBroker(config=config) as broker:
        yield broker


def reading(broker: EmbeddedBroker, topic: str, index: int, web_url: str = "") -> EntrySource:
    settings = Settings(service_url=broker.service_url, web_url=web_url or broker.http_url)
    name = topic if "://" in topic else f"persistent://public/default/{topic}"
    return ReadRequest(settings, 30.0, name, AtIndex(index), None).open()


def received(source: EntrySource) -> list[bytes | None]:
    return [record.value for record in source.receive(RECEIVE_MS, 10)]


def test_reading_waits_for_an_index_that_is_yet_to_come(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "0", "1")
    source = reading(pulsar_broker, topic, 3)
    publish(client, topic, "2", "3")
    assert received(source) == [b"3"]
    source.close()


def test_a_message_that_gets_the_index_while_the_broker_is_asked_is_read(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "0")

    def answer(request: Request) -> Reply:
        if "getMessageIdByIndex" not in request.path:
            return Reply(200, {"partitions": 0})
        publish(client, topic, "1")
        return Reply(404, {"reason": "Message not found for index 1"})

    with HttpStub(answer) as stub:
        source = reading(pulsar_broker, topic, 1, stub.url)
    assert received(source) == [b"1"]
    source.close()


@pytest.mark.parametrize("status", [400, 404, 405, 412])
def test_the_messages_tell_their_index_if_the_broker_has_no_such_request(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, status: int
) -> None:
    publish(client, topic, "0", "1")
    with HttpStub(lambda _: Reply(status, {"reason": "no"})) as stub:
        source = reading(pulsar_broker, topic, 1, stub.url)
    assert received(source) == [b"1"]
    source.close()


@pytest.mark.parametrize(("status", "error"), [(401, NotAuthorized), (403, NotAuthorized), (504, TimedOut)])
def test_a_refusal_is_not_taken_for_an_old_broker(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str, status: int, error: type[CliError]
) -> None:
    publish(client, topic, "0")
    with HttpStub(lambda _: Reply(status, {"reason": "no"})) as stub, pytest.raises(error):
        reading(pulsar_broker, topic, 0, stub.url)


def test_an_admin_api_that_is_away_is_not_taken_for_an_old_broker(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    publish(client, topic, "0")
    with pytest.raises(CannotConnect):
        reading(pulsar_broker, topic, 0, "http://127.0.0.1:1")


def test_without_indexes_of_messages_an_index_that_is_yet_to_come_is_refused() -> None:
    topic = "persistent://public/default/unnumbered"
    with EmbeddedBroker() as broker:
        client = pulsar.Client(broker.service_url)
        publish(client, topic, "0")
        source = reading(broker, topic, 3)
        publish(client, topic, "1")
        with pytest.raises(NotFound, match=f"index 3 does not exist yet in {topic}"):
            received(source)
        source.close()
        client.close()
