"""The expected content of a data directory: the unacknowledged entries of each subscription, and compacted reads."""

import zlib
from dataclasses import dataclass, field

from broker_core.broker import Broker
from broker_core.names import parse_topic
from broker_core.storage.errors import Damaged, Lost
from broker_core.storage.records.position import EARLIEST, Position
from broker_core.topic.topic import Topic
from broker_core.topic_log import TopicLog

READ_ENTRIES, READ_BYTES = 200, 64 << 10

Entries = dict[Position, int]  # crc of the entry
Reader = tuple[str, str]  # topic, subscription


@dataclass
class Content:
    """`unread`: why a reader could not continue, if the reason is not reported damage."""

    entries: dict[Reader, Entries] = field(default_factory=dict)
    policies: str = ""
    unread: list[str] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)


async def read_content(broker: Broker, topics: list[str], policies_of: str) -> Content:
    """Reads every topic with each of its subscriptions, like their consumers, and with a compacted reader."""
    found = Content()
    for name in topics:
        topic = await broker.topics.get(parse_topic(name))
        for subscription in topic.subscriptions:
            found.entries[name, subscription] = await _unacknowledged(topic, subscription, found)
        if topic.compaction.cursor is not None:
            found.entries[name, "compacted"] = await _read(topic.compaction.view(), EARLIEST, topic.ledger, found)
    tenant, namespace = policies_of.split("/")
    document = broker.storage.metadata.get("namespace", f"{tenant}/{namespace}")
    found.policies = repr(document)
    return found


async def _unacknowledged(topic: Topic, name: str, found: Content) -> Entries:
    cursor = topic.subscriptions[name].cursor
    cursor.rewind()
    entries = await _read(topic.ledger, cursor.read_position, topic.ledger, found)
    return {position: crc for position, crc in entries.items() if not cursor.is_acknowledged(position)}


async def _read(source: object, start: Position, log: TopicLog, found: Content) -> Entries:
    """Reads everything from `start`; records and skips lost entries."""
    entries: Entries = {}
    while True:
        try:
            block = await source.read(start, READ_ENTRIES, READ_BYTES)  # type: ignore[attr-defined]  # a Source
        except Damaged as damage:
            if damage.lost is None:
                found.unread.append(f"{log.name} from {start} on: {damage}")
                return entries
            found.lost.append(damage.lost)
            start = Position(damage.lost.ledger_id, damage.lost.last + 1)
            continue
        if not len(block):
            return entries
        for index in range(len(block)):
            position = Position(block.ledger_id, block.first_entry_id + index)
            entries[position] = zlib.crc32(block.entry(index))
        start = Position(block.ledger_id, block.first_entry_id + len(block))
