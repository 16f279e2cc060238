"""Publishes numbered messages of many keys to the active segments of a topic, in order, whatever the layout does."""

from __future__ import annotations

import random
import threading
import time
import zlib
from typing import Any

from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import send as send_command
from tests.support.raw_client import Closed, RawClient
from tests.support.raw_publishing import producer, send

BATCH = 200  # messages whose receipts are awaited together
ANSWER_SECONDS = 10.0

Message = tuple[str, int]  # key and number


class Publisher(threading.Thread):
    """`slowest` is the longest time from a message to its receipt, in seconds."""

    def __init__(self, url: str, topic: str, keys: list[str], limit: int, seed: int) -> None:
        super().__init__(name=f"publisher-{seed}", daemon=True)
        self.published = dict.fromkeys(keys, 0)
        self.slowest = 0.0
        self.failure: BaseException | None = None
        self._url = url
        self._topic = topic
        self._limit = limit
        self._chance = random.Random(seed)
        self._layout: pb.ScalableTopicDAG | None = None
        self._client: RawClient | None = None
        self._opening = -1  # the segment whose producer is being opened

    def run(self) -> None:
        try:
            keys, sent = list(self.published), 0
            while sent < self._limit:
                batch = []
                for key in self._chance.choices(keys, k=min(BATCH, self._limit - sent)):
                    batch.append((key, self.published[key]))
                    self.published[key] += 1
                self._publish(batch)
                sent += len(batch)
        except BaseException as error:
            self.failure = error
        finally:
            self._close()

    def _publish(self, batch: list[Message]) -> None:
        """Until each message has its receipt; a connection that is lost is opened again."""
        began = time.monotonic()
        while batch:
            try:
                batch = self._attempt(batch)
            except (Closed, OSError):
                self._close()
                time.sleep(0.05)
        self.slowest = max(self.slowest, time.monotonic() - began)

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _attempt(self, batch: list[Message]) -> list[Message]:
        """Returns what has no receipt, in order."""
        self._open()
        waiting: dict[int, list[Message]] = {}
        for message in batch:
            waiting.setdefault(self._segment_of(message[0]), []).append(message)
        for segment in waiting:
            self._send(segment, waiting)
        while any(waiting.get(segment) for segment in self._producers):
            self._take(waiting)
        left = {message for messages in waiting.values() for message in messages}
        return [message for message in batch if message in left]

    def _open(self) -> None:
        if self._client is None:
            self._client = RawClient(self._url)
            self._producers: set[int] = set()
            self._numbers: dict[int, int] = {}
            self._layout = None
            send_command(self._client, BaseCommand.SCALABLE_TOPIC_LOOKUP, session_id=1, topic=self._topic)
        while self._layout is None:
            self._take({})

    def _segment_of(self, key: str) -> int:
        assert self._layout is not None
        hashed = zlib.crc32(key.encode()) & 0xFFFF
        active = (one for one in self._layout.segments if one.state == pb.ACTIVE)
        return next(one.segment_id for one in active if one.hash_start <= hashed <= one.hash_end)

    def _send(self, segment: int, waiting: dict[int, list[Message]]) -> None:
        if segment not in self._producers:
            if self._layout is None:
                return  # another segment has ended: the next attempt knows more
            named = next(one for one in self._layout.segments if one.segment_id == segment)
            topic = self._topic.replace("topic:", "segment:")
            topic += f"/{named.hash_start:04x}-{named.hash_end:04x}-{segment}"
            self._connected.send(frame(producer(topic, segment + 1, segment + 1)))
            self._opening, self._numbers[segment] = segment, 0
            while self._opening == segment:
                self._take(waiting)
            if segment not in self._producers:
                return
        for key, number in waiting[segment]:
            self._numbers[segment] += 1
            sequence_id = self._numbers[segment]
            metadata = {"partition_key": key}
            self._connected.send(send(sequence_id, str(number).encode(), producer_id=segment + 1, metadata=metadata))

    @property
    def _connected(self) -> RawClient:
        assert self._client is not None
        return self._client

    def _take(self, waiting: dict[int, list[Message]]) -> None:
        item: Any = self._connected.next(ANSWER_SECONDS)
        body = item.message
        if item.type == BaseCommand.SEND_RECEIPT:
            waiting[body.producer_id - 1].pop(0)
        elif item.type == BaseCommand.PRODUCER_SUCCESS:
            self._opening = -1
            self._producers.add(body.request_id - 1)
        elif item.type == BaseCommand.SCALABLE_TOPIC_UPDATE:
            assert not body.HasField("error"), body
            self._layout = body.dag
        elif item.type in (BaseCommand.CLOSE_PRODUCER, BaseCommand.ERROR, BaseCommand.SEND_ERROR):
            self._segment_ended(body)

    def _segment_ended(self, body: pb.CommandCloseProducer | pb.CommandError | pb.CommandSendError) -> None:
        """The segment is sealed, or its topic is being opened again: the layout says where its keys go."""
        segment = (body.request_id if isinstance(body, pb.CommandError) else body.producer_id) - 1
        self._producers.discard(segment)
        self._opening = -1
        if self._layout is not None and any(one.segment_id == segment for one in self._layout.segments):
            state = next(one.state for one in self._layout.segments if one.segment_id == segment)
            self._layout = None if state == pb.ACTIVE else self._layout
