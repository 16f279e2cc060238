"""MESSAGE commands that are gathered in runs are those that are parsed one by one."""

from itertools import count

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire import commands
from broker_core.wire.frame import SIZE, Command, FrameDecoder, Item, MessageFrame, SendRun
from broker_core.wire.message_run import MessageRun
from broker_core.wire.pulsar_api_pb2 import BaseCommand, CommandMessage, MessageIdData
from pulsarctl.tables.foreseen_messages import ForeseenMessages
from tests.support.send_frames import send

Delivery = tuple[int, int, int, bytes]  # consumer, ledger, entry

STARTS = st.sampled_from([0, 5, 120, 127, 16_380, (1 << 21) - 3, (1 << 62) - 2, (1 << 63) - 3, (1 << 64) - 20])
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
    """`at_once`: how many chunks are taken apart together, in one place with what is before them."""
    decoder = FrameDecoder(1 << 20)
    if gathers:
        decoder.gather_messages(ForeseenMessages())
    found: list[Delivery] = []
    for first in range(0, len(chunks), at_once):
        some = b"".join(chunks[first : first + at_once])
        items = decoder.feed(some) if at_once == 1 else decoder.feed_gathered(bytearray(decoder.rest + some))
        for item in items:
            if isinstance(item, MessageRun):
                assert item.ends
                for number, start, end in zip(count(item.entry_id), item.starts, item.ends, strict=False):
                    found.append((item.consumer_id, item.ledger_id, number, bytes(item.data[start:end])))
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


def test_other_commands_between_messages_are_those_of_a_plain_decoder() -> None:
    """A broker sends no SEND, but one that does must not get positions of other bytes into a run."""
    sends = [send(1, sequence, b"payload %d" % sequence) for sequence in range(4)]
    stream = frame(1, 7, 5, b"x", is_partition=False) + commands.ping() + b"".join(sends) + commands.pong()
    plain, gathering = FrameDecoder(1 << 20), FrameDecoder(1 << 20)
    gathering.gather_messages(ForeseenMessages())
    assert others(gathering.feed_gathered(bytearray(stream))) == others(plain.feed(stream))


def others(items: list[Item]) -> list[tuple[object, ...]]:
    """SENDs one by one, and the types of commands."""
    found: list[tuple[object, ...]] = []
    for item in items:
        if isinstance(item, SendRun):
            assert type(item.data) is bytes
            entries = [item.data[start:end] for start, end in zip(item.starts, item.ends, strict=True)]
            found += zip(map(type, item.keys), item.keys, entries, strict=True)
        elif isinstance(item, Command):
            found.append((item.type,))
    return found


def test_the_entries_of_a_ledger_are_one_run() -> None:
    stream = b"".join(frame(1, 7, entry, b"x", is_partition=False) for entry in range(100, 300))
    decoder = FrameDecoder(1 << 20)
    decoder.gather_messages(ForeseenMessages())
    (run,) = decoder.feed(stream)  # although entry 128 has a byte more
    assert isinstance(run, MessageRun)
    assert (run.entry_id, len(run.ends)) == (100, 200)


@given(st.integers(0, 700), st.sampled_from([b"\x18\x01", b""]))
def test_another_command_ends_a_run_wherever_it_stands(place: int, redelivery: bytes) -> None:
    """It has the bytes that are foreseen, except for one field at its end, or the entry ID."""
    frames = [frame(1, 7, entry, b"x" * (entry % 3), is_partition=False) for entry in range(60, 760)]
    odd = frame(1, 7, 60 + place + (not redelivery), b"odd", is_partition=False)
    stream = b"".join(frames[:place]) + odd.replace(b"\x18\x00", redelivery or b"\x18\x00") + b"".join(frames[place:])
    decoder = FrameDecoder(1 << 20)
    decoder.gather_messages(ForeseenMessages())
    found = [
        (number, bytes(run.data[start:end]))
        for run in decoder.feed(stream)
        if isinstance(run, MessageRun)
        for number, start, end in zip(count(run.entry_id), run.starts, run.ends, strict=False)
    ]
    wanted = [(entry, b"x" * (entry % 3)) for entry in range(60, 760)]
    wanted.insert(place, (60 + place + (not redelivery), b"odd"))
    assert found == wanted
