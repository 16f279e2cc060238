"""The damage in a data directory and the data lost by it, remembered until an operator accepts the loss.

The record is the file `DAMAGE`: one line for each place, a checksum and a JSON object (FORMAT.md). It is not in
metadata.sqlite, so that it outlives damage to that file and a rebuild of it. Each place is logged once, when it
is found; the broker says that it is degraded as long as a place is not accepted.
"""

import json
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from crc32c import crc32c

from broker_core.clock import SystemClock
from broker_core.storage import filenames
from broker_core.storage.disk import Disk, RealDisk
from broker_core.storage.errors import DamageReport, Lost

log = logging.getLogger("broker_core.storage")

MOST_PLACES = 1000  # recorded one by one
_MORE = "there is more damage than is recorded place by place: run `pulsarctl storage check`"


class DamagedPlace(NamedTuple):
    """A report with the times (wall, ms) at which it was found and accepted; `accepted_ms` is 0 until then."""

    report: DamageReport
    found_ms: int
    accepted_ms: int = 0


class DamageRecord:
    """`report` and `accept` change memory and log; `save` makes it durable and blocks."""

    def __init__(self, disk: Disk, directory: Path, wall_ms: Callable[[], int]) -> None:
        self._disk = disk
        self._directory = directory
        self._path = filenames.damage_file(directory)
        self._wall_ms = wall_ms
        self._places: dict[tuple[Path, int], DamagedPlace] = {}
        self._lost: dict[int, set[Lost]] = {}  # by ledger
        self.dirty = False

    @property
    def places(self) -> list[DamagedPlace]:
        return list(self._places.values())

    @property
    def reports(self) -> list[DamageReport]:
        return [place.report for place in self._places.values()]

    @property
    def open(self) -> list[DamageReport]:
        """The damage that no operator has accepted yet."""
        return [place.report for place in self._places.values() if not place.accepted_ms]

    def is_accepted(self, path: Path, offset: int) -> bool:
        place = self._places.get((path, offset))
        return place is not None and bool(place.accepted_ms)

    def lost_in(self, ledger_id: int) -> list[Lost]:
        """The known losses of a ledger, in order."""
        return sorted(self._lost.get(ledger_id, ()))

    def summary(self) -> str:
        """One sentence about the damage that is not accepted; empty if there is none."""
        reports = self.open
        if not reports:
            return ""
        places = "1 damaged place" if len(reports) == 1 else f"{len(reports)} damaged places"
        return f"{places}, first {reports[0]}"

    # ---- change

    def report(self, report: DamageReport) -> None:
        """Records and logs a place, unless it is known."""
        key = report.path, report.offset
        known = self._places.get(key)
        if known is not None:
            if known.report.lost is None and report.lost is not None:  # more is known about it by now
                self._put(known._replace(report=report))
                self.dirty = True
            return
        if len(self._places) >= MOST_PLACES:
            report = DamageReport(self._directory, 0, _MORE)
            key = report.path, report.offset
            if key in self._places:
                return
        self._put(DamagedPlace(report, self._wall_ms()))
        self.dirty = True
        log.error("data is damaged: %s", report)

    def _put(self, place: DamagedPlace) -> None:
        report = place.report
        self._places[report.path, report.offset] = place
        if report.lost is not None:
            self._lost.setdefault(report.lost.ledger_id, set()).add(report.lost)

    def accept(self) -> list[DamageReport]:
        """Marks all recorded damage as accepted by an operator; returns what was open."""
        now, accepted = self._wall_ms(), self.open
        for report in accepted:
            key = report.path, report.offset
            self._places[key] = self._places[key]._replace(accepted_ms=now)
            log.warning("the loss is accepted: %s", report)
        self.dirty = self.dirty or bool(accepted)
        return accepted

    def take_back(self, accepted: Iterable[DamageReport]) -> None:
        """Marks damage as not accepted again, because the acceptance could not be saved."""
        for report in accepted:
            key = report.path, report.offset
            self._places[key] = self._places[key]._replace(accepted_ms=0)

    # ---- on disk

    def load(self) -> None:
        """Blocks. A line that cannot be trusted counts as damage itself."""
        if not self._disk.exists(self._path):
            return
        fd = self._disk.open(self._path)
        try:
            data = self._disk.pread(fd, self._disk.size(fd), 0)
        finally:
            self._disk.close(fd)
        offset = 0
        for line in data.splitlines(keepends=True):
            place = self._parsed(line)
            if place is None:
                self.report(DamageReport(self._path, offset, "a line of the record of damage cannot be read"))
            else:
                self._put(place)
            offset += len(line)

    def save(self) -> None:
        """Blocks. Raises OSError."""
        self.dirty = False
        try:
            self._disk.replace(self._path, b"".join(self._line(place) for place in self.places))
        except BaseException:
            self.dirty = True
            raise

    def _line(self, place: DamagedPlace) -> bytes:
        report = place.report
        inside = report.path.is_relative_to(self._directory)
        values: dict[str, Any] = {
            "file": str(report.path.relative_to(self._directory) if inside else report.path),
            "offset": report.offset,
            "reason": report.reason,
            "topic": report.topic,
            "lost": report.lost,
            "found": place.found_ms,
            "accepted": place.accepted_ms,
        }
        body = json.dumps(values).encode()
        return b"%08x %s\n" % (crc32c(body), body)

    def _parsed(self, line: bytes) -> DamagedPlace | None:
        crc, _, body = line.rstrip(b"\n").partition(b" ")
        if crc != b"%08x" % crc32c(body):
            return None
        values = json.loads(body)
        lost = Lost(*values["lost"]) if values["lost"] else None
        path = self._directory / values["file"]
        report = DamageReport(path, values["offset"], values["reason"], values["topic"], lost)
        return DamagedPlace(report, values["found"], values["accepted"])


def accept_loss(directory: Path, reports: Iterable[DamageReport]) -> None:
    """Accepts the recorded damage of a directory that no broker uses, and the `reports` of a check. Blocks.

    Raises DirectoryLocked, OSError.
    """
    disk = RealDisk()
    lock = disk.lock(filenames.lock_file(directory), "pulsarctl storage accept-loss")
    try:
        record = DamageRecord(disk, directory, SystemClock().wall_ms)
        record.load()
        for report in reports:
            record.report(report)
        record.accept()
        if record.dirty:
            record.save()
    finally:
        disk.close(lock)
