"""Which messages survive compaction."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.compaction.key_table import KeyTable
from broker_core.wire.message import build_entry
from broker_core.wire.slots import open_entry
from tests.unit.broker_core.compaction.entries import batch, block, metadata, single


def compact(entries: list[bytes], *, retain_null_key: bool = False) -> list[tuple[int, bytes]]:
    table = KeyTable(retain_null_key=retain_null_key)
    table.note(block(entries))
    return list(table.survivors(block(entries)))


KEYED = st.tuples(st.sampled_from("abc"), st.sampled_from([b"", b"1", b"2"]))


@given(st.lists(KEYED, max_size=20))
def test_each_key_keeps_its_last_value_and_tombstones_remove_it(messages: list[tuple[str, bytes]]) -> None:
    expected = {key: row for row, (key, _) in enumerate(messages)}
    survivors = sorted(row for key, row in expected.items() if messages[row][1])
    assert [row for row, _ in compact([single(*message) for message in messages])] == survivors


@given(st.lists(st.lists(KEYED, min_size=1, max_size=4), max_size=8))
def test_each_message_of_a_batch_is_considered_separately(batches: list[list[tuple[str, bytes]]]) -> None:
    last = {key: (row, slot) for row, one in enumerate(batches) for slot, (key, _) in enumerate(one)}
    expected = sorted(place for place in last.values() if batches[place[0]][place[1]][1])
    found = [
        (row, slot.batch_index)
        for row, entry in compact([batch(list(one)) for one in batches])
        for slot in open_entry(entry).slots  # type: ignore[union-attr]  # it was built here
    ]
    assert found == expected


def test_messages_without_a_key_are_dropped_unless_configured() -> None:
    entries = [single(None, b"1"), single("a", b"2")]
    assert [row for row, _ in compact(entries)] == [1]
    assert [row for row, _ in compact(entries, retain_null_key=True)] == [0, 1]


def test_an_encrypted_batch_is_kept_as_a_whole() -> None:
    sealed = metadata(num_messages_in_batch=2)
    sealed.encryption_keys.add(key="k", value=b"v")
    entry = build_entry(sealed, b"encrypted bytes")
    assert compact([entry, single("a", b"1")])[0] == (0, entry)
