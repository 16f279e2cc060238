"""A session of SCALABLE_TOPIC_LOOKUP: the broker sends the layout of a topic, and each later one."""

import time
from collections.abc import Callable

from broker_core.wire import scalable_requests
from broker_core.wire.pulsar_api_pb2 import CommandScalableTopicUpdate
from pulsarctl.errors import TimedOut
from pulsarctl.raw.broker_connection import Arrived, refusal
from pulsarctl.raw.scalable.layout import Layout
from pulsarctl.raw.topic_lookup import TopicLookup

SESSION_ID = 1


class LayoutSession:
    """The only session on the connections of `lookup`. `create`: the broker may create a missing topic.

    Updates arrive on `connection`, whose owner passes them to `take`.
    """

    def __init__(self, lookup: TopicLookup, topic: str, *, create: bool) -> None:
        """Raises what connecting raises, `NotFound`, or the broker's refusal."""
        self.topic = topic
        lookup.check_scalable_topics()
        self.connection = lookup.connect(topic)
        self.layout = Layout(-1, {})
        self.connection.send(scalable_requests.lookup(SESSION_ID, topic, create=create))
        self.wait(lambda layout: layout.epoch >= 0)

    def take(self, item: Arrived) -> bool:
        """Whether the layout is another one now. Raises the broker's error, such as `NotFound` after a deletion."""
        if not isinstance(item, CommandScalableTopicUpdate) or item.session_id != SESSION_ID:
            return False
        if item.HasField("error"):
            raise refusal(item.error, item.message, f"{self.topic} at {self.connection.url}")
        known, self.layout = self.layout, Layout.of(self.topic, item.dag)
        return self.layout != known

    def wait(self, is_wanted: Callable[[Layout], bool], seconds: float | None = None) -> None:
        """Until a layout is wanted. Other commands that arrive stay there. Raises `TimedOut`.

        `seconds` defaults to the timeout of the connection.
        """
        deadline = time.monotonic() + (self.connection.timeout_seconds if seconds is None else seconds)
        self._take_all()
        while not is_wanted(self.layout):
            if not self.connection.receive(deadline):
                raise TimedOut(f"{self.connection.url} did not send the layout of {self.topic} in time")
            self._take_all()

    def close(self) -> None:
        self.connection.send(scalable_requests.close_session(SESSION_ID))

    def _take_all(self) -> None:
        arrived = self.connection.arrived
        for item in [item for item in arrived if isinstance(item, CommandScalableTopicUpdate)]:
            arrived.remove(item)
            self.take(item)
