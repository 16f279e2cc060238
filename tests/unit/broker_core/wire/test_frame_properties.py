"""For all streams, the decoder matches protobuf, however the bytes are cut."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.wire import client_commands, commands
from tests.support.send_frames import entry, send_frame, with_broken_checksum
from tests.unit.broker_core.wire import fuzz
from tests.unit.broker_core.wire.protobuf_decoder import by_producer, decode, rows

LIMIT = fuzz.FRAME_SIZE_MAX
U64 = st.integers(0, (1 << 64) - 1)
SMALL_OR_ANY = st.one_of(st.integers(0, 300), U64)
NAMES = st.one_of(st.just("standalone-0-1"), st.text(max_size=200))


@st.composite
def single_sends(draw: st.DrawFn) -> bytes:
    """One SEND of any kind: plain, batch, transactional, chunk, with a wrong checksum."""
    sequence_id = draw(SMALL_OR_ANY)
    fields = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "num_messages": st.integers(-2, 2000),
                "highest_sequence_id": SMALL_OR_ANY,
                "txnid_least_bits": st.integers(0, 2),
                "is_chunk": st.booleans(),
                "marker": st.booleans(),
            },
        )
    )
    bytes_of_entry = entry(
        draw(st.binary(max_size=200)),
        sequence_id=sequence_id,
        publish_time=draw(SMALL_OR_ANY),
        producer_name=draw(NAMES),
    )
    frame = send_frame(draw(SMALL_OR_ANY), sequence_id, bytes_of_entry, **fields)
    return with_broken_checksum(frame) if draw(st.integers(0, 9)) == 0 else frame


@st.composite
def ordinary_runs(draw: st.DrawFn) -> bytes:
    """The usual load: a few producers that alternate, with increasing sequence IDs and times."""
    first = draw(st.sampled_from([0, 100, 127, 128, 16_380, 2_097_150, 1 << 40]))
    producers = draw(st.lists(st.sampled_from([0, 1, 127, 128, 300]), min_size=1, max_size=3, unique=True))
    now = draw(st.integers(1 << 34, 1 << 43))
    steps = draw(st.lists(st.tuples(st.sampled_from(producers), st.integers(0, 3)), max_size=40))
    sent = []
    for number, (producer_id, passed) in enumerate(steps):
        now += passed
        name = f"standalone-0-{producer_id}"
        body = entry(b"x" * (number % 5), sequence_id=first + number, publish_time=now, producer_name=name)
        sent.append(send_frame(producer_id, first + number, body))
    return b"".join(sent)


OTHERS = st.one_of(
    st.just(commands.ping()),
    st.builds(client_commands.flow, U64, st.integers(0, (1 << 32) - 1)),
    st.builds(lambda ids: client_commands.acknowledge(1, [commands.message_id(5, i) for i in ids]), st.lists(U64)),
    st.builds(client_commands.lookup, U64, st.text(max_size=50)),
)
STREAMS = st.lists(st.one_of(single_sends(), ordinary_runs(), OTHERS), max_size=6).map(b"".join)


@given(STREAMS, st.lists(st.integers(0, 1 << 16), max_size=5))
def test_any_stream_cut_anywhere_matches_protobuf(stream: bytes, cuts: list[int]) -> None:
    places = sorted(cut % (len(stream) + 1) for cut in cuts)
    items, broken, held = fuzz.feed(stream, places)
    assert not broken
    assert held == 0
    assert by_producer(rows(items)) == by_producer(decode(stream, LIMIT).rows)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=3))
def test_any_bytes_give_frames_or_a_protocol_error(data: bytes, cuts: list[int]) -> None:
    fuzz.check(data, sorted(cut % (len(data) + 1) for cut in cuts))


@given(STREAMS, st.integers())
@settings(max_examples=200)
def test_a_damaged_stream_gives_frames_or_a_protocol_error(stream: bytes, seed: int) -> None:
    fuzz.check(fuzz.mutate(stream, random.Random(seed)), [])


def test_damaged_recordings_give_frames_or_a_protocol_error() -> None:
    assert 0 < fuzz.fuzz(3000, seed=1) < 3000
