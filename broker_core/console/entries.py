"""The messages of an entry as the admin API shows it: its payload, described by `X-Pulsar-*` headers. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.console.admin_api import Refused, Reply
from broker_core.wire.batch import head_of_batch
from broker_core.wire.errors import EntryError

MESSAGES_MAX = 20  # messages of one batch on a page


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`note`: what the reader has to know of an entry that is not a plain message."""

    id: str
    published: str
    key: str
    producer: str
    properties: Mapping[str, str]
    schema_version: str
    data: bytes | None
    note: str = ""


def messages_of(reply: Reply) -> list[ShownMessage]:
    """Return the messages of an entry, at most `MESSAGES_MAX`. Raises `Refused` for what no broker sends."""
    header = _headers(reply)
    count = header("num-batch-message")
    try:
        properties = json.loads(header("property") or "{}")
        if not count or header("is-encrypted") == "true":
            return [_single(header, properties, reply.content)]
        batch = head_of_batch(reply.content, int(count), MESSAGES_MAX)
    except (ValueError, EntryError) as error:
        raise Refused(502, f"cannot read the entry {header('message-id')}: {error}") from None
    messages = [_of_batch(header, index, message.metadata, message.payload) for index, message in enumerate(batch)]
    rest = int(count) - len(messages)
    return messages if rest <= 0 else [*messages, _rest(header, rest)]


def _headers(reply: Reply) -> Any:
    """HTTP uses Latin-1, but brokers send UTF-8."""

    def header(name: str) -> str:
        text = reply.headers.get(f"x-pulsar-{name}", "")
        try:
            return text.encode("latin-1").decode("utf-8", "replace")
        except UnicodeEncodeError:  # the host has read it as UTF-8
            return text

    return header


def _version(header: Any) -> str:
    return str(header("base64-schema-version") or header("base64-schema-version-b64encoded"))


def _single(header: Any, properties: Any, payload: bytes) -> ShownMessage:
    notes = []
    if header("is-encrypted") == "true":
        notes.append("encrypted")
    if header("num-chunks-from-msg"):
        notes.append(f"chunk {int(header('chunk-id') or 0) + 1} of {header('num-chunks-from-msg')}")
    if header("deliver-at-time"):
        notes.append(f"delayed until {header('deliver-at-time')}")
    return ShownMessage(
        header("message-id"),
        header("publish-time"),
        header("partition-key"),
        header("producer-name"),
        {str(name): str(value) for name, value in properties.items()} if isinstance(properties, dict) else {},
        _version(header),
        None if header("null-value") == "true" else payload,
        ", ".join(notes),
    )


def _of_batch(header: Any, index: int, metadata: Any, payload: bytes) -> ShownMessage:
    return ShownMessage(
        f"{header('message-id')}:{index}",
        header("publish-time"),
        metadata.partition_key,
        header("producer-name"),
        dict(_pairs(metadata)),
        _version(header),
        None if metadata.null_value else payload,
        "compacted away" if metadata.compacted_out else "",
    )


def _pairs(metadata: Any) -> Iterator[tuple[str, str]]:
    for pair in metadata.properties:
        yield pair.key, pair.value


def _rest(header: Any, count: int) -> ShownMessage:
    return ShownMessage(header("message-id"), "", "", "", {}, "", None, f"{count:,} more messages in this batch")
