"""A client's view of the layout of one topic (SCALABLE_TOPIC_LOOKUP): it gets each new layout until it closes the view.

A client that does not read gets the newest layout once it does: those in between are not kept.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, TopicNotFound
from broker_core.wire import scalable_commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.client import Outbound
    from broker_core.names import TopicName
    from broker_core.wire.pulsar_api_pb2 import ScalableTopicDAG


class LayoutSession:
    def __init__(
        self,
        outbound: Outbound,
        session_id: int,
        name: TopicName,
        asked: TopicName,
        layout: Callable[[], ScalableTopicDAG],
    ) -> None:
        """`name`: in the domain of scalable topics. `asked`: as the client gave it, which its permissions are about.

        `layout`: the current one with the addresses for this client.
        """
        self.name = name
        self.asked = asked
        self._outbound = outbound
        self._session_id = session_id
        self._layout = layout
        self._is_due = False

    def layout_changed(self) -> None:
        self._is_due = True
        self.on_writable()

    def on_writable(self) -> None:
        if self._is_due and self._outbound.writable:
            self._is_due = False
            with contextlib.suppress(TopicNotFound):  # the topic is being deleted, and `topic_deleted` follows
                update = scalable_commands.topic_update(self._session_id, self._layout(), str(self.name))
                self._outbound.send(update)

    def topic_deleted(self) -> None:
        """The client learns that the topic is gone; it may ask again, which may create the topic."""
        self.failed(TopicNotFound(f"Scalable topic not found: {self.name}"))

    def failed(self, error: BrokerError) -> None:
        self._is_due = False
        failed = scalable_commands.topic_update_failed(self._session_id, error.server_error, error.reason)
        self._outbound.send(failed)
