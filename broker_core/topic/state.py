"""The states of a topic and the changes between them, as data."""

from __future__ import annotations

import enum


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
