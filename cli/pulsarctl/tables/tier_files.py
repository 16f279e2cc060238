"""Entries of offloaded ledgers from the tier files in a store, without the broker (docs, "Tiered storage").

A tier file never changes. The manifest beside it says how long it is, and has the checksum of its footer; the footer
has one for each row group. So whatever is read is what was offloaded, or an error. The next row groups are on their way
while the ones before are decoded.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from crc32c import crc32c

from broker_core.offload.manifest import BYTES_MAX, Manifest, manifest_path
from broker_core.offload.stores import Store
from broker_core.offload.tier_footer import FOOTER_BYTES_MAX, TierFooter
from broker_core.offload.tier_groups import GroupEntries, GroupReader
from pulsarctl.errors import CliError
from pulsarctl.raw.entry import DamagedEntry
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.missing_entries import HoleCheck

REQUEST_BYTES = 8 << 20  # a request for each row group would wait for the store most of the time
DECODED_BYTES = 8 << 20  # of entries that are decoded together: many cost less each, and need more memory
HINT = "check tier_store and its credentials; or leave it out to read through the broker"


class Extent(NamedTuple):
    """Where a row group is in the file."""

    group: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class TierFile:
    """An open object with its verified footer. `crc32c`: of all its bytes. `where`: its name for humans."""

    file: Any
    footer: TierFooter
    reader: GroupReader
    crc32c: int
    where: str

    @classmethod
    def open(cls, store: Store, path: str, topic: str, ledger_id: int) -> Self | None:
        """None if the object is gone: the ledger was trimmed, or restored. Raises `DamagedEntry`, `CliError`."""
        where = store.describe(path)
        try:
            return cls(*_opened(store, path, ledger_id), where)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CliError(f"cannot read {where}: {error}", hint=HINT) from error
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedEntry(f"cannot read ledger {ledger_id} of {topic}: {where} was altered: {error}") from error

    def check_bytes(self) -> None:
        """Reads all of the object: other readers use more of it than this one. Raises `DamagedEntry`, `CliError`."""
        checksum = 0
        try:
            size = self.file.size()
            for start in range(0, size, REQUEST_BYTES):
                checksum = crc32c(self.file.read_at(min(REQUEST_BYTES, size - start), start), checksum)
        except OSError as error:
            raise CliError(f"cannot read {self.where}: {error}", hint=HINT) from error
        if checksum != self.crc32c:
            ledger_id = self.footer.index.ledger_id
            raise DamagedEntry(
                f"cannot trust the copy of ledger {ledger_id}: {self.where} was altered: the checksum of its bytes is"
                " not that of the manifest"
            )

    def stretches(self, first: int, last: int) -> Iterator[list[Extent]]:
        """The row groups with the entries, in runs that one request reads."""
        stretch: list[Extent] = []
        for number, group in enumerate(self.footer.index.groups):
            if group.first > last or group.first + group.entries <= first:
                continue
            extent = Extent(number, *self.footer.extent(number))
            if stretch and extent.offset + extent.length - stretch[0].offset > REQUEST_BYTES:
                yield stretch
                stretch = []
            stretch.append(extent)
        if stretch:
            yield stretch

    def fetch(self, stretch: Sequence[Extent]) -> bytes:
        """Raises OSError."""
        start = stretch[0].offset
        data: bytes = self.file.read_at(stretch[-1].offset + stretch[-1].length - start, start)
        return data

    def entries(self, stretch: Sequence[Extent], data: bytes) -> Iterator[GroupEntries]:
        """Decoded in parts, since they may be many times as large. Raises ValueError for bytes that were altered."""
        start, view = stretch[0].offset, memoryview(data)
        for part in self._parts(stretch):
            begin, end = part[0].offset, part[-1].offset + part[-1].length
            groups = range(part[0].group, part[-1].group + 1)
            yield self.reader.entries(groups, begin, view[begin - start : end - start])

    def _parts(self, stretch: Sequence[Extent]) -> Iterator[list[Extent]]:
        part: list[Extent] = []
        size = 0
        for extent in stretch:
            added = self.footer.index.groups[extent.group].size
            if part and size + added > DECODED_BYTES:
                yield part
                part, size = [], 0
            part.append(extent)
            size += added
        yield part


def _opened(store: Store, path: str, ledger_id: int) -> tuple[Any, TierFooter, GroupReader, int]:
    """Raises OSError; ValueError, KeyError, and TypeError for an object that is not the one that was offloaded."""
    with store.filesystem.open_input_stream(store.key(manifest_path(path))) as stream:
        manifest = Manifest.decode(stream.read(BYTES_MAX + 1))
    tier = manifest.tier
    file = store.filesystem.open_input_file(store.key(path))
    if (manifest.ledger_id, tier.path, file.size()) != (ledger_id, path, tier.size):
        raise ValueError("its size or its name is not that of the manifest")
    if not 0 < tier.tail <= min(tier.size, FOOTER_BYTES_MAX):
        raise ValueError(f"its footer has {tier.tail} bytes")
    tail = file.read_at(tier.tail, tier.size - tier.tail)
    if crc32c(tail) != tier.tail_crc32c:
        raise ValueError("its footer is not that of the manifest")
    footer = TierFooter(tail)
    if footer.index.ledger_id != ledger_id:
        raise ValueError(f"it has ledger {footer.index.ledger_id}")
    manifest.check_index(footer.index)
    return file, footer, GroupReader(footer), tier.crc32c


class Coming(NamedTuple):
    """A stretch that is on its way."""

    stretch: Sequence[Extent]
    data: Future[bytes]


class TierFileReader:
    """Reads entries `first` to `last` of one tier file."""

    def __init__(self, tier: TierFile, topic: str, first: int, last: int, missing: HoleCheck) -> None:
        self._tier = tier
        self._topic = topic
        self._ledger_id = tier.footer.index.ledger_id
        self._first = first
        self._last = last
        self._missing = missing

    def runs(self) -> Iterator[EntryRun]:
        """Raises `DamagedEntry`, `DataLoss`, and `CliError` if the store does not answer."""
        expected = self._first
        for group in self._groups():
            yield from self._runs_of(group)
            expected = group.first + len(group.counts)
        if expected <= self._last:
            self._missing.check(self._ledger_id, expected, self._last)

    def _groups(self) -> Iterator[GroupEntries]:
        """Reads one stretch ahead."""
        coming: Coming | None = None
        with ThreadPoolExecutor(1, "tier-file") as ahead:
            for stretch in self._tier.stretches(self._first, self._last):
                following = Coming(stretch, ahead.submit(self._tier.fetch, stretch))
                if coming is not None:
                    yield from self._arrived(coming)
                coming = following
            if coming is not None:
                yield from self._arrived(coming)

    def _arrived(self, coming: Coming) -> Iterator[GroupEntries]:
        try:
            data = coming.data.result()  # the store has a deadline for each request
            yield from self._tier.entries(coming.stretch, data)
        except OSError as error:
            raise CliError(f"cannot read {self._tier.where}: {error}", hint=HINT) from error
        except ValueError as error:
            raise DamagedEntry(
                f"cannot read ledger {self._ledger_id} of {self._topic}: {self._tier.where} was altered: {error}"
            ) from error

    def _runs_of(self, group: GroupEntries) -> Iterator[EntryRun]:
        """What is of the range, without the markers of replicators, which no reader gets."""
        entry_ids = np.arange(group.first, group.first + len(group.counts))
        offsets = np.asarray(group.offsets, np.int64)
        starts, ends = offsets[:-1], offsets[1:]
        in_range = (entry_ids >= self._first) & (entry_ids <= self._last) & (np.asarray(group.counts) > 0)
        if not in_range.all():
            entry_ids, starts, ends = entry_ids[in_range], starts[in_range], ends[in_range]
        if len(starts):
            yield EntryRun(self._topic, self._ledger_id, entry_ids, group.data, starts, ends, verify=False)
