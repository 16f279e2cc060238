"""A few rows before they become columns: the messages of one batch, or of some unbatched entries.

Few, because the parsed metadata of thousands of messages falls out of the processor's caches: that doubles the time.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, repeat
from typing import TypeVar

from broker_core.wire.message import Entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata, SingleMessageMetadata
from pulsarctl.tables.entry_run import EntryRun

Message = MessageMetadata | SingleMessageMetadata
T = TypeVar("T")


class Rows:
    """Rows of one ledger of one topic partition.

    `entries` are what the rows are from, each with the number of its rows. `messages` has the metadata of each row: of
    the message in its batch, or of the entry. Their fields have the same names. `values` is empty unless a column
    needs them. `batch_indexes` are -1 for rows that are not part of a batch.
    """

    __slots__ = (
        "batch_indexes",
        "counts",
        "entries",
        "entry_ids",
        "ledger_id",
        "messages",
        "partition",
        "sizes",
        "stands_for",
        "subscriptions",
        "topic",
        "values",
    )

    def __init__(self, topic: str, partition: int, ledger_id: int) -> None:
        self.topic = topic
        self.partition = partition
        self.ledger_id = ledger_id
        self.entry_ids: list[int] = []
        self.entries: list[Entry] = []
        self.sizes: list[int] = []  # stored bytes of each entry
        self.subscriptions: list[str | None] = []
        self.stands_for: list[int] = []  # messages that each row of the entry stands for
        self.counts: list[int] = []  # rows of the entry
        self.messages: list[Message] = []
        self.values: list[bytes | None] = []
        self.batch_indexes: list[int] = []

    def __len__(self) -> int:
        return len(self.messages)

    def add(
        self,
        entry_id: int,
        entry: Entry,
        size: int,
        messages: Sequence[Message],
        values: Sequence[bytes | None],
        batch_indexes: Iterable[int],
        *,
        stands_for: int = 1,
        subscription: str | None = None,
    ) -> None:
        """One entry, and a row for each of its messages."""
        self.entry_ids.append(entry_id)
        self.entries.append(entry)
        self.sizes.append(size)
        self.subscriptions.append(subscription)
        self.stands_for.append(stands_for)
        self.counts.append(len(messages))
        self.messages += messages
        self.values += values
        self.batch_indexes += batch_indexes

    def add_singles(self, run: EntryRun, values: Sequence[bytes | None]) -> None:
        """Entries that are one message each, column by column."""
        count = len(run)
        self.entry_ids += run.entry_ids.tolist()
        self.entries += run.entries
        self.sizes += run.sizes.tolist()
        self.subscriptions += [None] * count
        self.stands_for += [1] * count
        self.counts += [1] * count
        self.messages += [entry.metadata for entry in run.entries]
        self.values += values
        self.batch_indexes += [-1] * count

    def per_row(self, of_entries: list[T]) -> list[T]:
        """The values of each entry, repeated for each of its rows."""
        if len(of_entries) == 1:
            return of_entries * len(self.messages)
        if len(of_entries) == len(self.messages):
            return of_entries
        return list(chain.from_iterable(map(repeat, of_entries, self.counts)))

    def of_metadata(self, value: Callable[[MessageMetadata], T]) -> list[T]:
        return self.per_row([value(entry.metadata) for entry in self.entries])
