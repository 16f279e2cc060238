"""Chunks that are sent again before their message is whole."""

from broker_core.publishing.open_chunks import CHUNKS_MAX, OpenChunks
from broker_core.wire.send import Chunk


def chunk(number: int, total: int = 3, uuid: str = "m", checksum: bytes = b"") -> Chunk:
    return Chunk(uuid, number, total, checksum or b"crc%d" % number)


def with_chunks(*numbers: int, persisted: bool = True) -> OpenChunks:
    chunks = OpenChunks()
    for number in numbers:
        chunks.push("p", chunk(number))
        if persisted:
            chunks.persist("p", chunk(number))
    return chunks


def test_a_chunk_is_known_by_its_message_its_number_and_its_checksum() -> None:
    chunks = with_chunks(0, 1)
    assert ("p", chunk(0)) in chunks
    assert ("p", chunk(1)) in chunks
    assert ("p", chunk(2)) not in chunks
    assert ("q", chunk(0)) not in chunks
    assert ("p", chunk(0, uuid="n")) not in chunks
    assert ("p", chunk(0, checksum=b"othe")) not in chunks


def test_a_message_that_begins_anew_makes_the_old_one_forgotten() -> None:
    chunks = with_chunks(0, 1)
    chunks.push("p", chunk(0, checksum=b"othe"))
    assert ("p", chunk(1)) not in chunks


def test_what_failed_may_come_again_and_what_was_stored_may_not() -> None:
    chunks = with_chunks(0)
    chunks.push("p", chunk(1))
    chunks.fail("p")
    assert ("p", chunk(0)) in chunks
    assert ("p", chunk(1)) not in chunks


def test_a_message_that_is_whole_is_the_sequence_ids_business() -> None:
    chunks = with_chunks(0, 1, 2)
    assert ("p", chunk(0)) not in chunks


def test_the_last_chunk_on_its_way_is_known() -> None:
    chunks = with_chunks(0, 1, 2, persisted=False)
    assert all(("p", chunk(number)) in chunks for number in range(3))


def test_of_a_message_without_end_only_so_many_chunks_are_remembered() -> None:
    chunks = OpenChunks()
    for number in range(CHUNKS_MAX + 1):
        chunks.push("p", chunk(number, total=1 << 30))
    assert ("p", chunk(CHUNKS_MAX - 1)) in chunks
    assert ("p", chunk(CHUNKS_MAX)) not in chunks
