"""Chunks that are sent again before their message is complete."""

from broker_core.publishing.open_chunks import CHUNKS_MAX, OpenChunks
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.wire.send import Chunk


def chunk(number: int, total: int = 3, uuid: str = "m", checksum: bytes = b"") -> Chunk:
    return Chunk(uuid, number, total, checksum or b"crc%d" % number)


def with_chunks(*numbers: int, persisted: bool = True) -> OpenChunks:
    chunks = OpenChunks()
    for number in numbers:
        chunks.push("p", chunk(number))
        if persisted:
            chunks.persist("p", chunk(number), Position(7, number + 10))
    return chunks


def test_a_chunk_is_identified_by_message_number_and_checksum() -> None:
    chunks = with_chunks(0, 1)
    assert ("p", chunk(0)) in chunks
    assert ("p", chunk(1)) in chunks
    assert ("p", chunk(2)) not in chunks
    assert ("q", chunk(0)) not in chunks
    assert ("p", chunk(0, uuid="n")) not in chunks
    assert ("p", chunk(0, checksum=b"othe")) not in chunks


def test_a_restarted_message_replaces_the_old_one() -> None:
    chunks = with_chunks(0, 1)
    chunks.push("p", chunk(0, checksum=b"othe"))
    assert ("p", chunk(1)) not in chunks


def test_failed_chunks_may_be_sent_again_and_stored_ones_may_not() -> None:
    chunks = with_chunks(0)
    chunks.push("p", chunk(1))
    chunks.fail("p")
    assert ("p", chunk(0)) in chunks
    assert ("p", chunk(1)) not in chunks


def test_a_complete_message_is_recognized_by_its_sequence_id() -> None:
    chunks = with_chunks(0, 1, 2)
    assert ("p", chunk(0)) not in chunks


def test_a_pending_last_chunk_is_recognized() -> None:
    chunks = with_chunks(0, 1, 2, persisted=False)
    assert all(("p", chunk(number)) in chunks for number in range(3))


def test_the_number_of_remembered_chunks_is_bounded() -> None:
    chunks = OpenChunks()
    for number in range(CHUNKS_MAX + 1):
        chunks.push("p", chunk(number, total=1 << 30))
    assert ("p", chunk(CHUNKS_MAX - 1)) in chunks
    assert ("p", chunk(CHUNKS_MAX)) not in chunks


def test_a_start_reads_from_the_first_chunk_on_disk_of_an_open_message() -> None:
    assert with_chunks(0, 1).first_stored_after(EARLIEST) == Position(7, 10)
    assert with_chunks(0, 1, 2).first_stored_after(EARLIEST) is None
    assert with_chunks(0, persisted=False).first_stored_after(EARLIEST) is None


def test_an_open_message_that_a_snapshot_has_passed_does_not_hide_a_later_one() -> None:
    chunks = with_chunks(0)
    chunks.push("q", chunk(0))
    chunks.persist("q", chunk(0), Position(7, 20))
    assert chunks.first_stored_after(Position(7, 9)) == Position(7, 10)
    assert chunks.first_stored_after(Position(7, 10)) == Position(7, 20)
    assert chunks.first_stored_after(Position(7, 20)) is None


def test_a_message_that_a_later_one_overtook_is_no_longer_open() -> None:
    chunks = with_chunks(0)
    chunks.overtake("p")
    assert chunks.first_stored_after(EARLIEST) is None
    chunks.push("p", chunk(0))
    chunks.overtake("p")  # that chunk was pushed after the message that is on disk now
    assert ("p", chunk(0)) in chunks
