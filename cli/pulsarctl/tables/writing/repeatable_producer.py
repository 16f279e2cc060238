"""A producer whose batches repeat in each attempt of the same work, so that the broker drops what it has stored.

The broker compares the sequence ID of the first message in a batch. So batches must repeat, too: only the number and
the size of messages end one, or a flush, and never the time.
"""

import time
from typing import Any

import pulsar

from pulsarctl.client.client_settings import COMPRESSION_TYPES

PENDING_MESSAGES_MAX = 5000
NEVER_MS = 24 * 3600 * 1000
RETRY_SECONDS = 0.5


def open_producer(
    client: Any, topic: str, *, name: str, schema: Any, compression: str, batch_messages: int, timeout_seconds: float
) -> Any:
    """An earlier attempt may still hold the name: its connection ends soon. Raises `PulsarException`."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            return client.create_producer(
                topic,
                producer_name=name,
                schema=schema,
                compression_type=COMPRESSION_TYPES[compression],
                batching_enabled=True,
                batching_max_messages=batch_messages,
                batching_max_publish_delay_ms=NEVER_MS,
                block_if_queue_full=True,
                max_pending_messages=PENDING_MESSAGES_MAX,
                send_timeout_millis=max(round(timeout_seconds * 1000), 1000),
            )
        except pulsar.ProducerBusy:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)


class Receipts:
    """The answers to messages. `failure` is the name of the first result that is a failure."""

    def __init__(self) -> None:
        self.failure: str | None = None

    def add(self, result: Any, message_id: Any) -> None:
        """Runs in a thread of the client."""
        if result != pulsar.Result.Ok and self.failure is None:
            self.failure = result.name
