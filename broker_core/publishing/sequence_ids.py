"""The highest sequence IDs of each producer name, pushed and persisted, for deduplication. Pure.

A message is new if its sequence ID is above all *pushed* ones, that is, those passed to the log; gaps are allowed. A
pushed ID is *persisted* once it is on disk; after a failed write it counts as never pushed. A batch is compared by its
lowest sequence ID and remembered by its highest (Pulsar docs, "Message deduplication").
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

NONE = -1
"""The last sequence ID of an unknown producer."""

NO_PRODUCER = ""
"""The name for entries without a sequence ID of a producer, which are always new: markers, and unnumbered entries."""


class Part(NamedTuple):
    """Consecutive messages of a run, `first` to `stop - 1`, that are all new or all duplicates."""

    first: int
    stop: int
    is_new: bool


class SequenceIds:
    __slots__ = ("_latest", "_persisted", "_pushed")

    def __init__(self, persisted: Mapping[str, int] | None = None) -> None:
        self._persisted: dict[str, int] = dict(persisted or {})
        self._pushed = dict(self._persisted)
        self._latest = ""  # the name at the end of `_persisted`

    def __contains__(self, name: str) -> bool:
        return name in self._pushed

    def __len__(self) -> int:
        return len(self._pushed)

    @property
    def persisted(self) -> dict[str, int]:
        """Name -> highest sequence ID on disk, the name that was used last at the end."""
        return dict(self._persisted)

    def last(self, name: str) -> int:
        """The highest sequence ID that was pushed; `NONE` if the producer is unknown."""
        return self._pushed.get(name, NONE)

    def split(self, name: str, lowest: Sequence[int], highest: Sequence[int]) -> list[Part]:
        """The parts of a run whose entry i has the sequence IDs `lowest[i]` to `highest[i]`; changes nothing."""
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
        """Notes a message with that sequence ID, which is on disk at the start.

        The highest counts: the messages before it were compared, even if a version before this one did not mark all
        of those that were not.
        """
        highest = max(highest, self._persisted.get(name, NONE))
        self._note(name, highest)
        self._pushed[name] = highest

    def push(self, name: str, highest: int) -> None:
        """Notes that messages up to that sequence ID are being written."""
        self._pushed[name] = highest

    def persist(self, name: str, highest: int) -> None:
        """Notes that the pushed messages are on disk."""
        self._note(name, highest)
        self._pushed.setdefault(name, highest)

    def _note(self, name: str, highest: int) -> None:
        """Hot path: called once per run of confirmed entries."""
        if name != self._latest:
            self._persisted.pop(name, None)  # it moves to the end
            self._latest = name
        self._persisted[name] = highest

    def fail(self, name: str) -> None:
        """The pushed messages are not on disk; all other pending ones of that producer fail with them."""
        if name in self._persisted:
            self._pushed[name] = self._persisted[name]
        else:
            self._pushed.pop(name, None)

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            self._persisted.pop(name, None)
            self._pushed.pop(name, None)
