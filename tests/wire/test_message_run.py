"""MESSAGE commands that are gathered in runs are those that are parsed one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire.frame import SIZE, FrameDecoder, MessageFrame
from broker_core.wire.message_run import MessageRun
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandMessage, MessageIdData

Delivery = tuple[int, int, int, bytes]  # consumer, ledger, entry

STARTS = st.sampled_from([0, 5, 120, 127, 16_380, (1 << 21) - 3, (1 << 62) - 2])
RUNS = st.lists(
    st.tuples(
        st.sampled_from([1, 2]),
        st.sampled_from([3, 8, 300]),
        STARTS,
        st.lists(st.binary(max_size=6), min_size=1, max_size=12),
        st.booleans(),
    ),
    max_size=5,
)


def frame(consumer: int, ledger: int, entry: int, data: bytes, *, is_partition: bool) -> bytes:
    place = MessageIdData(ledgerId=ledger, entryId=entry)
    if is_partition:
        place.partition = 3
    message = CommandMessage(consumer_id=consumer, message_id=place, redelivery_count=0)
    command = BaseCommand(type=BaseCommand.MESSAGE, message=message).SerializeToString()
    return SIZE.pack(4 + len(command) + len(data)) + SIZE.pack(len(command)) + command + data


def deliveries(chunks: list[bytes], *, gathers: bool, at_once: int = 1) -> list[Delivery]:
    """`at_once`: how many chunks are taken apart together."""
    decoder = FrameDecoder(1 << 20)
    if gathers:
        decoder.gather_messages()
    found: list[Delivery] = []
    for number, chunk in enumerate(chunks, 1):
        if number % at_once and number < len(chunks):
            decoder.keep(chunk)
            continue
        for item in decoder.feed(chunk):
            if isinstance(item, MessageRun):
                assert item.ends
                places = enumerate(zip(item.starts, item.ends, strict=True), item.entry_id)
                found += [
                    (item.consumer_id, item.ledger_id, number, item.data[start:end]) for number, (start, end) in places
                ]
            else:
                assert isinstance(item, MessageFrame)
                place = item.message.message_id
                found.append((item.message.consumer_id, place.ledgerId, place.entryId, item.entry))
    return found


@settings(max_examples=60, deadline=None)
@given(RUNS, st.integers(1, 200), st.integers(2, 5))
def test_runs_hold_what_was_sent(runs: list[tuple[int, int, int, list[bytes], bool]], chunk: int, at_once: int) -> None:
    sent = [
        (consumer, ledger, entry, data, is_partition)
        for consumer, ledger, start, entries, is_partition in runs
        for entry, data in enumerate(entries, start)
    ]
    stream = b"".join(frame(*each[:4], is_partition=each[4]) for each in sent)
    chunks = [stream[at : at + chunk] for at in range(0, len(stream), chunk)]
    wanted = [each[:4] for each in sent]
    assert deliveries(chunks, gathers=True) == wanted
    assert deliveries(chunks, gathers=True, at_once=at_once) == wanted
    assert deliveries(chunks, gathers=False) == wanted


def test_the_entries_of_a_ledger_are_one_run() -> None:
    stream = b"".join(frame(1, 7, entry, b"x", is_partition=False) for entry in range(100, 300))
    decoder = FrameDecoder(1 << 20)
    decoder.gather_messages()
    (run,) = decoder.feed(stream)  # although entry 128 has a byte more
    assert isinstance(run, MessageRun)
    assert (run.entry_id, len(run.ends)) == (100, 200)
