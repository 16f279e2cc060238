"""What readers hand to the decoder: consecutive entries of one ledger, parsed but still compressed."""

from typing import NamedTuple

from broker_core.wire.errors import EntryError
from broker_core.wire.message import Entry, parse_entry
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


def parse(topic: str, ledger_id: int, entry_id: int, data: bytes, *, verify: bool = True) -> Entry:
    """Raises `DamagedEntry`. `verify` is false where storage has checked the bytes."""
    try:
        return parse_entry(data, verify=verify)
    except EntryError as error:
        raise damaged(topic, ledger_id, entry_id, error) from error


def damaged(topic: str, ledger_id: int, entry_id: int, error: EntryError) -> DamagedEntry:
    return DamagedEntry(f"cannot read entry {ledger_id}:{entry_id} of {topic}: {error}")
