"""A cursor, step by step; what Hypothesis makes of it is in test_model.py."""

from pathlib import Path

from broker_core.storage.position import EARLIEST
from tests.broker_core.storage.storage import append, opened, run_of


async def test_an_entry_behind_mark_delete_is_not_acknowledged_twice(tmp_path: Path) -> None:
    factory = await opened(tmp_path / "d")
    ledger = await factory.open_ledger("t")
    first = await append(ledger, run_of(*[b"x"] * 10))
    cursor = await ledger.open_cursor("s", initial=EARLIEST)
    cursor.acknowledge(first.ledger_id, [5])
    cursor.acknowledge_up_to(first._replace(entry_id=2))
    assert cursor.acknowledge(first.ledger_id, [1]) == 0
    assert cursor.acknowledge(first.ledger_id, [1, 3]) == 1
    await factory.close()
