"""Mutates recorded sessions and feeds them to the decoder, for `python -m tests.long.fuzz`.

The invariants: any bytes give frames or `ProtocolError`, any split gives the same result, the result matches protobuf,
and every entry can be parsed or gives an `EntryError`.
"""

import random

from broker_core.wire import batch, message
from broker_core.wire.commands import SIZES
from broker_core.wire.errors import EntryError, ProtocolError
from broker_core.wire.frame import FrameDecoder, Item, MessageFrame
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from broker_core.wire.send import SEND_COMMAND, SendRun, SingleSend
from tests.support.send_frames import send
from tests.unit.broker_core.wire.protobuf_decoder import Row, by_producer, decode, rows
from tests.unit.broker_core.wire.sessions import TO_BROKER, TO_CLIENT, session_names, stream

FRAME_SIZE_MAX = 30_000
WINDOW = 2_000
UNCOMPRESSED_MAX = 1 << 20
INTERESTING = (0, 1, 4, 5, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, FRAME_SIZE_MAX, 0x7FFFFFFF, 0xFFFFFFFF)


def mutate(original: bytes, chance: random.Random) -> bytes:
    """Applies some of: flips bits, drops, inserts, or repeats bytes, replaces a size field, cuts off the end."""
    data = bytearray(original)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 4))):
        at = chance.randrange(len(data)) if data else 0
        kind = chance.randrange(6)
        if kind == 0 and data:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[at : at + chance.choice((1, 4, 50))]
        elif kind == 2:
            data[at:at] = chance.randbytes(chance.choice((1, 4, 20)))
        elif kind == 3:
            data[at:at] = data[at : at + chance.choice((8, 60, 200))]
        elif kind == 4:
            data[at : at + 4] = chance.choice(INTERESTING).to_bytes(4, "big")
        else:
            del data[at:]
    return bytes(data)


def reseal(data: bytes) -> bytes:
    """Corrects the checksum of every SEND, so that damaged metadata passes the check."""
    sealed = bytearray(data)
    position = 0
    while len(data) - position >= 8:
        size, command_size = SIZES.unpack_from(data, position)
        entry, end = position + 8 + command_size, position + 4 + size
        if end > len(data) or size < 4 or entry + 10 > end:
            break
        if data.startswith(SEND_COMMAND, position + 8) and data.startswith(message.MAGIC, entry):
            sealed[entry + 2 : entry + 6] = message.checksum(data[entry + 6 : end]).to_bytes(4, "big")
        position = end
    return bytes(sealed)


def feed(data: bytes, cuts: list[int]) -> tuple[list[Item], bool, int]:
    """Items, whether a `ProtocolError` occurred, bytes held. The stream is split at `cuts`, in order."""
    decoder = FrameDecoder(FRAME_SIZE_MAX)
    items: list[Item] = []
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        try:
            items += decoder.feed(data[start:end])
        except ProtocolError as error:
            items += error.items
            return items, True, 0
    return items, False, decoder.buffered


def check(data: bytes, cuts: list[int], resealed: bool = False) -> bool:
    """Raises `AssertionError` if an invariant does not hold; returns whether the stream was valid.

    In a `resealed` stream, metadata may be wrong after the publish time, which is not read in a plain SEND.
    """
    items, broken, held = feed(data, cuts)
    expected = decode(data, FRAME_SIZE_MAX)
    found = by_producer(rows(items))
    assert broken == expected.broken, (data, cuts)
    if resealed:
        assert sorted(entries(found)) == sorted(entries(expected.rows)), (data, cuts)
    else:
        assert found == by_producer(expected.rows), (data, cuts)
    assert broken or held == expected.left, (data, cuts)
    for item in items:
        if isinstance(item, MessageFrame):
            open_entry(item.entry)
        elif isinstance(item, SingleSend):
            open_entry(item.headers_and_payload)
        elif isinstance(item, SendRun):
            open_entry(item.entry(0))
    return not broken


def entries(found: list[Row]) -> list[bytes]:
    return [row[2] if row[0] == "single" else row[-1] for row in found]


def open_entry(entry: bytes) -> None:
    """Parses an entry as far as possible; ignores checksums, so that damage reaches the parser."""
    try:
        parsed = message.parse_entry(entry, verify=False)
        payload = batch.plain_payload(parsed.metadata, parsed.payload, UNCOMPRESSED_MAX)
        if batch.is_batch(parsed.metadata) and not batch.is_encrypted(parsed.metadata):
            batch.split_batch(payload, parsed.metadata.num_messages_in_batch)
    except EntryError:
        return
    assert isinstance(parsed.metadata, MessageMetadata)


def windows() -> list[bytes]:
    """The bytes of each side of each session, shortened so that a round stays short.

    It adds two producers that alternate while their sequence IDs grow by a byte, since no recording is long enough.
    """
    recorded = [stream(name, side)[:WINDOW] for name in session_names() for side in (TO_BROKER, TO_CLIENT)]
    turns = [send(number // 3 % 2, number, b"x" * (number % 7)) for number in range(110, 140)]
    return [*recorded, b"".join(turns), b"".join(turns)]


def fuzz(count: int, seed: int) -> int:
    """Runs `count` rounds and returns how many streams were valid to their end."""
    chance = random.Random(seed)
    originals = windows()
    sound = 0
    for _ in range(count):
        data = mutate(chance.choice(originals), chance)
        cuts = sorted(chance.randrange(len(data) + 1) for _ in range(chance.choice((0, 0, 1, 3))))
        resealed = chance.randrange(3) == 0
        sound += check(reseal(data) if resealed else data, cuts, resealed)
    return sound
