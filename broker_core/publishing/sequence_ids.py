"""What deduplication knows of each producer name: its highest sequence ids, pushed and persisted; pure.

A message is new when its sequence id is above everything that was *pushed*, that is, handed to the log; gaps are
allowed. What was pushed is *persisted* once it is on disk; after a failed write it counts as never pushed.
A batch is judged by its lowest sequence id and remembered by its highest (Pulsar docs, "Message deduplication").
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

NONE = -1
"""The last sequence id of a producer that is not known."""

NO_PRODUCER = ""
"""The name for entries that have no sequence ID and are always new: markers of a replicator."""


class Part(NamedTuple):
    """Consecutive messages of a run, `first` to `stop - 1`, that are all new or all there already."""

    first: int
    stop: int
    is_new: bool


class SequenceIds:
    __slots__ = ("_persisted", "_pushed")

    def __init__(self, persisted: Mapping[str, int] | None = None) -> None:
        self._persisted: dict[str, int] = dict(persisted or {})
        self._pushed = dict(self._persisted)

    def __contains__(self, name: str) -> bool:
        return name in self._pushed

    def __len__(self) -> int:
        return len(self._pushed)

    @property
    def persisted(self) -> dict[str, int]:
        """Name -> highest sequence id on disk."""
        return dict(self._persisted)

    def last(self, name: str) -> int:
        """The highest sequence id that was pushed; `NONE` when the producer is not known."""
        return self._pushed.get(name, NONE)

    def split(self, name: str, lowest: Sequence[int], highest: Sequence[int]) -> list[Part]:
        """The parts of a run whose entry i holds the sequence ids `lowest[i]` to `highest[i]`; nothing is noted."""
        last, parts, start, was_new = self.last(name), [], 0, False
        for index, (low, high) in enumerate(zip(lowest, highest, strict=True)):
            is_new = low > last
            if is_new:
                last = high
            if index and is_new != was_new:
                parts.append(Part(start, index, was_new))
                start = index
            was_new = is_new
        parts.append(Part(start, len(lowest), was_new))
        return parts

    def learn(self, name: str, highest: int) -> None:
        """Messages up to that sequence id are on disk: found there at a start."""
        self._persisted[name] = self._pushed[name] = highest

    def push(self, name: str, highest: int) -> None:
        """Messages up to that sequence id are on their way to the disk."""
        self._pushed[name] = highest

    def persist(self, name: str, highest: int) -> None:
        """They are there."""
        self._persisted[name] = highest
        self._pushed.setdefault(name, highest)

    def fail(self, name: str) -> None:
        """They are not; whatever else of that producer is on its way fails with them."""
        if name in self._persisted:
            self._pushed[name] = self._persisted[name]
        else:
            self._pushed.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self._persisted.pop(name, None)
            self._pushed.pop(name, None)
