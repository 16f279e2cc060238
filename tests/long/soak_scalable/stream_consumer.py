"""One stream consumer as a process; its arguments are URL, TOPIC, SUBSCRIPTION, NAME, and FILE.

It registers, reads the segments that it gets, and writes a line for each message before it acknowledges it: the time,
the segment, when it got that segment, the key, and the number of the message. Times are those of a clock that all
processes share. SIGTERM makes it leave in order.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Any, TextIO

from broker_core.wire import client_commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.frame import Command, MessageFrame
from broker_core.wire.message import parse_entry
from broker_core.wire.pulsar_api_pb2 import BaseCommand
from tests.broker.scalable.commands import send
from tests.support.raw_client import RawClient
from tests.support.raw_consuming import close_consumer

PERMITS = 500
ACK_EVERY = 50
IDLE_SECONDS = 0.05
RETRY_SECONDS = 0.05


class Owned:
    """A segment that this consumer reads; `since` is None until it is subscribed."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.since: int | None = None
        self.retry_at = 0.0
        self.unacked: list[pb.MessageIdData] = []
        self.permits = PERMITS


class StreamConsumer:
    def __init__(self, url: str, topic: str, subscription: str, name: str, output: TextIO) -> None:
        self._client = RawClient(url)
        self._subscription = subscription
        self._name = name
        self._output = output
        self._owned: dict[int, Owned] = {}  # by consumer ID, which is that of the segment plus 10
        self.stopping = False
        fields = {"topic": topic, "subscription": subscription, "consumer_name": name, "consumer_id": 1}
        send(self._client, BaseCommand.SCALABLE_TOPIC_SUBSCRIBE, request_id=1, consumer_type=pb.STREAM, **fields)

    def run(self) -> None:
        while not self.stopping:
            try:
                item = self._client.next(IDLE_SECONDS)
            except TimeoutError:
                self._acknowledge_all()
            else:
                self._take(item)
            self._subscribe_again()
        self._leave()

    def _take(self, item: Any) -> None:
        if isinstance(item, MessageFrame):
            self._message(item)
            return
        assert isinstance(item, Command)
        body = item.message
        if item.type == BaseCommand.SCALABLE_TOPIC_SUBSCRIBE_RESPONSE:
            assert not body.HasField("error"), body
            self._assigned(body.assignment)
        elif item.type == BaseCommand.SCALABLE_TOPIC_ASSIGNMENT_UPDATE:
            self._assigned(body.assignment)
        elif item.type == BaseCommand.SUCCESS and body.request_id in self._owned:
            self._owned[body.request_id].since = time.monotonic_ns()
            self._client.send(client_commands.flow(body.request_id, PERMITS))
        elif item.type == BaseCommand.ERROR and body.request_id in self._owned:
            self._owned[body.request_id].retry_at = time.monotonic() + RETRY_SECONDS
        elif item.type == BaseCommand.CLOSE_CONSUMER and body.consumer_id in self._owned:
            owned = self._owned[body.consumer_id] = Owned(self._owned[body.consumer_id].topic)
            owned.retry_at = time.monotonic() + RETRY_SECONDS

    def _assigned(self, assignment: pb.ScalableConsumerAssignment) -> None:
        wanted = {segment.segment_id + 10: segment.segment_topic for segment in assignment.segments}
        for consumer_id in [known for known in self._owned if known not in wanted]:
            self._acknowledge(consumer_id)
            del self._owned[consumer_id]
            self._client.send(close_consumer(consumer_id, 0))
        for consumer_id, topic in wanted.items():
            if consumer_id not in self._owned:
                self._owned[consumer_id] = Owned(topic)
                self._subscribe(consumer_id)

    def _subscribe(self, consumer_id: int) -> None:
        self._client.send(
            client_commands.subscribe(
                consumer_id,
                self._owned[consumer_id].topic,
                self._subscription,
                consumer_id,
                consumer_name=f"{self._name}-seg-{consumer_id - 10}",
                sub_type=pb.CommandSubscribe.Exclusive,
                initial_position=pb.CommandSubscribe.Earliest,
            )
        )

    def _subscribe_again(self) -> None:
        for consumer_id, owned in list(self._owned.items()):
            if owned.since is None and 0 < owned.retry_at < time.monotonic():
                owned.retry_at = 0.0
                self._subscribe(consumer_id)

    def _message(self, frame: MessageFrame) -> None:
        owned = self._owned.get(frame.message.consumer_id)
        if owned is None or owned.since is None:
            return  # of a segment that was given up
        metadata, payload, *_ = parse_entry(frame.entry)
        line = (time.monotonic_ns(), owned.topic.rpartition("/")[2], owned.since, metadata.partition_key, int(payload))
        self._output.write(" ".join(map(str, line)) + "\n")
        owned.unacked.append(frame.message.message_id)
        if len(owned.unacked) >= ACK_EVERY:
            self._acknowledge(frame.message.consumer_id)

    def _acknowledge_all(self) -> None:
        for consumer_id in list(self._owned):
            self._acknowledge(consumer_id)

    def _acknowledge(self, consumer_id: int) -> None:
        """What is acknowledged has been written: a kill loses nothing of it."""
        owned = self._owned[consumer_id]
        if owned.unacked:
            self._output.flush()
            last, count = owned.unacked[-1], len(owned.unacked)
            owned.unacked = []
            self._client.send(client_commands.acknowledge(consumer_id, [last], cumulative=True))
            self._client.send(client_commands.flow(consumer_id, count))

    def _leave(self) -> None:
        self._acknowledge_all()
        for consumer_id in self._owned:
            self._client.send(close_consumer(consumer_id, 0))
        send(self._client, BaseCommand.SCALABLE_TOPIC_UNSUBSCRIBE, request_id=2, consumer_id=1)
        self._client.close()


def main() -> None:
    url, topic, subscription, name, file = sys.argv[1:]
    with Path(file).open("a", encoding="utf-8") as output:
        consumer = StreamConsumer(url, topic, subscription, name, output)

        def stop(*_: object) -> None:
            consumer.stopping = True

        signal.signal(signal.SIGTERM, stop)
        consumer.run()


if __name__ == "__main__":
    main()
