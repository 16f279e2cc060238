"""Reading of one partition through the official client."""

from typing import Any

import pulsar

from pulsarctl.client.client_errors import problem
from pulsarctl.client.client_record import ClientRecord


class TopicReader:
    """Reads one partition. Acknowledges nothing."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def payload(self, timeout_ms: int) -> bytes | None:
        """The next message, or None after `timeout_ms`."""
        try:
            return bytes(self._reader.read_next(timeout_ms).data())
        except pulsar.Timeout:
            return None

    def receive(self, timeout_ms: int, count_max: int) -> list[ClientRecord]:
        """Up to `count_max` records. Waits only for the first, and returns none after `timeout_ms`."""
        records: list[ClientRecord] = []
        try:
            while len(records) < count_max:
                records.append(ClientRecord(self._reader.read_next(0 if records else timeout_ms)))
        except pulsar.Timeout:
            pass
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "read the next message", "") from error
        return records

    def has_more(self) -> bool:
        """Whether the partition has messages after the last one that was read."""
        try:
            return bool(self._reader.has_message_available())
        except pulsar.PulsarException as error:
            raise problem(type(error).__name__, "ask for the last message", "") from error

    def is_connected(self) -> bool:
        return bool(self._reader.is_connected())
