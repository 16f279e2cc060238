"""One message as `consume`, `read` and every output format see it.

Two kinds of source exist: the official client's messages (`messaging.py`) and raw entries (`entry_record.py`). The
official client does not show everything; what a source cannot know is in `HIDDEN_FROM_CLIENT` and is refused by a
template and left out of JSON, rather than shown as an empty value that looks like an answer.
"""

from collections.abc import Mapping
from typing import Protocol

HIDDEN_FROM_CLIENT = frozenset(
    {"index", "sequence_id", "deliver_at_ms", "replicated_from", "compression", "encryption_keys"}
)


class Record(Protocol):
    """Times are milliseconds since the epoch, 0 when unset. Keys and values are bytes as they are on the wire.

    `value` is None for a tombstone, `key` and `ordering_key` are None when there is none. `batch_index` and `partition`
    are -1 when the message is in no batch, the topic not partitioned. `topic` carries the partition's suffix.
    `error` says what of the message could not be decoded and is therefore missing; None for nothing.
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
    """`ledger:entry:partition:batch`, the form that positions are typed in (`positions.py`)."""
    return f"{record.ledger_id}:{record.entry_id}:{record.partition}:{record.batch_index}"


def partition_of(topic: str) -> int:
    """The number behind `-partition-`, or -1."""
    _, separator, number = topic.rpartition("-partition-")
    return int(number) if separator and number.isdecimal() and (number == "0" or number[0] != "0") else -1
