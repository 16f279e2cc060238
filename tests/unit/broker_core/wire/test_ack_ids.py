"""An ACK is read as columns only if that loses nothing."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.wire.ack_ids import FEW, plain_ids
from broker_core.wire.pulsar_api_pb2 import CommandAck, MessageIdData

U64 = st.integers(0, (1 << 64) - 1)
IDS = st.builds(
    MessageIdData,
    ledgerId=st.one_of(st.integers(0, 1), U64),
    entryId=st.one_of(st.integers(0, 300), U64),
    ack_set=st.one_of(st.just([]), st.lists(st.integers(-1, 1), max_size=2)),
)
COMMANDS = st.builds(
    CommandAck,
    consumer_id=U64,
    ack_type=st.just(CommandAck.Individual),
    message_id=st.lists(IDS, min_size=FEW, max_size=3 * FEW),
    request_id=st.one_of(st.none(), U64),
)


def ack(entry_ids: Sequence[int], **fields: int) -> CommandAck:
    ids = [MessageIdData(ledgerId=7, entryId=entry_id) for entry_id in entry_ids]
    return CommandAck(consumer_id=1, ack_type=CommandAck.Individual, message_id=ids, **fields)  # type: ignore[arg-type]  # enum values are ints here


@given(COMMANDS)
def test_columns_have_what_the_ids_have(command: CommandAck) -> None:
    found = plain_ids(command)
    if found is not None:
        ledger_id, entry_ids = found
        assert [(ledger_id, entry_id, []) for entry_id in entry_ids] == [
            (one.ledgerId, one.entryId, list(one.ack_set)) for one in command.message_id
        ]


@pytest.mark.parametrize("first", [0, 1000, 3_000_000, 1 << 40])
@pytest.mark.parametrize("fields", [{}, {"request_id": 5}, {"request_id": 1 << 33}])
def test_the_acks_of_a_catching_up_consumer_are_columns(first: int, fields: dict[str, int]) -> None:
    entry_ids = list(range(first, first + 100))
    assert plain_ids(ack(entry_ids, **fields)) == (7, entry_ids)


def test_a_single_ack_set_is_seen_among_many_ids() -> None:
    command = ack(range(1000, 1500))
    command.message_id[250].ack_set.append(1)
    assert plain_ids(command) is None


def test_ids_of_two_ledgers_are_read_one_by_one() -> None:
    command = ack(range(1000, 1500))
    command.message_id[250].ledgerId = 8
    assert plain_ids(command) is None
