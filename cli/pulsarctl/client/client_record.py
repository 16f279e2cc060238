"""A message of the official client as a `Record`. Fields are fetched on access, because most outputs need few.

The client returns keys, names, and properties as `str`, and raises for data that is not UTF-8; the bytes are in the
error. If one property is not UTF-8, all properties are unavailable, and `error` says so.
"""

from collections.abc import Callable, Mapping
from typing import Any

from pulsarctl.values.message_keys import from_base64
from pulsarctl.values.names import partition_index


class ClientRecord:
    """`message` is a `pulsar.Message`, which acknowledging needs."""

    __slots__ = ("_id", "error", "message")

    index = None
    sequence_id = None
    deliver_at_ms = None
    replicated_from = None
    compression = ""
    encryption_keys: tuple[str, ...] = ()

    def __init__(self, message: Any) -> None:
        self.message = message
        self._id = message.message_id()
        self.error: str | None = None

    @property
    def topic(self) -> str:
        return str(self.message.topic_name())

    @property
    def partition(self) -> int:
        return partition_index(self.topic)

    @property
    def ledger_id(self) -> int:
        return int(self._id.ledger_id())

    @property
    def entry_id(self) -> int:
        return int(self._id.entry_id())

    @property
    def batch_index(self) -> int:
        return int(self._id.batch_index())

    @property
    def key(self) -> bytes | None:
        return _text_bytes(self.message.partition_key) or None

    @property
    def pair_key(self) -> bytes | None:
        """Java writes it as base64 text. The client does not tell, so a key that is not base64 is the key itself."""
        return None if self.key is None else from_base64(self.key)

    @property
    def ordering_key(self) -> bytes | None:
        return _text_bytes(self.message.ordering_key) or None

    @property
    def value(self) -> bytes | None:
        data: bytes = self.message.data()
        return None if not data and self.message.has_null_value() else data

    @property
    def is_empty_slot(self) -> bool:
        """Whether this may be a message of a compacted batch that compaction removed: nothing is left but its place.

        The client does not tell it from a message that was sent without a key and with no content at all.
        """
        is_empty = self.batch_index >= 0 and self.value == b"" and self.key is None and not self.ordering_key
        return is_empty and not self.event_time_ms and not self.properties

    @property
    def properties(self) -> Mapping[str, str]:
        try:
            decoded: Mapping[str, str] = self.message.properties()
        except UnicodeDecodeError as error:
            self.error = f"the properties are not UTF-8: {error.reason}"
            return {}
        return decoded

    @property
    def publish_time_ms(self) -> int:
        return int(self.message.publish_timestamp())

    @property
    def event_time_ms(self) -> int:
        return int(self.message.event_timestamp())

    @property
    def producer_name(self) -> str:
        return _text_bytes(self.message.producer_name).decode("utf-8", "replace")

    @property
    def redelivery_count(self) -> int:
        return int(self.message.redelivery_count())

    @property
    def schema_version(self) -> bytes:
        return _text_bytes(self.message.schema_version)


def _text_bytes(get: Callable[[], str]) -> bytes:
    try:
        return (get() or "").encode()
    except UnicodeDecodeError as error:
        return bytes(error.object)
