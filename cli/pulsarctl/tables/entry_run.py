"""What readers hand to the decoder: consecutive entries of one ledger, parsed but still compressed."""

from typing import NamedTuple

from crc32c import crc32c

from broker_core.wire.errors import EntryError
from broker_core.wire.message import HEADER, MAGIC, Entry, parse_entry
from broker_core.wire.send_metadata import metadata_or_none
from pulsarctl.raw.entry import DamagedEntry


class EntryRun(NamedTuple):
    """Column `i` of each list is one entry. `sizes` are the stored bytes of headers and payload."""

    entry_ids: list[int]
    entries: list[Entry]
    sizes: list[int]

    def append(self, entry_id: int, entry: Entry, size: int) -> None:
        self.entry_ids.append(entry_id)
        self.entries.append(entry)
        self.sizes.append(size)

    def extend(self, topic: str, ledger_id: int, first: int, data: list[bytes]) -> int:
        """Appends consecutive entries; returns the number of their messages. Raises `DamagedEntry`."""
        entries = [parse(topic, ledger_id, entry_id, each) for entry_id, each in enumerate(data, first)]
        self.entry_ids.extend(range(first, first + len(data)))
        self.entries.extend(entries)
        self.sizes.extend(map(len, data))
        return sum([entry.metadata.num_messages_in_batch for entry in entries])


def parse(topic: str, ledger_id: int, entry_id: int, data: bytes, *, verify: bool = True) -> Entry:
    """Raises `DamagedEntry`. `verify` is false where storage has checked the bytes.

    An entry with the usual headers is parsed here, without the calls of `parse_entry`.
    """
    if data.startswith(MAGIC) and len(data) >= HEADER.size:
        _, expected, size = HEADER.unpack_from(data)
        end = HEADER.size + size
        if end <= len(data) and (not verify or crc32c(data[6:]) == expected):
            metadata = metadata_or_none(data[HEADER.size : end])
            if metadata is not None:
                return Entry(metadata, data[end:], None)
    try:
        return parse_entry(data, verify=verify)
    except EntryError as error:
        raise damaged(topic, ledger_id, entry_id, error) from error


def damaged(topic: str, ledger_id: int, entry_id: int, error: EntryError) -> DamagedEntry:
    return DamagedEntry(f"cannot read entry {ledger_id}:{entry_id} of {topic}: {error}")
