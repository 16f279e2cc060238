"""The operations that a client's role needs for a command: each row of `command_table` names them.

The binary protocol's names of what is denied are Pulsar's, because tools and tests look for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from broker_core.metadata.tenancy.system_topics import is_coordinator
from broker_core.names import NamespaceName, parse_topic
from broker_core.security.authorization import Target, check_has_rule
from broker_core.security.operations import Operation, on_namespace, on_topic
from broker_core.wire import pulsar_api_pb2 as pb

Request = tuple[Operation, Target]


class Need(NamedTuple):
    """`requests`: what a command asks for; None if it needs no permission, and then `reason` says why.

    `denial`: what the client gets if one of them is denied.
    """

    requests: Callable[[Any], Iterable[Request]] | None
    reason: str = ""
    denial: str = ""


HANDSHAKE = Need(None, "it is about the connection itself")
OWN = Need(None, "it names a producer, consumer, or watcher of this connection, which was allowed when it was made")


TRANSACTION = Need(None, "a transaction belongs to the role that began it, and its messages need a producer")


def _denied(action: str) -> str:
    return f"Client is not authorized to {action}"


def _ruled(operation: Operation) -> Operation:
    """Raises `UnknownOperation`: the broker does not start with a need that no rule decides."""
    check_has_rule(operation)
    return operation


_PRODUCE, _SUBSCRIBE, _CONSUME = (_ruled(on_topic(name)) for name in ("PRODUCE", "SUBSCRIBE", "CONSUME"))


def on_topic_of_command(name: str, denied: str, *, finds_coordinator: bool = False) -> Need:
    """The command has a topic and needs one operation on it.

    `finds_coordinator`: the name may stand for the transaction coordinator, which is not a topic.
    """
    operation = _ruled(on_topic(name))

    def requests(command: Any) -> Iterator[Request]:
        topic = parse_topic(command.topic)
        if not (finds_coordinator and is_coordinator(topic)):
            yield operation, Target.of_topic(topic)

    return Need(requests, denial=_denied(denied))


def on_namespace_of_command(name: str, denial: str) -> Need:
    operation = _ruled(on_namespace(name))
    return Need(
        lambda command: [(operation, Target.of_namespace(NamespaceName.parse(command.namespace)))], denial=denial
    )


def _to_produce(command: pb.CommandProducer) -> Iterator[Request]:
    topic = parse_topic(command.topic)
    yield _PRODUCE, Target.of_topic(topic)
    if command.initial_subscription_name.strip():
        yield _SUBSCRIBE, Target.of_topic(topic, command.initial_subscription_name)


def _to_subscribe(command: pb.CommandSubscribe) -> Iterator[Request]:
    yield _CONSUME, Target.of_topic(parse_topic(command.topic), command.subscription)


LOOKUP = on_topic_of_command("LOOKUP", "Lookup", finds_coordinator=True)
PARTITIONS = on_topic_of_command("LOOKUP", "Get Partition Metadata", finds_coordinator=True)
LAYOUT = on_topic_of_command("LOOKUP", "Lookup")
TO_PRODUCE = Need(_to_produce, denial=_denied("Produce"))
TO_SUBSCRIBE = Need(_to_subscribe, denial=_denied("subscribe"))
LIST_TOPICS = on_namespace_of_command("GET_TOPICS", _denied("GetTopicsOfNamespace"))
WATCH_TOPICS = on_namespace_of_command("GET_TOPICS", "Proxy Client is not authorized to watchTopicList")
WATCH_SCALABLE = on_namespace_of_command("GET_TOPICS", _denied("watch scalable topics"))
READ_SCHEMA = on_topic_of_command("GET_METADATA", "get the schema")
WRITE_SCHEMA = on_topic_of_command("PRODUCE", "create a schema")
