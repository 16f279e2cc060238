"""An entry is found by its publish time through the indexes, regardless of the entries before it."""

from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.disk import RealDisk
from broker_core.storage.records.spans import SPAN_BYTES
from tests.support.storage import append, opened, run_of

LEDGERS, ENTRIES = 12, 4000
CONFIG = StorageConfig(max_entries_per_ledger=ENTRIES, cache_mb=0, reserve_mb=0)


class CountingDisk(RealDisk):
    """`read` counts the bytes read from files."""

    read = 0

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        data = super().pread(fd, size, offset)
        self.read += len(data)
        return data


async def test_a_time_is_found_by_reading_one_index_and_one_span(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d", CONFIG)
    ledger = await engine.open_ledger("t")
    for start in range(0, LEDGERS * ENTRIES, 1000):
        await append(ledger, run_of(*[bytes(100)] * 1000, times=range(start, start + 1000)))
    await engine.close()
    disk = CountingDisk()
    engine = await opened(tmp_path / "d", CONFIG, disk=disk)
    ledger = await engine.open_ledger("t")
    tenth = ledger.ledger_infos()[9]
    disk.read = 0
    found = await ledger.find_by_time(9 * ENTRIES + 2345)
    assert found == (tenth.id, 2345)
    assert disk.read < 4 * SPAN_BYTES  # of 5 MB
    await engine.close()


async def test_a_later_time_before_the_start_is_passed_over(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(*[bytes(10)] * 5, times=[5, 9, 2, 3, 7]))
    position = [first._replace(entry_id=first.entry_id + index) for index in range(6)]
    assert await ledger.find_by_time(6) == position[1]
    assert await ledger.find_by_time(6, position[2]) == position[4]
    assert await ledger.find_by_time(8, position[2]) == position[5]
    await engine.close()
