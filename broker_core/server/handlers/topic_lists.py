"""GET_TOPICS_OF_NAMESPACE, WATCH_TOPIC_LIST and WATCH_TOPIC_LIST_CLOSE: which topics there are.

An answer may hold every name of a namespace, so a connection makes one at a time and only once its client has
taken what was sent before: any number of questions costs the memory of one answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from broker_core.errors import NotAllowed, TopicFenced
from broker_core.metadata.tenancy.system_topics import users_topics
from broker_core.names import NON_PERSISTENT, PERSISTENT, NamespaceName
from broker_core.rates.time_slices import sliced
from broker_core.server.session import Session
from broker_core.topics.pattern import InvalidPattern, TopicPattern
from broker_core.topics.watcher import TopicListWatcher
from broker_core.wire import commands
from broker_core.wire import pulsar_api_pb2 as pb
from broker_core.wire.topics_hash import topics_hash

if TYPE_CHECKING:
    from broker_core.broker import Broker

MODES = {
    pb.CommandGetTopicsOfNamespace.PERSISTENT: (PERSISTENT,),
    pb.CommandGetTopicsOfNamespace.NON_PERSISTENT: (NON_PERSISTENT,),
    pb.CommandGetTopicsOfNamespace.ALL: (PERSISTENT, NON_PERSISTENT),
}
WATCHERS_PER_CONNECTION = 1000


async def on_get_topics_of_namespace(session: Session, command: pb.CommandGetTopicsOfNamespace) -> None:
    """Sends the answer itself, so that the next question is only looked at when this answer is on its way."""
    namespace = NamespaceName.parse(command.namespace)
    async with session.large_answer():
        session.outbound.send(await _topics(session.broker, namespace, command))


async def _topics(broker: Broker, namespace: NamespaceName, command: pb.CommandGetTopicsOfNamespace) -> bytes:
    """The topics that exist now, listed in slices so that other clients are served in between."""
    topics: list[str] = []
    wanted = {pair.key: pair.value for pair in command.properties}
    for domain in MODES[command.mode]:
        topics += await broker.topics.listed(namespace, domain, properties=wanted)
    pattern = _pattern(broker, command.topics_pattern) if command.topics_pattern else None
    if pattern is not None:
        topics = [topic async for topic in sliced(topics) if pattern.matches(topic)]
    await asyncio.sleep(0)
    hashed = topics_hash(topics)
    changed = not command.topics_hash or command.topics_hash != hashed
    answer = commands.topics_of_namespace(
        command.request_id,
        topics if changed else [],
        topics_hash=hashed,
        changed=changed,
        filtered=pattern is not None,
    )
    return _checked(broker, answer)


def _checked(broker: Broker, answer: bytes) -> bytes:
    if len(answer) > broker.config.connection.max_message_size:
        raise NotAllowed("The names of all the topics do not fit into one answer; choose fewer by a pattern")
    return answer


def _listed(broker: Broker, namespace: NamespaceName) -> list[str]:
    return users_topics(namespace, broker.topics.of_namespace(namespace))


def _pattern(broker: Broker, text: str) -> TopicPattern | None:
    """The pattern, or None when the client has to filter itself: switched off, too long, or not in RE2's language."""
    limits = broker.config.topic_lists
    if not limits.evaluate_patterns or len(text) > limits.max_pattern_length:
        return None
    try:
        return TopicPattern(text)
    except InvalidPattern:
        return None


async def on_watch_topic_list(session: Session, command: pb.CommandWatchTopicList) -> None:
    """Answers with what matches now; WATCH_TOPIC_UPDATEs follow until the client closes the watcher."""
    limits = session.broker.config.topic_lists
    if not limits.watchers:
        raise NotAllowed("Topic list watchers are disabled (enableBrokerTopicListWatcher)")
    if len(command.topics_pattern) > limits.max_pattern_length:
        raise NotAllowed(f"The pattern is longer than subscriptionPatternMaxLength = {limits.max_pattern_length}")
    if command.watcher_id in session.watchers:
        raise TopicFenced(f"Topic list watcher {command.watcher_id} exists already; try again")
    if len(session.watchers) >= WATCHERS_PER_CONNECTION:
        raise NotAllowed(f"A connection may have {WATCHERS_PER_CONNECTION} topic list watchers")
    watcher = _watcher(session, command)
    session.watch(command.watcher_id, watcher)
    try:
        async with session.large_answer():
            await _start(session, watcher, command)
    except BaseException:
        session.unwatch(command.watcher_id)
        raise


def _watcher(session: Session, command: pb.CommandWatchTopicList) -> TopicListWatcher:
    namespace, broker = NamespaceName.parse(command.namespace), session.broker
    try:
        pattern = TopicPattern(command.topics_pattern)
    except InvalidPattern as error:
        raise NotAllowed(f"Invalid topics pattern {error}") from None
    return TopicListWatcher(
        session.outbound, command.watcher_id, namespace, pattern, lambda: _listed(broker, namespace)
    )


async def _start(session: Session, watcher: TopicListWatcher, command: pb.CommandWatchTopicList) -> None:
    """Nothing may change between the list and the first look for changes: no await after the start."""
    topics = await watcher.start()
    if session.watchers.get(command.watcher_id) is not watcher:
        return  # closed in the meantime
    hashed = topics_hash(topics)
    known = command.topics_hash == hashed
    answer = commands.watch_topic_list_success(
        command.request_id, command.watcher_id, [] if known else topics, topics_hash=hashed
    )
    session.outbound.send(_checked(session.broker, answer))


def on_watch_topic_list_close(session: Session, command: pb.CommandWatchTopicListClose) -> bytes:
    session.unwatch(command.watcher_id)
    return commands.success(command.request_id)
