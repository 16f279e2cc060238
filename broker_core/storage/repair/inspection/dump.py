"""Shows any file of a data directory as readable lines.

`dump_lines` never stops at damage: it reports it in a line, and goes on where the next sound part begins.
"""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from broker_core.clock import SystemClock, iso
from broker_core.storage import directory, filenames, migration
from broker_core.storage.damage import DamageRecord
from broker_core.storage.errors import DamageReport, NotOurDirectory
from broker_core.storage.repair.inspection.journals import journal_lines
from broker_core.storage.repair.inspection.ledgers import compacted_lines, ledger_lines
from broker_core.storage.repair.inspection.metadata import catalog_log_lines, database_lines, first_journal
from broker_core.storage.repair.inspection.read_only import LineOrDamage, disk


def dump_lines(path: Path) -> Iterator[str]:
    """The lines of a file, or of all files of a data directory."""
    for line in walk(path):
        yield f"DAMAGE {line}" if isinstance(line, DamageReport) else line


def walk(path: Path) -> Iterator[LineOrDamage]:
    if not path.exists():
        raise FileNotFoundError(path)
    if not path.is_dir():
        if _handler(path) is None:
            raise NotOurDirectory(f"{path} is not a file of a data directory")
        yield from _file(path)
        return
    marker = filenames.format_file(path)
    if not marker.exists():
        repair = f"; {migration.REPAIR.format(path)}" if directory.has_data(disk, path, path / "journal") else ""
        yield DamageReport(path, 0, f"no FORMAT file: not a data directory{repair}")
        return
    if filenames.lock_file(path).is_dir():
        yield DamageReport(filenames.lock_file(path), 0, "a directory, not the lock of a data directory; remove it")
    yield from _file(marker)
    first = first_journal(path)
    for file in sorted(path.glob("**/*")):
        number = filenames.journal_number(file.name)
        if file.is_file() and file != marker and (number is None or number >= first):
            yield from _file(file)


def _file(path: Path) -> Iterator[LineOrDamage]:
    handler = _handler(path)
    if handler is not None:
        with contextlib.suppress(FileNotFoundError):  # a broker has deleted it since it was listed
            yield f"{path} ({path.stat().st_size} bytes)"
            yield from handler(path)


def _handler(path: Path) -> Callable[[Path], Iterator[LineOrDamage]] | None:
    if path.name == filenames.format_file(path.parent).name:
        return _marker
    if path.name == filenames.damage_file(path.parent).name:
        return _damage
    if path.name == filenames.catalog_log(path.parent).name:
        return catalog_log_lines
    handlers = {
        ".journal": journal_lines,
        ".ledger": ledger_lines,
        ".compacted": compacted_lines,
        ".sqlite": database_lines,
    }
    return handlers.get(path.suffix)


def _marker(path: Path) -> Iterator[LineOrDamage]:
    version = filenames.parse_format(path.read_text("utf-8", "replace"))
    if version is None or version > filenames.FORMAT_VERSION:
        fault = "not a FORMAT file of pulsarctl" if version is None else f"format {version}"
        readable = f"this release reads formats up to {filenames.FORMAT_VERSION}"
        repair = migration.REPAIR.format(path.parent)
        yield DamageReport(path, 0, f"{fault}; {repair if version is None else readable}")
    else:
        yield f"  format {version}"


def _damage(path: Path) -> Iterator[LineOrDamage]:
    for place in recorded_damage(path.parent).places:
        state = f"accepted at {iso(place.accepted_ms)}" if place.accepted_ms else "not accepted"
        yield f"  found at {iso(place.found_ms)}, {state}: {place.report}"


def recorded_damage(directory: Path) -> DamageRecord:
    """The damage that is on record in a directory, also in one that is in use."""
    record = DamageRecord(disk, directory, SystemClock().wall_ms)
    record.load()
    return record
