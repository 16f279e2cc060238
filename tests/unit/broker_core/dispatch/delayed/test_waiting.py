"""Which entries wait: compared with a plain set."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.dispatch.delayed.waiting import WaitingEntries

ENTRIES = st.tuples(st.integers(1, 3), st.integers(0, 5000))
STEPS = st.lists(st.tuples(st.sampled_from(["add", "remove", "up to", "many"]), ENTRIES), max_size=40)


@settings(deadline=None)
@given(STEPS)
def test_the_waiting_set_behaves_like_a_set_of_entries(steps: list[tuple[str, tuple[int, int]]]) -> None:
    waiting, model = WaitingEntries(), set[tuple[int, int]]()
    for what, (ledger_id, entry_id) in steps:
        if what == "add":
            assert waiting.add(ledger_id, entry_id) == ((ledger_id, entry_id) not in model)
            model.add((ledger_id, entry_id))
        elif what == "remove":
            assert waiting.remove(ledger_id, entry_id) == ((ledger_id, entry_id) in model)
            model.discard((ledger_id, entry_id))
        elif what == "many":
            waiting.remove_all(ledger_id, [entry_id, entry_id + 1])
            model -= {(ledger_id, entry_id), (ledger_id, entry_id + 1)}
        else:
            waiting.remove_up_to(ledger_id, entry_id)
            model = {entry for entry in model if entry > (ledger_id, entry_id)}
        assert waiting.count == len(model)
    for ledger_id, entry_id in model:
        assert waiting.remove(ledger_id, entry_id)
    assert waiting.memory == 0


def test_a_million_entries_take_a_megabyte() -> None:
    waiting = WaitingEntries()
    for entry_id in range(1_000_000):
        waiting.add(7, entry_id)
    assert waiting.memory <= 1_000_000


def test_one_entry_at_the_end_of_a_ledger_takes_little_memory() -> None:
    waiting = WaitingEntries()
    waiting.add(7, 49_999)
    assert waiting.memory <= 1024
