"""The chunks of a message through compaction."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.compaction.chunked_messages import UNFINISHED_MAX
from broker_core.compaction.given_places import GivenPlaces
from broker_core.compaction.key_table import KeyTable
from broker_core.errors import Conflict
from broker_core.wire.last_places import LastPlaces, LedgerPlaces
from broker_core.wire.message import build_entry
from tests.unit.broker_core.compaction.entries import block, metadata, single


def chunk(key: str, uuid: str, number: int, count: int = 3) -> bytes:
    chunked = metadata(partition_key=key, uuid=uuid, chunk_id=number, num_chunks_from_msg=count)
    return build_entry(chunked, f"{uuid}-{number}".encode())


def chunks(key: str, uuid: str, count: int = 3) -> list[bytes]:
    return [chunk(key, uuid, number, count) for number in range(count)]


def rows(entries: list[bytes]) -> list[int]:
    table = KeyTable(retain_null_key=False)
    table.note(block(entries))
    table.complete()
    return [row for row, _ in table.survivors(block(entries))]


def test_all_chunks_of_the_last_value_survive() -> None:
    assert rows([*chunks("a", "1"), single("b", b"x"), *chunks("a", "2")]) == [3, 4, 5, 6]


@pytest.mark.parametrize(("later", "left"), [(b"x", [3]), (b"", [])])
def test_a_later_value_or_tombstone_removes_all_chunks(later: bytes, left: list[int]) -> None:
    assert rows([*chunks("a", "1"), single("a", later)]) == left


def test_a_message_counts_from_its_last_chunk() -> None:
    first, *others = chunks("a", "1")
    assert rows([first, single("a", b"x"), *others]) == [0, 2, 3]


def test_chunks_whose_message_is_not_finished_stay() -> None:
    assert rows([single("a", b"x"), chunk("a", "1", 0), chunk("a", "1", 1)]) == [0, 1, 2]


def test_chunks_without_the_first_one_hide_no_value() -> None:
    assert rows([chunk("a", "1", 2), single("b", b"x")]) == [1]
    assert rows([single("a", b"x"), *chunks("a", "1")[1:]]) == [0]


def test_the_oldest_of_too_many_unfinished_messages_are_dropped() -> None:
    entries = [chunk("a", str(number), 0) for number in range(UNFINISHED_MAX + 2)]
    assert rows(entries) == list(range(2, UNFINISHED_MAX + 2))


@given(st.permutations([(uuid, key) for uuid, key in zip("1234", "aabb", strict=True) for _ in range(3)]))
def test_the_message_of_a_key_that_ends_last_survives_whole(order: list[tuple[str, str]]) -> None:
    sent: dict[str, list[int]] = {}
    entries = []
    for row, (uuid, key) in enumerate(order):
        sent.setdefault(uuid, []).append(row)
        entries.append(chunk(key, uuid, len(sent[uuid]) - 1))
    last = [max((sent[first], sent[second]), key=lambda places: places[-1]) for first, second in ("12", "34")]
    assert rows(entries) == sorted(last[0] + last[1])


def test_chunks_that_a_client_sends_again_stay_with_their_message() -> None:
    assert rows([*chunks("a", "1")[:2], *chunks("a", "1"), single("b", b"x")]) == [0, 1, 2, 3, 4, 5]


def test_the_places_of_a_job_name_no_chunk() -> None:
    ledger = LedgerPlaces.of(7, 3, 3, [(2, 0)])
    table = GivenPlaces(LastPlaces((-1, -1), (7, 2), (ledger,)), retain_null_key=False)
    with pytest.raises(Conflict, match="the message at 7:2:0 is chunked"):
        table.note(block(chunks("a", "1")))
