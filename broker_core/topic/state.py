"""The states of a topic, the changes between them as data, and what each state means to clients."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from broker_core.errors import BrokerError, PersistenceFailed, TopicFenced, TopicTerminated
from broker_core.storage.errors import StorageError, Terminated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_core.names import TopicName
    from broker_core.topic_log import TopicLog


class TopicState(enum.Enum):
    """OPEN takes messages. FENCED had a failed write. CLOSED is unloaded or deleted, for good."""

    OPEN = "open"
    FENCED = "fenced"
    CLOSED = "closed"


TRANSITIONS: dict[TopicState, frozenset[TopicState]] = {
    TopicState.OPEN: frozenset({TopicState.FENCED, TopicState.CLOSED}),
    TopicState.FENCED: frozenset({TopicState.OPEN, TopicState.CLOSED}),
    TopicState.CLOSED: frozenset({TopicState.CLOSED}),  # a deletion may follow an unload that failed
}


class Lifecycle:
    """The state of one topic. A failed write fences it; the next publish or producer tries to recover."""

    __slots__ = ("_log", "_name", "_state", "is_open", "served_at")

    def __init__(self, name: TopicName, log: TopicLog) -> None:
        self._name = name
        self._log = log
        self._state = TopicState.OPEN
        self.is_open = True  # plain, because each publish asks
        self.served_at = ""  # once closed: the broker that serves the topic next; "" if unknown

    @property
    def is_closed(self) -> bool:
        return self._state is TopicState.CLOSED

    def check_open(self) -> None:
        """Raises `TopicFenced` once the topic is unloaded or deleted."""
        if self._state is TopicState.CLOSED:
            raise self.unloading()

    async def store_properties(self, changed: Mapping[str, str]) -> None:
        """Adds properties to the log, unless the topic was unloaded in the meantime; durable on return."""
        self.check_open()
        await self._log.store_properties(changed)

    def make_open(self) -> None:
        """Recovers from a failed write, if there was one. Raises `TopicFenced` or `PersistenceFailed` if it cannot."""
        if self._state is TopicState.OPEN:
            return
        self.check_open()
        try:
            self._log.unfence()
        except StorageError as error:
            raise PersistenceFailed(f"{self._name}: {error}") from error
        self._become(TopicState.OPEN)

    def write_failed(self, error: StorageError | None) -> BrokerError:
        """Fences the topic, unless it is terminated; returns the error for its producers."""
        if isinstance(error, Terminated):
            return self.terminated()
        if self._state is TopicState.OPEN:
            self._become(TopicState.FENCED)
        return PersistenceFailed(f"{self._name}: {error}")

    def close(self, served_at: str) -> None:
        self._become(TopicState.CLOSED)
        self.served_at = served_at

    def terminated(self) -> TopicTerminated:
        return TopicTerminated(f"Topic {self._name} was already terminated")

    def unloading(self) -> TopicFenced:
        return TopicFenced(f"Topic {self._name} is being unloaded; try again")

    def _become(self, state: TopicState) -> None:
        if state not in TRANSITIONS[self._state]:
            raise TopicFenced(f"Topic {self._name} is {self._state.value} and cannot become {state.value}")
        self._state = state
        self.is_open = state is TopicState.OPEN
