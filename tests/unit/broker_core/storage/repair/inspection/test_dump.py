"""`storage dump` and `storage check`: files as text, with damage marked."""

from pathlib import Path

from broker_core.storage import filenames
from broker_core.storage.records.position import Position
from broker_core.storage.repair.inspection.check import find_damage
from broker_core.storage.repair.inspection.dump import dump_lines
from tests.support.storage import append, crash, opened, run_of


async def crashed(path: Path) -> Path:
    """A directory with every kind of file and record."""
    engine = await opened(path)
    await engine.metadata.put("tenant", "täg", {"a": 1})
    ledger = await engine.open_ledger("t")
    cursor = await ledger.open_cursor("s")
    first = await append(ledger, run_of(b"a", b"b", b"c"))
    await ledger.roll()
    writer = await ledger.create_compacted()
    writer.append(Position(1, 0), b"x", 1, 1)
    await (await writer.seal()).close()
    cursor.acknowledge(first.ledger_id, [2])
    await cursor.flush()
    await engine.checkpoint()
    await append(ledger, run_of(b"d", counts=[7], times=[1234]))
    cursor.acknowledge(first.ledger_id, [0])
    await cursor.flush()
    copy = crash(path)
    await engine.close()
    return copy


async def test_every_file_becomes_lines(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    text = "\n".join(dump_lines(copy))
    assert "DAMAGE" not in text
    for part in (
        f"format {filenames.FORMAT_VERSION}",
        "entries 143 bytes",
        "3:0..2 3 messages 3 bytes newest 1002",
        "sealed",
        'managed_ledger {"id": 1, "name": "t"',
        'document {"kind": "tenant", "key": "täg"',
        '"acked": [[2, 2]]',
        "compacted",
        "7 messages 1 bytes newest 1234",
        "mark-delete 3:0",
        "preallocated or torn space",
    ):
        assert part in text, part
    assert find_damage(copy) == []


async def test_one_file_is_dumped_alone(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    path = filenames.ledger_file(copy, 3)
    lines = list(dump_lines(path))
    assert lines[0].startswith(str(path))
    assert lines[1].startswith(f"  ledger 3 format {filenames.FORMAT_VERSION} created ")
    assert "entries" in lines[2]
    assert len(lines) == 4


async def test_damage_is_marked_and_the_rest_is_shown(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    path = filenames.ledger_file(copy, 3)
    data = bytearray(path.read_bytes())
    data[110] ^= 1
    path.write_bytes(data)
    assert [(report.path, report.offset) for report in find_damage(copy)] == [(path, 40)]
    lines = list(dump_lines(copy))
    assert f"DAMAGE {path} at offset 40: record checksum does not match" in lines
    assert any("journal 2" in line for line in lines)


async def test_a_missing_ledger_file_is_found(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    path = filenames.ledger_file(copy, 3)
    path.unlink()
    assert [str(report) for report in find_damage(copy)] == [f"{path} at offset 0: ledger file is missing"]


async def test_a_torn_journal_tail_is_not_damage(tmp_path: Path) -> None:
    copy = await crashed(tmp_path / "d")
    [path] = (copy / "journal").iterdir()
    data = path.read_bytes().rstrip(b"\0")
    path.write_bytes(data[:-3])
    assert find_damage(copy) == []


def test_a_directory_without_data_is_refused(tmp_path: Path) -> None:
    assert [report.reason for report in find_damage(tmp_path)] == ["no FORMAT file: not a data directory"]
