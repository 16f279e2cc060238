"""A reader of the official client as a source of records."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulsarctl.records.record import Record

if TYPE_CHECKING:
    from pulsarctl.client.topic_reader import TopicReader


class ReaderSource:
    """One partition. With `stops_at_end`, it has ended when the reader has caught up with the partition."""

    def __init__(self, reader: "TopicReader", *, stops_at_end: bool) -> None:
        self._reader = reader
        self._stops_at_end = stops_at_end
        self.ended = stops_at_end and not reader.has_more()

    def receive(self, timeout_ms: int, count_max: int) -> Sequence[Record]:
        records = self._reader.receive(timeout_ms, count_max)
        if not records and self._stops_at_end:
            self.ended = not self._reader.has_more()
        return records

    def settle(self, records: Sequence[Record]) -> None:
        """A reader acknowledges nothing."""
