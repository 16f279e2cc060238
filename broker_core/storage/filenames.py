"""Every file name of a data directory, built and parsed here (drawn in FORMAT.md).

FORMAT                       "pulsarctl storage format 6": marks a directory as ours
LOCK                         locked by the owning process, names it
DAMAGE                       damage that was found, and whether its loss is accepted; absent without damage
SYNCED                       how far the journal was synced, a moment ago
RESERVE                      space kept for acknowledgments on a full disk
RESERVE.start                space kept for a start on a full disk
metadata.sqlite              documents, ledger lists, cursors as of the last checkpoint
catalog.log                  the commits of metadata.sqlite again, to rebuild it from
journal/0000000001.journal   numbered without gaps, ascending
journal/0000000001.spare     reserved for a journal file; its contents do not count; deleted at start
ledgers/000/0000000007.ledger   one per ledger, in folders of a thousand
ledgers/000/0000000009.compacted   the result of a compaction
delayed/                     scratch of delayed delivery, emptied at start
offload/                     scratch of tiered storage, emptied at start
tables.sqlite                catalog of the tables of offloaded messages; absent without them
"""

import re
from pathlib import Path

FORMAT_VERSION = 7
FORMAT_TEXT = "pulsarctl storage format {}\n"

_SPARE = ".spare"
_JOURNAL = re.compile(r"(\d{10,})\.journal\Z")
_LEDGER = re.compile(r"(\d{10,})\.ledger\Z")
_LEDGER_OR_COMPACTED = re.compile(r"(\d{10,})\.(?:ledger|compacted)\Z")
_FORMAT = re.compile(r"pulsarctl storage format (\d+)\s*\Z")


def format_file(directory: Path) -> Path:
    return directory / "FORMAT"


def parse_format(text: str) -> int | None:
    """The version in a FORMAT file, or None when the text is not ours."""
    match = _FORMAT.match(text)
    return int(match[1]) if match else None


def lock_file(directory: Path) -> Path:
    return directory / "LOCK"


def damage_file(directory: Path) -> Path:
    return directory / "DAMAGE"


def synced_file(directory: Path) -> Path:
    return directory / "SYNCED"


def reserve_file(directory: Path) -> Path:
    return directory / "RESERVE"


def start_reserve_file(directory: Path) -> Path:
    return directory / "RESERVE.start"


def metadata_file(directory: Path) -> Path:
    return directory / "metadata.sqlite"


def table_catalog(directory: Path) -> Path:
    return directory / "tables.sqlite"


def catalog_log(directory: Path) -> Path:
    return directory / "catalog.log"


def journal_directory(directory: Path, configured: str) -> Path:
    return Path(configured) if configured else directory / "journal"


def journal_file(journal_directory: Path, number: int) -> Path:
    return journal_directory / f"{number:010d}.journal"


def journal_number(name: str) -> int | None:
    match = _JOURNAL.match(name)
    return int(match[1]) if match else None


def spare_journal(journal_directory: Path, number: int) -> Path:
    return journal_directory / f"{number:010d}{_SPARE}"


def is_spare_journal(name: str) -> bool:
    return name.endswith(_SPARE)


def ledgers_directory(directory: Path) -> Path:
    return directory / "ledgers"


def ledger_file(directory: Path, ledger_id: int) -> Path:
    """Folders hold a thousand ids each, so that listing and syncing a folder stays cheap."""
    return ledgers_directory(directory) / f"{ledger_id // 1000:03d}" / f"{ledger_id:010d}.ledger"


def compacted_file(directory: Path, ledger_id: int) -> Path:
    return compacted_of(ledger_file(directory, ledger_id))


def compacted_of(ledger_file: Path) -> Path:
    """The file of the compacted ledger with the same id."""
    return ledger_file.with_suffix(".compacted")


def delayed_directory(directory: Path) -> Path:
    """The scratch directory of delayed delivery. Another package makes its files, again if needed, from the ledgers."""
    return directory / "delayed"


def offload_directory(directory: Path) -> Path:
    """The scratch directory of tiered storage. Another package keeps files there on their way to or from a store."""
    return directory / "offload"


def offloaded_copy(ledger_file: Path) -> Path:
    """The path that stands for a ledger's copy in tiered storage in reports of damage; no such file exists."""
    return ledger_file.with_suffix(".offloaded")


def ledger_number(name: str) -> int | None:
    match = _LEDGER.match(name)
    return int(match[1]) if match else None


def file_id(name: str) -> int | None:
    """The id of a ledger or of a compacted ledger."""
    match = _LEDGER_OR_COMPACTED.match(name)
    return int(match[1]) if match else None
