"""Publishing to one topic in one transaction, through our own connections."""

import random
import secrets
from typing import Any

from pulsarctl.client.publish_options import PublishOptions
from pulsarctl.client.reachability import check_answers
from pulsarctl.client.routing import Router
from pulsarctl.raw.outgoing_entry import BATCH_MESSAGES_MAX, ProducerSettings
from pulsarctl.raw.topic_lookup import TopicLookup
from pulsarctl.raw.transaction import Transaction
from pulsarctl.raw.transaction_producer import TransactionProducer
from pulsarctl.settings.settings import Settings


class TransactionPublisher:
    """Routes messages as `client.Publisher` does. The caller ends `transaction`."""

    is_refused = False  # `send` raises instead

    def __init__(
        self, settings: Settings, topic: str, options: PublishOptions, *, ttl_seconds: float, timeout_seconds: float
    ) -> None:
        """Raises what `Transaction` raises."""
        self._settings = settings
        self._timeout_seconds = timeout_seconds
        self._producers: dict[int, TransactionProducer] = {}
        check_answers(settings, timeout_seconds)
        self._own_lookup = self._lookup()
        try:
            self._names = self._own_lookup.partition_names(topic)
            self.transaction = Transaction(self._own_lookup, ttl_seconds=ttl_seconds, timeout_seconds=timeout_seconds)
        except BaseException:
            self._own_lookup.close()
            raise
        first = random.randrange(len(self._names))  # noqa: S311  # spreads the load, and is not a secret
        self._router = Router(len(self._names), BATCH_MESSAGES_MAX if options.batching else 1, first)
        self._producer_settings = ProducerSettings(
            name=options.producer_name or f"pulsarctl-{secrets.token_hex(6)}",
            schema=options.schema,
            compression=options.compression,
            batching=options.batching,
            disable_replication=options.disable_replication,
        )
        self._fields: dict[str, Any] = {
            "properties": options.properties,
            "ordering_key": options.ordering_key,
            "event_timestamp": options.event_time_ms or None,
            "deliver_at": options.deliver_at_ms or None,
        }

    def send(self, value: bytes | None, key: str | None = None) -> None:
        """Raises `CliError` if this message or an earlier one is refused."""
        partition = self._router.partition_for(key)
        producer = self._producers.get(partition)
        if producer is None:
            producer = self._producers[partition] = TransactionProducer(
                self._lookup, self._names[partition], self.transaction, self._producer_settings
            )
        producer.send(value, partition_key=key, **self._fields)

    def flush(self) -> None:
        """Returns when the broker has stored every message. Raises as `send` does."""
        for producer in self._producers.values():
            producer.flush()

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()
        self._own_lookup.close()

    def _lookup(self) -> TopicLookup:
        return TopicLookup(self._settings.service_url, timeout_seconds=self._timeout_seconds, security=self._settings)
