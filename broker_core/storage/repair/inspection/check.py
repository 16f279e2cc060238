"""Finds the damage in a data directory. Verifies every checksum."""

from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.errors import DamageReport
from broker_core.storage.repair.inspection.dump import recorded_damage, walk
from broker_core.storage.repair.inspection.missing import missing_journals, missing_ledgers
from broker_core.storage.repair.inspection.read_only import disk


def find_damage(path: Path) -> list[DamageReport]:
    """Returns the damage in a file or a data directory.

    For a directory, this includes recorded damage, except what an operator has accepted as lost.
    """
    damage = [line for line in walk(path) if isinstance(line, DamageReport)]
    if not path.is_dir():
        return damage
    if not damage:
        damage = [*missing_ledgers(path), *missing_journals(path)]
    record = recorded_damage(path)
    known = {(place.path, place.offset) for place in record.reports}
    return record.open + [place for place in damage if (place.path, place.offset) not in known]


def is_in_use(path: Path) -> bool:
    """Whether a broker uses that data directory, so that its files change during a check."""
    return path.is_dir() and disk.is_locked(filenames.lock_file(path))
