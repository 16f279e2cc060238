"""Messages of raw entries as `Record`s, and the reassembly of chunked messages."""

from collections.abc import Iterator, Mapping

from pulsarctl.raw.entry import Entry, StoredMessage

CHUNKED_MESSAGES_MAX = 10  # pending at a time, as in the official clients


class EntryRecord:
    """One message of an entry."""

    __slots__ = ("_message", "encryption_keys")

    error = None

    def __init__(self, message: StoredMessage, encryption_keys: tuple[str, ...]) -> None:
        self._message = message
        self.encryption_keys = encryption_keys

    @property
    def topic(self) -> str:
        return self._message.topic

    @property
    def partition(self) -> int:
        return self._message.id.partition

    @property
    def ledger_id(self) -> int:
        return self._message.id.ledger_id

    @property
    def entry_id(self) -> int:
        return self._message.id.entry_id

    @property
    def batch_index(self) -> int:
        return self._message.id.batch_index

    @property
    def key(self) -> bytes | None:
        return self._message.key_bytes

    @property
    def pair_key(self) -> bytes | None:
        return self.key

    @property
    def ordering_key(self) -> bytes | None:
        return self._message.ordering_key

    @property
    def value(self) -> bytes | None:
        return self._message.value

    @property
    def properties(self) -> Mapping[str, str]:
        return self._message.properties

    @property
    def publish_time_ms(self) -> int:
        return self._message.publish_time_ms

    @property
    def event_time_ms(self) -> int:
        return self._message.event_time_ms or 0

    @property
    def producer_name(self) -> str:
        return self._message.producer

    @property
    def redelivery_count(self) -> int:
        return self._message.redelivery_count

    @property
    def schema_version(self) -> bytes:
        return self._message.schema_version or b""

    @property
    def index(self) -> int | None:
        return self._message.broker_index

    @property
    def sequence_id(self) -> int | None:
        return self._message.sequence_id

    @property
    def deliver_at_ms(self) -> int | None:
        return self._message.deliver_at_ms

    @property
    def replicated_from(self) -> str | None:
        return self._message.replicated_from

    @property
    def compression(self) -> str:
        return self._message.compression.lower()


def records_of(stored: Entry) -> Iterator[EntryRecord]:
    """Raises `DamagedEntry`."""
    keys = stored.encryption_keys
    for message in stored.messages():
        yield EntryRecord(message, keys)


class Chunks:
    """Collects the chunks of messages. Drops the oldest message if too many are pending."""

    def __init__(self, most: int = CHUNKED_MESSAGES_MAX) -> None:
        self._most = most or CHUNKED_MESSAGES_MAX
        self._pieces: dict[tuple[str, str], list[bytes]] = {}

    def whole(self, stored: Entry) -> Entry | None:
        """The entry itself, or the last chunk of a message with the whole payload, or None for other chunks.

        Skips a message whose first chunk is before the start.
        """
        metadata = stored.metadata
        if not stored.is_chunk:
            return stored
        name = (stored.topic, metadata.uuid)
        if metadata.chunk_id == 0:
            self._pieces[name] = []
            while len(self._pieces) > self._most:
                del self._pieces[next(iter(self._pieces))]
        pieces = self._pieces.get(name)
        if pieces is None or len(pieces) != metadata.chunk_id:
            return None
        pieces.append(stored.payload)
        if len(pieces) < metadata.num_chunks_from_msg:
            return None
        stored.payload = b"".join(self._pieces.pop(name))
        metadata.ClearField("num_chunks_from_msg")
        return stored
