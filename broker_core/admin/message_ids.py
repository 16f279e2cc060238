"""Message IDs of a topic: the last one, the first one after a time, and the backlog size after one."""

from __future__ import annotations

from broker_core.admin.call import Call
from broker_core.admin.non_persistent import persistent_only
from broker_core.admin.positions import read_position
from broker_core.admin.routes import Route
from broker_core.admin.shapes import POSITION
from broker_core.admin.targets import one_topic
from broker_core.errors import InvalidValue, TopicNotFound
from broker_core.metadata.policies.json_values import whole_number
from broker_core.names import TopicName
from broker_core.security.operations import on_topic
from broker_core.topic.peek import bytes_after
from broker_core.wire.message import messages_in_batch


async def last_message_id(call: Call) -> dict[str, int]:
    topic = await one_topic(call)
    _, entry = await topic.last_entry(compacted=False)
    batch = 0 if entry is None else messages_in_batch(entry)
    last = topic.ledger.last_confirmed
    return message_id(topic.name, last.ledger_id, last.entry_id, batch_size=batch)


async def message_id_by_time(call: Call) -> dict[str, int]:
    """The first message published at the time or later, or the next one to be written if there is none."""
    topic = await one_topic(
        call,
        "Get message ID by timestamp on a partitioned topic is not allowed, "
        "please try do it on specific topic partition",
    )
    position = await topic.ledger.find_by_time(call.number("timestamp"))
    return message_id(topic.name, position.ledger_id, position.entry_id)


async def message_id_by_index(call: Call) -> dict[str, int]:
    """The message with an index, or the oldest one if it was trimmed (PIP-415)."""
    topic = await one_topic(call, "GetMessageIDByIndex is not allowed on partitioned-topic")
    if not call.broker.config.entry_metadata.index:
        raise InvalidValue("GetMessageIDByIndex is not allowed when broker entry metadata is disabled")
    index, log = whole_number(call.query.get("index", ""), "index"), topic.ledger.on_disk
    run = await log.message_index.find(index) if log is not None else None
    if run is None:
        raise TopicNotFound(f"Message not found for index {index}")
    body = message_id(topic.name, *run.position, batch_size=run.messages if run.messages > 1 else 0)
    return {**body, "batchIndex": max(0, index - run.first)} if run.messages > 1 else body


def message_id(topic: TopicName, ledger_id: int, entry_id: int, *, batch_size: int = 0) -> dict[str, int]:
    """Pulsar's MessageId as JSON; `batchIndex` is that of the last message of a batch."""
    return {
        "ledgerId": ledger_id,
        "entryId": entry_id,
        "partitionIndex": topic.partition,
        "batchSize": batch_size,
        "batchIndex": batch_size - 1,
    }


async def backlog_size(call: Call) -> int:
    """The bytes after a message ID; all bytes for -1:-1."""
    topic = await one_topic(call, "Backlog size on a partitioned topic is not allowed, ask for a partition")
    return await bytes_after(topic.ledger, read_position(call.json_object()))


_TOPIC = "/admin/v2/{domain}/{tenant}/{namespace}/{topic}"

ROUTES = (
    Route(
        "GET",
        f"{_TOPIC}/lastMessageId",
        persistent_only(last_message_id, "GetLastMessageId"),
        on_topic("PEEK_MESSAGES"),
    ),
    Route(
        "GET",
        f"{_TOPIC}/messageid/{{timestamp}}",
        persistent_only(message_id_by_time, "Get message ID by timestamp"),
        on_topic("PEEK_MESSAGES"),
    ),
    Route(
        "GET",
        f"{_TOPIC}/getMessageIdByIndex",
        persistent_only(message_id_by_index, "GetMessageIDByIndex"),
        on_topic("PEEK_MESSAGES"),
        query=("index",),
    ),
    Route(
        "PUT",
        f"{_TOPIC}/backlogSize",
        persistent_only(backlog_size, "Backlog size"),
        on_topic("GET_BACKLOG_SIZE"),
        body=POSITION,
    ),
)
