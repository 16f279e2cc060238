"""A small directory of every released format can always be opened."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

from broker_core.storage import filenames, migration
from broker_core.storage.disk import Disk, RealDisk
from broker_core.storage.errors import Unreachable
from broker_core.storage.records import block, journal_group
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.storage.repair.inspection.check import find_damage
from broker_core.storage.repair.inspection.dump import dump_lines
from tests.support.storage import Run, append, contents, entries_of, opened, run_of
from tests.unit.broker_core.storage.make_format import COPY

FORMATS = Path(__file__).parent / "formats"


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6, 7])
async def test_a_directory_of_each_older_format_opens_with_all_its_data(tmp_path: Path, version: int) -> None:
    path = tmp_path / "d"
    shutil.copytree(FORMATS / str(version), path)
    assert find_damage(path) == []
    engine = await opened(path)
    assert engine.damage.reports == []
    newer = ["batches", "delayed"] if version > 1 else []
    newer += ["offloaded"] if version > 3 else []
    newer += ["transactional"] if version > 5 else []
    assert (sorted(engine.catalog.names)) == sorted(["checkpointed", *newer, "journaled"])
    assert engine.metadata.get("tenant", "public") == {"adminRoles": []}
    ledger = await engine.open_ledger("checkpointed")
    assert ledger.properties == {"color": "grün"}
    first, second = (info.id for info in ledger.ledger_infos())
    block = await ledger.read(EARLIEST, 10, 1000)
    assert entries_of(block) == [b"a", b"bb", b"", b"d"]
    assert (list(block.counts), list(block.publish_times)) == ([1, 2, 3, 4], [10, 20, 15, 30])
    assert await contents(ledger) == [b"a", b"bb", b"", b"d", b"e"]
    cursor = ledger.cursors["s"]
    assert cursor.properties == {"a": "b"}
    assert cursor.mark_delete == Position(first, 0)
    assert list(cursor.ack_ranges()) == [(first, 2, 2), (second, 0, 0)]
    compacted = await ledger.open_compacted(ledger.info.compacted[0])
    assert compacted is not None
    assert [entries_of(block) for block in await compacted.read(EARLIEST, 10, 1000)] == [[b"d"]]
    await compacted.close()
    journaled = await engine.open_ledger("journaled")
    assert await contents(journaled) == [b"x", b"y"]
    await append(journaled, run_of(b"new"))
    await engine.close()
    engine = await opened(path)
    assert await contents(await engine.open_ledger("journaled")) == [b"x", b"y", b"new"]
    await engine.close()


async def test_delivery_times_are_read_from_a_directory_of_their_first_format(tmp_path: Path) -> None:
    path = tmp_path / "d"
    shutil.copytree(FORMATS / "2", path)
    engine = await opened(path)
    ledger = await engine.open_ledger("delayed")
    block = await ledger.read(EARLIEST, 10, 1000)
    assert entries_of(block) == [b"later", b"now", b"plain", b"tomorrow"]
    assert list(block.delivery_times) == [5000, 0, 0, 6000]
    await engine.close()


async def test_batch_acknowledgments_are_read_from_a_directory_of_their_first_format(tmp_path: Path) -> None:
    path = tmp_path / "d"
    shutil.copytree(FORMATS / "2", path)
    lines = "\n".join(dump_lines(path))
    assert "batch acks" in lines
    assert "101 of 3" in lines
    engine = await opened(path)
    cursors = (await engine.open_ledger("batches")).cursors
    assert [(entry, *batch) for _, entry, batch in cursors["partly"].open_batches] == [
        (0, 70, (1 << 70) - 2),
        (1, 3, 0b101),
    ]
    assert [(entry, *batch) for _, entry, batch in cursors["moved"].open_batches] == [(1, 3, 0b110)]
    assert cursors["partly"].backlog_messages == 71
    await engine.close()


async def test_copies_in_tiered_storage_are_read_from_a_directory_of_their_first_format(tmp_path: Path) -> None:
    path = tmp_path / "d"
    shutil.copytree(FORMATS / "4", path)
    engine = await opened(path)
    ledger = await engine.open_ledger("offloaded")
    first, second, third = ledger.ledger_infos()
    assert first.copy == dataclasses.replace(COPY, ledger_id=first.id, uuid="first", local_gone=True)
    assert second.copy == dataclasses.replace(COPY, ledger_id=second.id, uuid="third", complete_ms=0)
    assert third.copy is None
    assert [copy.uuid for copy in engine.copies.unwanted()] == ["second"]
    assert (await engine.copies.known()).keys() == {"first", "second", "third"}
    with pytest.raises(Unreachable, match=f"cannot read ledger {first.id}"):
        await ledger.read(EARLIEST, 10, 1000)
    assert entries_of(await ledger.read(Position(second.id, 0), 10, 1000)) == [b"q"]
    await engine.close()


async def test_transactions_are_read_from_a_directory_of_their_first_format(tmp_path: Path) -> None:
    path = tmp_path / "d"
    shutil.copytree(FORMATS / "6", path)
    assert "transaction-write" in "\n".join(dump_lines(path))
    engine = await opened(path)
    ledger = await engine.open_ledger("transactional")
    block = await ledger.read(EARLIEST, 10, 1000)
    assert (entries_of(block), list(block.counts)) == ([b"aborted", b"committed", b"plain"], [0, 1, 1])
    assert [info.id for info in engine.transactions.open()] == [3]
    assert engine.transactions.was_committed(2) is True
    engine.transactions.end(3, lambda error: None, commit=True)
    await append(ledger, run_of(b"after"))
    assert await contents(ledger) == [b"aborted", b"committed", b"plain", b"open", b"behind", b"after"]
    await engine.close()


async def test_held_acknowledgments_are_read_from_a_directory_of_their_first_format(tmp_path: Path) -> None:
    path = tmp_path / "d"
    shutil.copytree(FORMATS / "7", path)
    assert "transaction-ack" in "\n".join(dump_lines(path))
    engine = await opened(path)
    ledger = await engine.open_ledger("transactional")
    cursor, first = ledger.cursors["holding"], ledger.first_position
    assert cursor.is_acknowledged(first)
    assert not cursor.is_acknowledged(first.next)
    assert not cursor.is_open(first.next, 1)
    engine.transactions.end(3, lambda error: None, commit=True)
    await append(ledger, run_of(b"after"))
    assert cursor.is_acknowledged(first.next)
    await engine.close()


def hex_bytes(text: str) -> bytes:
    """The bytes of a diagram: the hex pairs at the start of each line."""
    pairs = [re.match(r"(?:[0-9a-f]{2} ?)+", line) for line in text.splitlines()]
    return b"".join(bytes.fromhex(found[0]) for found in pairs if found)


def test_the_example_in_the_format_page_is_what_the_code_writes() -> None:
    document = Path(block.__file__).parents[1].joinpath("FORMAT.md").read_text("utf-8")
    drawings = [hex_bytes(text) for text in re.findall(r"```\n((?:[0-9a-f]{2} [^`]*)+)```", document)]
    run = Run(b"\xee\xee" + b"hi" + b"\xee" + b"you", [2, 5], [4, 8], [1, 3], [1000, 1001])
    head, blob, _ = block.encode_run(run, 7, 0)
    assert drawings == [head + bytes(blob), journal_group.file_header(2, 0)]


def test_a_killed_migration_is_repeated(tmp_path: Path) -> None:
    disk = RealDisk()
    filenames.format_file(tmp_path).write_text(filenames.FORMAT_TEXT.format(1))
    done = []

    def killed(disk: Disk, directory: Path) -> None:
        done.append("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migration.migrate(disk, tmp_path, {1: killed}, target=2)
    assert migration.read_version(disk, tmp_path) == 1
    migration.migrate(disk, tmp_path, {1: lambda disk, directory: done.append("whole")}, target=2)
    assert migration.read_version(disk, tmp_path) == 2
    assert done == ["half", "whole"]
