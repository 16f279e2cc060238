"""A client's view of the layout of one topic (SCALABLE_TOPIC_LOOKUP): it gets each new layout until it closes the view.

A client that does not read gets the newest layout once it does: those in between are not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.errors import TopicNotFound
from broker_core.wire import scalable_commands

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_core.client import Outbound
    from broker_core.names import TopicName
    from broker_core.wire.pulsar_api_pb2 import ScalableTopicDAG


class LayoutSession:
    def __init__(
        self, outbound: Outbound, session_id: int, name: TopicName, layout: Callable[[], ScalableTopicDAG]
    ) -> None:
        """`name`: in the domain of scalable topics. `layout`: the current one with the addresses for this client."""
        self.name = name
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
            update = scalable_commands.topic_update(self._session_id, self._layout(), str(self.name))
            self._outbound.send(update)

    def topic_deleted(self) -> None:
        """The client learns that the topic is gone; it may ask again, which may create the topic."""
        self._is_due = False
        reason = f"Scalable topic not found: {self.name}"
        self._outbound.send(scalable_commands.topic_update_failed(self._session_id, TopicNotFound.server_error, reason))
