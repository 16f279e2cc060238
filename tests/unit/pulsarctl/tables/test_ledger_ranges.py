"""The plan: what is read, in how many tasks, and with which ack ranges."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pulsarctl.tables.bounds import Bound
from pulsarctl.tables.ledger_ranges import LedgerRange, ranges_of_topic, split

TOPIC = "persistent://public/default/t"


def stats(ledgers: dict[int, int], cursors: dict[str, tuple[str, str]] | None = None) -> dict[str, Any]:
    """internalStats of a topic with `ledgers` (id: entries of 100 bytes); the last one is open and so reports 0."""
    *closed, (open_id, open_entries) = ledgers.items()
    listed = [{"ledgerId": ledger_id, "entries": count, "size": 100 * count} for ledger_id, count in closed]
    return {
        "lastConfirmedEntry": f"{open_id}:{open_entries - 1}",
        "currentLedgerSize": 100 * open_entries,
        "ledgers": [*listed, {"ledgerId": open_id, "entries": 0, "size": 0}],
        "cursors": {
            name: {"markDeletePosition": mark_delete, "individuallyDeletedMessages": ranges}
            for name, (mark_delete, ranges) in (cursors or {}).items()
        },
    }


def spans(ranges: list[LedgerRange]) -> list[tuple[int, int, int]]:
    return [(each.ledger_id, each.first, each.last) for each in ranges]


def test_each_ledger_is_a_range() -> None:
    assert spans(list(ranges_of_topic(TOPIC, stats({5: 10, 8: 3}), subscriptions=None))) == [(5, 0, 9), (8, 0, 2)]


def test_an_empty_open_ledger_is_not_a_range() -> None:
    assert spans(list(ranges_of_topic(TOPIC, stats({5: 10, 8: 0}), subscriptions=None))) == [(5, 0, 9)]


def test_start_and_end_are_inclusive() -> None:
    found = ranges_of_topic(
        TOPIC, stats({5: 10, 8: 3, 9: 7}), subscriptions=None, start=Bound((5, 4)), end=Bound((8, 1))
    )
    assert spans(list(found)) == [(5, 4, 9), (8, 0, 1)]


def test_entries_acknowledged_by_every_subscription_are_not_read() -> None:
    cursors = {"ahead": ("8:0", "[]"), "behind": ("5:6", "[]")}
    found = list(ranges_of_topic(TOPIC, stats({4: 10, 5: 10, 8: 3}, cursors), subscriptions=["ahead", "behind"]))
    assert spans(found) == [(5, 7, 9), (8, 0, 2)]
    assert [each.subscription for each in found[0].subscriptions or ()] == ["behind"]


def test_an_unknown_subscription_reads_nothing() -> None:
    assert list(ranges_of_topic(TOPIC, stats({5: 10}), subscriptions=["missing"])) == []


def test_there_are_as_many_tasks_as_requested() -> None:
    whole = list(ranges_of_topic(TOPIC, stats({5: 3000, 8: 1000}), subscriptions=None))
    assert len(split(whole, tasks_min=8, entries_max=50_000)) == 8


def test_no_task_has_more_entries_than_allowed() -> None:
    whole = list(ranges_of_topic(TOPIC, stats({5: 100_000}), subscriptions=None))
    assert max(each.entries for each in split(whole, tasks_min=1, entries_max=7_000)) <= 7_000


def test_large_entries_make_small_tasks() -> None:
    whole = LedgerRange(TOPIC, 5, 0, 99, 100 * 5_000_000, None)
    assert len(split([whole], tasks_min=1, entries_max=50_000)) == 8


def test_few_entries_stay_in_one_task() -> None:
    whole = list(ranges_of_topic(TOPIC, stats({5: 90}), subscriptions=None))
    assert len(split(whole, tasks_min=8, entries_max=50_000)) == 1


def test_a_task_gets_the_ack_ranges_of_its_own_entries() -> None:
    holes = ",".join(f"(5:{entry - 1}..5:{entry}]" for entry in range(1, 1000, 2))
    whole = list(ranges_of_topic(TOPIC, stats({5: 1000}, {"s": ("4:0", f"[{holes}]")}), subscriptions=["s"]))
    parts = split(whole, tasks_min=10, entries_max=50_000)
    assert len(parts) == 10
    for part in parts:
        (wanting,) = part.subscriptions or ()
        assert len(wanting.acked) <= 51
        assert [entry for entry in range(part.first, part.last + 1) if wanting.wants(entry)] == list(
            range(part.first, part.last + 1, 2)
        )


@given(st.integers(1, 2000), st.integers(1, 50), st.integers(1, 500))
def test_tasks_cover_every_entry_once(entries: int, tasks_min: int, entries_max: int) -> None:
    whole = LedgerRange(TOPIC, 5, 3, entries + 2, 10 * entries, None)
    parts = split([whole], tasks_min=tasks_min, entries_max=entries_max)
    assert [entry for part in parts for entry in range(part.first, part.last + 1)] == list(range(3, entries + 3))


def test_a_continued_run_finds_chunks_from_where_the_first_run_began() -> None:
    begin, start = Bound((5, 4)), Bound((8, 2))
    known = stats({4: 10, 5: 10, 8: 3, 9: 7})
    of_8, of_9 = ranges_of_topic(TOPIC, known, subscriptions=None, start=start, begin=begin)
    assert (of_8.first, of_8.floor, [span[:3] for span in of_8.earlier]) == (2, 0, [(5, 4, 9)])
    assert (of_9.floor, [span[:3] for span in of_9.earlier]) == (0, [(8, 0, 2), (5, 4, 9)])


def test_chunks_before_the_start_of_a_first_run_are_not_looked_for() -> None:
    (of_8,) = ranges_of_topic(TOPIC, stats({5: 10, 8: 3}), subscriptions=None, start=Bound((8, 2)))
    assert (of_8.floor, of_8.earlier) == (2, ())
