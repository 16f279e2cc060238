"""A compaction with the places that a job has found."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.compaction.given_places import GivenPlaces
from broker_core.compaction.key_table import KeyTable
from broker_core.compaction.survivors import Survivors
from broker_core.errors import Conflict
from broker_core.storage.records.block import Block
from broker_core.wire.last_places import LEDGERS_MAX, WHOLE, LastPlaces, LedgerPlaces, MalformedPlaces
from broker_core.wire.message import build_entry
from broker_core.wire.slots import open_entry
from tests.unit.broker_core.compaction.entries import Message, batch, block, metadata, single

MESSAGE = st.tuples(st.sampled_from(["a", "b", "c", "", None]), st.sampled_from([b"", b"1", b"2"]))
ENTRY = st.one_of(
    MESSAGE.map(lambda each: ([each], single(*each))),
    st.lists(MESSAGE, min_size=1, max_size=4).map(lambda each: (each, batch(each))),
    st.just(([(None, b"")] * 2, build_entry(metadata(num_messages_in_batch=2), b"no batch"))),
)
LOG = st.lists(st.lists(ENTRY, min_size=1, max_size=8), max_size=4)  # ledgers of entries, with their messages

Log = Sequence[Sequence[tuple[list[Message], bytes]]]


def blocks(log: Log) -> list[Block]:
    return [
        block([entry for _, entry in ledger], ledger_id=10 * number, counts=[len(messages) for messages, _ in ledger])
        for number, ledger in enumerate(log, start=1)
    ]


def places(log: Log, after: tuple[int, int] = (-1, -1)) -> LastPlaces:
    """What a job finds in the ledgers after `after`."""
    last: dict[str, tuple[int, int, int]] = {}
    whole = []
    read = [each for each in blocks(log) if each.ledger_id > after[0]]
    for each in read:
        for row in range(len(each)):
            opened = open_entry(each.entry(row))
            if opened is None:
                whole.append((each.ledger_id, row, WHOLE))
            for slot in opened.slots if opened else ():
                if slot.key is not None:
                    last[slot.key] = (each.ledger_id, row, slot.batch_index)
    named = sorted([*last.values(), *whole])
    ledgers = [
        LedgerPlaces.of(
            each.ledger_id, len(each), sum(each.counts), [place[1:] for place in named if place[0] == each.ledger_id]
        )
        for each in read
    ]
    through = (read[-1].ledger_id, len(read[-1]) - 1) if read else (-1, -1)
    return LastPlaces(after, through, tuple(ledgers))


def result(table: Survivors, log: Sequence[Block]) -> list[tuple[int, int, bytes]]:
    for each in log:
        table.note(each)
    table.complete()
    return [(each.ledger_id, each.first_entry_id + row, entry) for each in log for row, entry in table.survivors(each)]


def single_log(*messages: Message) -> Log:
    return [[([message], single(*message)) for message in messages]]


@settings(max_examples=40)
@given(LOG, st.booleans())
def test_the_result_is_that_of_the_broker_itself(log: Log, retain_null_key: bool) -> None:
    given, own = (
        GivenPlaces(places(log), retain_null_key=retain_null_key),
        KeyTable(retain_null_key=retain_null_key),
    )
    assert result(given, blocks(log)) == result(own, blocks(log))
    assert given.removed == own.removed


@settings(max_examples=30)
@given(LOG)
def test_places_survive_their_encoding(log: Log) -> None:
    found = places(log)
    decoded = LastPlaces.decode(found.encode())
    assert decoded == found
    assert [each.places() for each in decoded.ledgers] == [each.places() for each in found.ledgers]


def test_a_key_of_an_earlier_compaction_remains_until_it_has_a_new_place() -> None:
    log = [*single_log(("a", b"1"), ("b", b"1"), ("c", b"1")), *single_log(("a", b"2"), ("c", b""))]
    given = GivenPlaces(places(log, after=(10, 2)), retain_null_key=False)
    assert [found[:2] for found in result(given, blocks(log))] == [(10, 1), (20, 0)]


LOG_OF_A = single_log(("a", b"1"), ("a", b"2"), ("b", b"1"))


@pytest.mark.parametrize(
    ("row", "named", "reason"),
    [
        ((3, 3), [(1, 0)], "no place there or later"),
        ((3, 3), [(0, 0), (1, 0), (2, 0)], "two places of the key 'a'"),
        ((3, 3), [(1, 5), (2, 0)], "no message with a key"),
        ((3, 3), [(1, WHOLE), (2, 0)], "can be opened only by one"),
        ((2, 2), [(1, 0), (2, 0)], "the log has 3, 3, and 2"),
        ((3, 4), [(1, 0), (2, 0)], "the log has 3, 3, and 2"),
        ((3, 3), [(1, 0), (2, 0), (9, 0)], "the log has 3, 3, and 2"),
    ],
)
def test_places_of_another_log_are_refused(row: tuple[int, int], named: list[tuple[int, int]], reason: str) -> None:
    ledger = LedgerPlaces.of(10, *row, named)
    found = []
    for seed in range(20):  # two of three entries are looked at, whichever they are
        table = GivenPlaces(LastPlaces((-1, -1), (10, 2), (ledger,)), retain_null_key=False, seed=seed)
        try:
            result(table, blocks(LOG_OF_A))
        except Conflict as refusal:
            found.append(str(refusal))
    assert any(reason in text for text in found)


def test_a_key_whose_place_is_too_early_is_found_by_the_sample() -> None:
    log = single_log(*[("a", b"1")] * 50)
    ledger = LedgerPlaces.of(10, 50, 50, [(0, 0)])
    with pytest.raises(Conflict, match="no place there or later"):
        result(GivenPlaces(LastPlaces((-1, -1), (10, 49), (ledger,)), retain_null_key=False, seed=1), blocks(log))


def test_an_entry_that_cannot_be_opened_must_be_named() -> None:
    log: Log = [[([(None, b"")] * 2, build_entry(metadata(num_messages_in_batch=2), b"no batch"))]]
    ledger = LedgerPlaces.of(10, 1, 2, [])
    with pytest.raises(Conflict, match="cannot be opened, and is not named"):
        result(GivenPlaces(LastPlaces((-1, -1), (10, 0), (ledger,)), retain_null_key=False), blocks(log))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}\n",
        b'{"after": [1], "through": [1, 1], "ledgers": []}\n',
        b'{"after": [1, 1], "through": [1, true], "ledgers": []}\n',
        b'{"after": [1, 1], "through": [1, 1], "ledgers": [[1, 1, 1, 2, 0]]}\n',
        b'{"after": [1, 1], "through": [1, 1], "ledgers": [[1, 1, 1, 1, 3]]}\nab',
        b'{"after": [1, 1], "through": [1, 1], "ledgers": [[2, 1, 1, 1, 0], [1, 1, 1, 1, 0]]}\n',
        b"[" * 100_000,
        b" " * (3 << 20),
    ],
)
def test_malformed_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedPlaces):
        LastPlaces.decode(data)


@pytest.mark.parametrize("value", [b"[]", b"{}", b"1"])
def test_a_line_with_too_many_values_is_refused_before_they_are_made(value: bytes) -> None:
    with pytest.raises(MalformedPlaces, match="has more than 120018 values"):
        LastPlaces.decode(b"[" + b",".join([value] * 200_000) + b"]")


def test_a_line_with_many_members_is_refused_before_it_is_decoded() -> None:
    line = b"{" + b",".join(b'"%d":0' % number for number in range(80_000)) + b"}"
    with pytest.raises(MalformedPlaces, match="has more than 3 members"):
        LastPlaces.decode(line + b"\n")


def test_the_places_of_as_many_ledgers_as_allowed_are_read() -> None:
    most = LastPlaces((1, 1), (1, 1), tuple(LedgerPlaces.of(number, 1, 1, []) for number in range(LEDGERS_MAX)))
    assert LastPlaces.decode(most.encode()) == most


def test_columns_that_unpack_to_more_than_they_name_are_refused() -> None:
    packed = LedgerPlaces.of(1, 1_000_000, 1_000_000, [(n, 0) for n in range(100_000)]).packed
    with pytest.raises(MalformedPlaces, match="does not have 1 places"):
        LedgerPlaces(1, 1, 1, 1, packed).places()
