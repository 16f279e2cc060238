"""Writes the small test directory of a released format: `python -m tests.unit.broker_core.storage.make_format DIR`.

The directory is left as after a crash. One topic is in a checkpoint, with a sealed and an open ledger and acknowledged
ranges. A second one and later acknowledgments are in the journal. A third one has entries with delivery times in both
places. A fourth one, since version 4, has copies in tiered storage, and a fifth one, since version 6, transactions,
since version 7 with acknowledgments. Do not run this again for a format that was released.
"""

import asyncio
import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

from broker_core.config.storage import StorageConfig
from broker_core.storage.log import journal
from broker_core.storage.managed_ledger.managed_ledger import ManagedLedger
from broker_core.storage.records.held_acks import WHOLE, TransactionAcks
from broker_core.storage.records.offloaded import OffloadedCopy
from broker_core.storage.records.position import EARLIEST, Position
from tests.support.storage import append, crash, opened, run_of
from tests.support.transactions import append_in, end, hold, transaction

COPY = OffloadedCopy(
    topic="offloaded",
    ledger_id=0,
    uuid="",
    driver="filesystem",
    place={"fileSystemURI": "file:///nowhere"},
    path="offloaded/ledger.parquet",
    prepared_ms=50,
    complete_ms=60,
    size=1000,
    tail=100,
    tail_crc=7,
)
CONFIG = StorageConfig(max_entries_per_ledger=4, reserve_mb=0)


async def offload(ledger: ManagedLedger) -> None:
    """Three ledgers: with a copy, with one that replaced another, and the open one."""
    for entry in b"pqr":
        await append(ledger, run_of(bytes([entry])))
        await ledger.roll()
    first, second, _ = (info.id for info in ledger.ledger_infos())
    await ledger.copies.record(dataclasses.replace(COPY, ledger_id=first, uuid="first"))
    for uuid in ("second", "third"):
        await ledger.copies.record(dataclasses.replace(COPY, ledger_id=second, uuid=uuid, complete_ms=0))


async def make(target: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "d"
        engine = await opened(path, dataclasses.replace(CONFIG))
        await engine.metadata.put("tenant", "public", {"adminRoles": []})
        ledger = await engine.open_ledger("checkpointed")
        await ledger.store_properties({"color": "grün"})
        cursor = await ledger.open_cursor("s", initial=EARLIEST, properties={"a": "b"})
        first = await append(ledger, run_of(b"a", b"bb", b"", b"d", counts=[1, 2, 3, 4], times=[10, 20, 15, 30]))
        second = await append(ledger, run_of(b"e", times=[40]))
        cursor.acknowledge(first.ledger_id, [0, 2])
        writer = await ledger.create_compacted()
        writer.append(Position(first.ledger_id, 3), b"d", 4, 30)
        await (await writer.seal()).close()
        delayed = await engine.open_ledger("delayed")
        await append(delayed, run_of(b"later", delivery=[5000]))
        await append(delayed, run_of(b"now"))
        batches = await engine.open_ledger("batches")
        place = await append(batches, run_of(b"long", b"short", counts=[70, 3]))
        partly = await batches.open_cursor("partly", initial=EARLIEST)
        partly.acknowledge_indexes(place, (1 << 70) - 2)
        offloaded = await engine.open_ledger("offloaded")
        await offload(offloaded)
        transactional = await engine.open_ledger("transactional")
        await append_in(transactional, transaction(1), run_of(b"aborted"))
        await end(engine, 1, commit=False)
        await append_in(transactional, transaction(2), run_of(b"committed"))
        await engine.checkpoint()
        await end(engine, 2, commit=True)
        await append(transactional, run_of(b"plain"))
        await append_in(transactional, transaction(3), run_of(b"open"))
        await append(transactional, run_of(b"behind"))
        holding = await transactional.open_cursor("holding", initial=EARLIEST)
        for number, position in enumerate([transactional.first_position.next, transactional.first_position], 3):
            acks = TransactionAcks()
            acks.add(*position, WHOLE)
            await hold(engine, transaction(number), holding, acks)
        await end(engine, 4, commit=True)
        partly.acknowledge_indexes(place.next, 0b101)
        await partly.flush()
        await (await batches.open_cursor("moved", initial=EARLIEST)).reset(place.next, 0b110)
        await offloaded.copies.drop_files([offloaded.ledger_infos()[0].id])
        cursor.acknowledge(second.ledger_id, [0])
        await cursor.flush()
        await append(await engine.open_ledger("journaled"), run_of(b"x", b"y"))
        await append(delayed, run_of(b"plain", b"tomorrow", delivery=[0, 6000]))
        copy = crash(path)
        await engine.close()
        for file in (copy / "journal").iterdir():
            file.write_bytes(file.read_bytes().rstrip(b"\0"))
        (copy / "LOCK").unlink()
        (copy / "metadata.sqlite-shm").unlink(missing_ok=True)  # an index of the WAL, which SQLite rebuilds
        shutil.copytree(copy, target)


if __name__ == "__main__":
    journal.PREALLOCATION = 0
    asyncio.run(make(Path(sys.argv[1])))
