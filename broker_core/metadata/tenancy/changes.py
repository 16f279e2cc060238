"""The parts that every change of tenancy needs: no other change at the same time, and listeners that learn of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from broker_core.names import NamespaceName, TopicName

log = logging.getLogger(__name__)

PolicyListener = Callable[[NamespaceName, TopicName | None], Awaitable[None]]
PermissionListener = Callable[[], None]


class Changes:
    def __init__(self) -> None:
        # A wait for the disk separates a check from its change; no two changes may pass the same check.
        self.alone = asyncio.Lock()
        self._listeners: list[PolicyListener] = []
        self._permission_listeners: list[PermissionListener] = []

    def on_change(self, listener: PolicyListener) -> None:
        """Awaits `listener(namespace, topic)` after each change of policies; `topic` None means all topics."""
        self._listeners.append(listener)

    def on_permissions(self, listener: PermissionListener) -> None:
        """Calls `listener()` after each change of who may do what."""
        self._permission_listeners.append(listener)

    def tell_permissions(self) -> None:
        for listener in self._permission_listeners:
            listener()

    async def tell(self, namespace: NamespaceName, topic: TopicName | None) -> None:
        for listener in self._listeners:
            try:
                await listener(namespace, topic)
            except Exception:  # the change is stored: a topic that cannot apply it must not make it look refused
                log.exception("policies of %s: cannot apply them to every topic", topic or namespace)
