"""The answer to a client whose topic is in another cluster: TOPIC_MIGRATED and CLOSE_*, as in Pulsar (PIP-188)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_core.wire import commands

if TYPE_CHECKING:
    from broker_core.errors import TopicMoved
    from broker_core.server.session import Session


def redirect_producer(session: Session, moved: TopicMoved, producer_id: int) -> bytes:
    """Raises `moved` for a client that does not know the command, so that it gets the reason as an error."""
    return _moved(session, moved, producer_id, is_consumer=False) + commands.close_producer(producer_id)


def redirect_consumer(session: Session, moved: TopicMoved, consumer_id: int) -> bytes:
    """Do the same as `redirect_producer`, for a consumer."""
    return _moved(session, moved, consumer_id, is_consumer=True) + commands.close_consumer(consumer_id)


def _moved(session: Session, moved: TopicMoved, resource_id: int, *, is_consumer: bool) -> bytes:
    urls = moved.service_url, moved.service_url_tls
    if not session.follows_to(*urls):
        raise moved
    return commands.topic_migrated(resource_id, *urls, is_consumer=is_consumer)
