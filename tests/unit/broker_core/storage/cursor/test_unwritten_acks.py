"""Acknowledgments that are not in the journal yet."""

from pathlib import Path

from broker_core.storage.records.position import EARLIEST
from tests.support.storage import append, opened, run_of


async def test_a_non_durable_cursor_keeps_no_list_of_acknowledgments(tmp_path: Path) -> None:
    engine = await opened(tmp_path / "d")
    ledger = await engine.open_ledger("t")
    first = await append(ledger, run_of(*[b"x"] * 10, counts=[2] * 10))
    cursor = await ledger.open_cursor("s", initial=EARLIEST, durable=False)
    cursor.acknowledge(first.ledger_id, [5, 7])
    cursor.acknowledge_indexes(first, 0b10)
    assert cursor._unwritten._entries == {} == cursor._unwritten._batches
    await engine.close()
