"""A command with very many message IDs is divided without a loss."""

import pytest

from broker_core.wire.long_commands import IDS_PER_PART, is_long, parts
from broker_core.wire.pulsar_api_pb2 import CommandAck, CommandRedeliverUnacknowledgedMessages, MessageIdData

COUNTS = (IDS_PER_PART + 1, 2 * IDS_PER_PART, 2 * IDS_PER_PART + 1)


def ids(count: int) -> list[MessageIdData]:
    return [MessageIdData(ledgerId=1, entryId=number) for number in range(count)]


@pytest.mark.parametrize("count", COUNTS)
def test_parts_acknowledge_the_same_ids_and_the_last_has_the_request(count: int) -> None:
    ack = CommandAck(consumer_id=3, ack_type=CommandAck.Individual, request_id=7, message_id=ids(count))
    found = [part for part in parts(ack) if isinstance(part, CommandAck)]
    assert [one.entryId for part in found for one in part.message_id] == list(range(count))
    assert {(part.consumer_id, part.ack_type) for part in found} == {(3, CommandAck.Individual)}
    assert max(len(part.message_id) for part in found) <= IDS_PER_PART
    assert [part.HasField("request_id") for part in found] == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize("count", COUNTS)
def test_parts_ask_for_the_same_ids_again_in_the_same_epoch(count: int) -> None:
    redeliver = CommandRedeliverUnacknowledgedMessages(consumer_id=3, message_ids=ids(count), consumer_epoch=7)
    found = [part for part in parts(redeliver) if isinstance(part, CommandRedeliverUnacknowledgedMessages)]
    assert [one.entryId for part in found for one in part.message_ids] == list(range(count))
    assert {(part.consumer_id, part.consumer_epoch) for part in found} == {(3, 7)}
    assert 0 < max(len(part.message_ids) for part in found) <= IDS_PER_PART


def test_a_cumulative_acknowledgment_is_never_long() -> None:
    assert not is_long(CommandAck(consumer_id=3, ack_type=CommandAck.Cumulative, message_id=ids(IDS_PER_PART + 1)))


def test_an_acknowledgment_of_a_transaction_is_refused_as_a_whole() -> None:
    many = ids(IDS_PER_PART + 1)
    assert not is_long(CommandAck(consumer_id=3, ack_type=CommandAck.Individual, message_id=many, txnid_least_bits=1))


def test_a_command_of_as_many_ids_as_a_part_is_not_long() -> None:
    assert not is_long(CommandAck(consumer_id=3, ack_type=CommandAck.Individual, message_id=ids(IDS_PER_PART)))
    assert not is_long(CommandRedeliverUnacknowledgedMessages(consumer_id=3, message_ids=ids(IDS_PER_PART)))
