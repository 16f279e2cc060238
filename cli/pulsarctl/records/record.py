"""A message as `consume`, `read`, and every output format see it.

Records come from the official client (`client_record.py`) and from raw entries (`entry_record.py`). The client hides
the fields in `HIDDEN_FROM_CLIENT`. Templates refuse them and JSON omits them, because an empty value would be wrong.
"""

from collections.abc import Mapping
from typing import Protocol

HIDDEN_FROM_CLIENT = frozenset(
    {"index", "sequence_id", "deliver_at_ms", "replicated_from", "compression", "encryption_keys"}
)


class Record(Protocol):
    """Times are in milliseconds since the epoch, 0 if unset. Keys and values are bytes as on the wire.

    `value` is None for a tombstone, and `key` and `ordering_key` are None if absent. `batch_index` is -1 outside a
    batch, and `partition` -1 without partitions. `topic` includes the suffix of the partition. `error` says which part
    of the message is missing because it could not be decoded, or is None.
    """

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def ledger_id(self) -> int: ...
    @property
    def entry_id(self) -> int: ...
    @property
    def batch_index(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def ordering_key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    @property
    def publish_time_ms(self) -> int: ...
    @property
    def event_time_ms(self) -> int: ...
    @property
    def producer_name(self) -> str: ...
    @property
    def redelivery_count(self) -> int: ...
    @property
    def schema_version(self) -> bytes: ...
    @property
    def index(self) -> int | None: ...
    @property
    def sequence_id(self) -> int | None: ...
    @property
    def deliver_at_ms(self) -> int | None: ...
    @property
    def replicated_from(self) -> str | None: ...
    @property
    def compression(self) -> str: ...
    @property
    def encryption_keys(self) -> tuple[str, ...]: ...
    @property
    def error(self) -> str | None: ...


def message_id(record: Record) -> str:
    """`ledger:entry:partition:batch`, the form that `message_ids.py` parses."""
    return f"{record.ledger_id}:{record.entry_id}:{record.partition}:{record.batch_index}"


def partition_of(topic: str) -> int:
    """The number after `-partition-`, or -1."""
    _, separator, number = topic.rpartition("-partition-")
    return int(number) if separator and number.isdecimal() and (number == "0" or number[0] != "0") else -1
