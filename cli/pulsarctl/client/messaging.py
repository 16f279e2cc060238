"""Publishing and consuming through the official client.

Commands import this module in their functions, because it takes 60 ms. The library may write its log to descriptor 1,
so `render.guard_stdout` must precede the import.
"""

import random
import re
from contextlib import AbstractContextManager
from typing import Any

import pulsar

from pulsarctl.client.client_settings import consumer_settings, producer_settings
from pulsarctl.client.closing import close_in_time
from pulsarctl.client.lanes import Lanes
from pulsarctl.client.native_log import NativeLog
from pulsarctl.client.opening import open_client
from pulsarctl.client.publish_options import BATCH_MESSAGES_MAX, PublishOptions
from pulsarctl.client.publisher import Publisher
from pulsarctl.client.reachability import check_answers
from pulsarctl.client.routing import Router
from pulsarctl.client.subscribe_options import SubscribeOptions
from pulsarctl.client.subscriber import Subscriber
from pulsarctl.client.topic_reader import TopicReader
from pulsarctl.settings.settings import Settings
from pulsarctl.values.message_ids import LATEST, MessageId


class Messaging:
    """The client of one command. `timeout_seconds` bounds each of its requests."""

    def __init__(self, settings: Settings, timeout_seconds: float) -> None:
        self._settings = settings
        check_answers(settings, timeout_seconds)
        self._log = NativeLog(settings.log_level)
        self._client = open_client(settings, settings.service_url, timeout_seconds, self._log.logger())

    def partitions(self, topic: str, action: str = "") -> list[str]:
        """The names of the topic's partitions, or of the topic itself if it has none. `action` is for errors."""
        with self._translated(action or f"look up {topic}"):
            return [str(name) for name in self._client.get_topic_partitions(topic)]

    def publisher(self, topic: str, options: PublishOptions) -> Publisher:
        names = self.partitions(topic, f"produce to {topic}")
        turn_messages = BATCH_MESSAGES_MAX if options.batching else 1
        first = random.randrange(len(names))  # noqa: S311  # spreads the load, and is not a secret
        router = Router(len(names), turn_messages, first)
        settings = producer_settings(options)

        def open_producer(partition: int) -> Any:
            with self._translated(f"produce to {names[partition]}"):
                return self._client.create_producer(names[partition], **settings)

        lanes = Lanes(len(names), open_producer, size_is_final=options.compression == "none")
        return Publisher(topic, lanes, router, options, self._log)

    def subscriber(self, topic: str, options: SubscribeOptions) -> Subscriber:
        name: Any = re.compile(topic) if options.pattern_mode else topic
        with self._translated(f"subscribe to {topic} as '{options.subscription}'"):
            consumer = self._client.subscribe(name, options.subscription, **consumer_settings(options))
        return Subscriber(consumer, options, self._log)

    def producer(self, topic: str, options: PublishOptions) -> Any:
        """A producer of the official client for all partitions; the caller bounds its pending messages."""
        settings = producer_settings(options)
        settings["max_pending_messages_across_partitions"] = max(50_000, options.pending_messages_max)
        with self._translated(f"produce to {topic}"):
            return self._client.create_producer(topic, **settings)

    def reader(self, topic: str, start: MessageId = LATEST, queue_size: int = 1000) -> TopicReader:
        """A reader of one partition that begins at `start`, without a durable subscription."""
        place = pulsar.MessageId(start.partition, start.ledger_id, start.entry_id, start.batch_index)
        with self._translated(f"read {topic}"):
            reader = self._client.create_reader(
                topic, place, receiver_queue_size=queue_size, start_message_id_inclusive=not start.is_end
            )
        return TopicReader(reader, self._log)

    def close(self) -> None:
        """Sends pending acknowledgments and closes the connections.

        Messages fetched ahead return to the broker, which has half a second to answer.
        """
        close_in_time(self._client.close)
        self._log.close()

    def _translated(self, action: str) -> AbstractContextManager[None]:
        return self._log.translated(action, self._settings.service_url)
