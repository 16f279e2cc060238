"""Chunks of large messages -> whole messages. A message belongs to the range that holds its last chunk.

Chunks of several producers may be mixed, and a message may begin in an earlier range or ledger. So when a last chunk
arrives and earlier ones are not in memory, they are read again from what precedes the range. A message whose first
chunk is before the start that the user gave, or was trimmed, is skipped, as official clients do; `skip` is told.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

from broker_core.wire.batch import is_chunk, is_encrypted
from broker_core.wire.compression import decompress
from broker_core.wire.message import Entry
from broker_core.wire.pulsar_api_pb2 import MessageMetadata
from pulsarctl.tables.entry_run import EntryRun
from pulsarctl.tables.ledger_ranges import EntrySpan, LedgerRange

PENDING_BYTES_MAX = 256 << 20  # of chunks that wait for their last one; older ones are read again when it arrives
WINDOW_ENTRIES = 200  # read at once when looking back; then four times as many

ReadSpan = Callable[[EntrySpan], Iterator[EntryRun]]
Skip = Callable[[], None]
Name = tuple[str, str]


def unnoticed() -> None:
    """Counts nothing: for readers that do not report incomplete messages."""


class ChunkJoiner:
    """`read` reads a span of entries of the range's topic. `skip` is called for each message that is not complete."""

    def __init__(self, part: LedgerRange, read: ReadSpan, skip: Skip = unnoticed) -> None:
        self._spans = (part.span._replace(first=part.floor), *part.earlier)
        self._read = read
        self._skip = skip
        self._pieces: OrderedDict[Name, dict[int, tuple[bytes, int]]] = OrderedDict()
        self._held = 0

    def add(self, entry_id: int, entry: Entry, size: int, *, needed: bool) -> tuple[Entry, int] | None:
        """The whole message and its stored bytes, if this is its last chunk and `needed`."""
        metadata = entry.metadata
        name = (metadata.producer_name, metadata.uuid)
        if metadata.chunk_id < metadata.num_chunks_from_msg - 1:
            self._hold(name, metadata.chunk_id, entry.payload, size)
            return None
        pieces = self._pieces.pop(name, {})
        self._held -= sum(len(payload) for payload, _ in pieces.values())
        if not needed:
            return None
        pieces[metadata.chunk_id] = (entry.payload, size)
        if not _is_complete(pieces, metadata) and not self._look_back(name, pieces, entry_id, metadata):
            self._skip()
            return None
        return _joined(entry, [pieces[index] for index in range(metadata.num_chunks_from_msg)])

    def _hold(self, name: Name, chunk_id: int, payload: bytes, size: int) -> None:
        if chunk_id == 0 and name in self._pieces:  # the producer sent the message again
            self._held -= sum(len(held) for held, _ in self._pieces.pop(name).values())
        self._pieces.setdefault(name, {})[chunk_id] = (payload, size)
        self._held += len(payload)
        while self._held > PENDING_BYTES_MAX and len(self._pieces) > 1:
            _, dropped = self._pieces.popitem(last=False)
            self._held -= sum(len(held) for held, _ in dropped.values())

    def _look_back(
        self, name: Name, pieces: dict[int, tuple[bytes, int]], entry_id: int, metadata: MessageMetadata
    ) -> bool:
        """Completes `pieces` from entries before `entry_id`, nearest first. False if the message is not complete."""
        window = WINDOW_ENTRIES
        for span in self._spans:
            last = min(span.last, entry_id - 1) if span == self._spans[0] else span.last
            while last >= span.first:
                first = max(last - window + 1, span.first)
                nearest = {}  # a producer that restarts may reuse a UUID, so the last chunk with an index counts
                for run in self._read(span._replace(first=first, last=last)):
                    for entry, size in zip(run.entries, run.sizes.tolist(), strict=True):
                        own = entry.metadata
                        if own.uuid != name[1] or own.producer_name != name[0] or not is_chunk(own):
                            continue
                        if own.num_chunks_from_msg == metadata.num_chunks_from_msg:
                            nearest[own.chunk_id] = (entry.payload, size)
                pieces.update({index: piece for index, piece in nearest.items() if index not in pieces})
                if _is_complete(pieces, metadata):
                    return True
                last, window = first - 1, 4 * window
        return False


def _is_complete(pieces: Mapping[int, tuple[bytes, int]], metadata: MessageMetadata) -> bool:
    """A producer may send any numbers, also negative ones."""
    count = metadata.num_chunks_from_msg
    return len(pieces) >= count and all(index in pieces for index in range(count))


def _joined(last: Entry, pieces: list[tuple[bytes, int]]) -> tuple[Entry, int]:
    """With the plain payload, since it is compressed as a whole; the metadata still says how many chunks there were.

    Raises `EntryError`.
    """
    payload = b"".join([payload for payload, _ in pieces])
    if not is_encrypted(last.metadata):
        payload = decompress(last.metadata.compression, payload, last.metadata.uncompressed_size)
    return last._replace(payload=payload), sum(size for _, size in pieces)
