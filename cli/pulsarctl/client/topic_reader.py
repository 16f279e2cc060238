"""Reading of one partition through the official client."""

import contextlib
from typing import Any

import pulsar

from pulsarctl.client.client_record import ClientRecord
from pulsarctl.client.native_log import NativeLog


class TopicReader:
    """Reads one partition. Acknowledges nothing."""

    def __init__(self, reader: Any, log: NativeLog) -> None:
        self._reader = reader
        self._log = log

    def payload(self, timeout_ms: int) -> bytes | None:
        """The next message, or None after `timeout_ms`."""
        try:
            return bytes(self._reader.read_next(timeout_ms).data())
        except pulsar.Timeout:
            return None

    def receive(self, timeout_ms: int, count_max: int) -> list[ClientRecord]:
        """Up to `count_max` records. Waits only for the first, and returns none after `timeout_ms`."""
        records: list[ClientRecord] = []
        with self._log.translated("read the next message"), contextlib.suppress(pulsar.Timeout):
            while len(records) < count_max:
                records.append(ClientRecord(self._reader.read_next(0 if records else timeout_ms)))
        if not records:
            self._log.bound()
        return records

    def has_more(self) -> bool:
        """Whether the partition has messages after the last one that was read."""
        with self._log.translated("ask for the last message"):
            return bool(self._reader.has_message_available())

    def is_connected(self) -> bool:
        return bool(self._reader.is_connected())
