"""The content of a disk after a power cut, computed from the calls before it.

The bytes of a file survive up to its last sync, and a name survives once its directory is synced. Later changes may or
may not have reached the disk: `settled` takes none of them, and `torn` takes a random part, where each sector of 512
bytes of each write is on the disk or not, independently. Changes of names stay in order, as in journaling file systems:
`torn` takes a random number of the first ones.
"""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from tests.long.powercut.calls import (
    Appeared,
    Call,
    Changed,
    Created,
    DirectorySynced,
    Ended,
    MadeDirectory,
    Receipt,
    Removed,
    Renamed,
    Resized,
    Subscribed,
    Synced,
    Written,
)

SECTOR = 512

Names = dict[str, int]  # path -> file
NameChange = Created | Renamed | Removed


@dataclass
class Content:
    """The bytes of a file; zeros at the end, such as preallocated space, are only counted."""

    data: bytearray = field(default_factory=bytearray)
    size: int = 0

    def write(self, offset: int, data: bytes) -> None:
        if offset > len(self.data):
            self.data.extend(bytes(offset - len(self.data)))
        self.data[offset : offset + len(data)] = data
        self.size = max(self.size, offset + len(data))

    def resize(self, size: int) -> None:
        del self.data[size:]
        self.size = size

    def copy(self) -> "Content":
        return Content(bytearray(self.data), self.size)


@dataclass
class Image:
    """A data directory that can be written out."""

    directories: list[str]
    files: dict[str, Content]

    def lay_out(self, root: Path) -> None:
        for name in self.directories:
            (root / name).mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            with (root / name).open("wb") as file:
                file.write(content.data)
                file.truncate(content.size)


class Platter:
    """Takes calls in order; an image can be requested after each of them."""

    def __init__(self) -> None:
        self.receipts: set[tuple[int, int]] = set()  # (ledger id, entry id)
        self.subscriptions: set[tuple[str, str]] = set()  # (managed ledger, subscription)
        self.ended: set[int] = set()  # transactions
        self.epoch = -1  # of the layout of the scalable topic
        self._directories: list[str] = []
        self._names: Names = {}
        self._contents: dict[int, Content] = defaultdict(Content)
        self._unsynced: dict[int, list[tuple[int, Written | Resized]]] = defaultdict(list)
        self._unsynced_names: dict[str, list[tuple[int, NameChange]]] = defaultdict(list)
        self._taken = 0

    def take(self, call: Call) -> None:
        index, self._taken = self._taken, self._taken + 1
        match call:
            case Receipt():
                self.receipts.add((call.ledger_id, call.entry_id))
            case Subscribed():
                self.subscriptions.add((call.ledger, call.subscription))
            case Ended():
                self.ended.add(call.transaction)
            case Changed():
                self.epoch = call.epoch
            case Written() | Resized():
                self._unsynced[call.file].append((index, call))
            case Appeared():
                self._names[call.path] = call.file
                self._contents[call.file].write(0, call.data)
            case Synced():
                self._settle_file(call.file, call.covers)
            case Created() | Removed() | Renamed():
                self._unsynced_names[parent(call.path)].append((index, call))
            case MadeDirectory():
                self._directories.append(call.path)
            case DirectorySynced():
                self._settle_names(call.path, call.covers)

    def _settle_file(self, file: int, covers: int) -> None:
        for index, change in self._unsynced[file]:
            if index < covers:
                apply(self._contents[file], change)
        self._unsynced[file] = [entry for entry in self._unsynced[file] if entry[0] >= covers]

    def _settle_names(self, directory: str, covers: int) -> None:
        for index, change in self._unsynced_names[directory]:
            if index < covers:
                change_name(self._names, change)
        kept = [entry for entry in self._unsynced_names[directory] if entry[0] >= covers]
        self._unsynced_names[directory] = kept

    def settled(self) -> Image:
        """Only synced data. The image shares its bytes with the platter, so write it out before further calls."""
        return Image(self._directories, {path: self._contents[file] for path, file in self._names.items()})

    def torn(self, chance: random.Random) -> Image:
        """Synced data and a random part of unsynced data."""
        names = dict(self._names)
        for changes in self._unsynced_names.values():
            for _, change in changes[: chance.randint(0, len(changes))]:
                change_name(names, change)
        files = {path: self._torn_content(file, chance) for path, file in names.items()}
        return Image(self._directories, files)

    def _torn_content(self, file: int, chance: random.Random) -> Content:
        changes = self._unsynced[file]
        if not changes:
            return self._contents[file]
        content = self._contents[file].copy()
        for _, change in changes:
            share = chance.choice((0.0, 0.5, 1.0))
            if isinstance(change, Resized):
                if chance.random() < share:
                    content.resize(change.size)
                continue
            for offset, sector in sectors(change):
                if chance.random() < share:
                    content.write(offset, sector)
        return content


def apply(content: Content, change: Written | Resized) -> None:
    if isinstance(change, Resized):
        content.resize(change.size)
    else:
        content.write(change.offset, change.data)


def change_name(names: Names, change: NameChange) -> None:
    if isinstance(change, Created):
        names[change.path] = change.file
    elif isinstance(change, Renamed):
        names[change.target] = names.pop(change.path)
    else:
        names.pop(change.path, None)


def sectors(write: Written) -> list[tuple[int, bytes]]:
    """The write split at sector boundaries, as (offset, bytes)."""
    found, at, end = [], write.offset, write.offset + len(write.data)
    while at < end:
        stop = min(end, (at // SECTOR + 1) * SECTOR)
        found.append((at, write.data[at - write.offset : stop - write.offset]))
        at = stop
    return found


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "."
