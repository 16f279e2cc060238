"""A scalable topic for tests of programs that read it: its segments, with messages in each, and splits."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count

from broker_core.testing import EmbeddedBroker
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from pulsarctl.admin.client import AdminClient
from pulsarctl.admin.parts import parts_of
from pulsarctl.settings.settings import Settings
from tests.support.raw_client import RawClient
from tests.support.raw_publishing import close_producer, producer, send


@dataclass(frozen=True, slots=True)
class ScalableTopic:
    broker: EmbeddedBroker
    name: str
    _sequence_ids: Iterator[int] = field(default_factory=count)

    @classmethod
    def create(
        cls, broker: EmbeddedBroker, local: str, segments: int = 1, namespace: str = "public/default"
    ) -> "ScalableTopic":
        topic = cls(broker, f"topic://{namespace}/{local}")
        with closing(topic.admin()) as admin:
            admin.scalable_topics.create(topic.name, segments, {})
        return topic

    def admin(self) -> AdminClient:
        return AdminClient(Settings(web_url=self.broker.http_url))

    def segments(self) -> dict[int, str]:
        """The full names by ID, as the record has them."""
        with closing(self.admin()) as admin:
            return {int(part.topic.rpartition("-")[2]): part.topic for part in parts_of(admin, self.name)}

    def publish(self, segment: int, keys: Sequence[str]) -> None:
        """One message for each key, with the key as its value."""
        with RawClient(self.broker.service_url) as client:
            client.ask(producer(self.segments()[segment]), BaseCommand.PRODUCER_SUCCESS)
            for key in keys:
                client.send(send(next(self._sequence_ids), key.encode(), metadata={"partition_key": key}))
                client.expect(BaseCommand.SEND_RECEIPT)
            client.send(close_producer())
            client.expect(BaseCommand.SUCCESS)

    def subscribe(self, subscription: str) -> None:
        with closing(self.admin()) as admin:
            admin.http.put(f"{self._path}/subscriptions/{subscription}", type="QUEUE")

    def skip_all(self, subscription: str) -> None:
        with closing(self.admin()) as admin:
            admin.http.post(f"{self._path}/subscriptions/{subscription}/skip-all")

    def split(self, segment: int) -> None:
        with closing(self.admin()) as admin:
            admin.http.post(f"{self._path}/split/{segment}")

    def collect(self) -> None:
        """Deletes the sealed segments that every subscription has read."""
        self.broker.call(self.broker.broker.scalable.collection.collect_all())

    @property
    def _path(self) -> str:
        return f"/admin/v2/scalable/{self.name.partition('://')[2]}"
