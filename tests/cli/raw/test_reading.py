"""The source of records of `read`, where it cannot be opened."""

import pulsar
import pytest

from broker_core.names import parse_topic
from broker_core.testing import EmbeddedBroker
from pulsarctl.errors import CliError
from pulsarctl.raw.reading import Reader, ReadRequest
from pulsarctl.settings.settings import Settings
from pulsarctl.values.positions import Earliest, Latest
from tests.cli.publishing import publish
from tests.support.condition import wait_until


def test_reading_leaves_no_connection_if_the_end_is_not_known(
    pulsar_broker: EmbeddedBroker, client: pulsar.Client, topic: str
) -> None:
    class DeletedMeanwhile(ReadRequest):
        """The topic is deleted before the reader asks for its end."""

        def _reader(self, *given: object, **options: object) -> Reader:
            reader = super()._reader(*given, **options)  # type: ignore[arg-type]  # passes everything on
            readers.append(reader)
            pulsar_broker.call(pulsar_broker.broker.topics.delete(parse_topic(name), force=True))
            return reader

    name = f"persistent://public/default/{topic}"
    readers: list[Reader] = []
    publish(client, name, "a")
    before = set(pulsar_broker.broker.connections)
    settings = Settings(service_url=pulsar_broker.service_url, web_url=pulsar_broker.http_url)
    with pytest.raises(CliError, match="does not exist"):
        DeletedMeanwhile(settings, 10.0, name, Earliest(), Latest()).open()
    assert readers
    wait_until(lambda: before.issuperset(pulsar_broker.broker.connections), 5)
