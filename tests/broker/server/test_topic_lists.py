"""GET_TOPICS_OF_NAMESPACE and WATCH_TOPIC_LIST on the wire, since official clients hide most of them."""

import asyncio
from collections.abc import Iterator
from typing import cast

import pytest

from broker_core.broker import Broker
from broker_core.client import Outbound
from broker_core.config.broker import BrokerConfig
from broker_core.config.server import ConnectionConfig
from broker_core.config.topic import TopicListConfig
from broker_core.names import parse_topic
from broker_core.testing import FREE_PORTS, EmbeddedBroker
from broker_core.topics.pattern import TopicPattern
from broker_core.topics.watcher import TopicListWatcher
from broker_core.wire.commands import frame
from broker_core.wire.pulsar_api_pb2 import (
    BaseCommand,
    CommandGetTopicsOfNamespace,
    CommandGetTopicsOfNamespaceResponse,
    CommandWatchTopicListSuccess,
    CommandWatchTopicUpdate,
    KeyValue,
    ServerError,
)
from broker_core.wire.topics_hash import topics_hash
from tests.support.connections import connections
from tests.support.raw_client import RawClient

PREFIX = "persistent://public/default/"
NAMES = [f"{PREFIX}{name}" for name in ("other", "t-1", "t-2")]


@pytest.fixture
def pulsar_broker() -> Iterator[EmbeddedBroker]:
    """A new broker for each test, since the tests list all topics."""
    with EmbeddedBroker() as broker:
        yield broker


def create(broker: EmbeddedBroker, *names: str) -> None:
    for name in names:
        broker.call(broker.broker.topics.create(parse_topic(name)))


def delete(broker: EmbeddedBroker, name: str) -> None:
    broker.call(broker.broker.topics.delete(parse_topic(name)))


def list_command(**fields: object) -> BaseCommand:
    command = BaseCommand(type=BaseCommand.GET_TOPICS_OF_NAMESPACE)
    command.getTopicsOfNamespace.MergeFrom(
        CommandGetTopicsOfNamespace(request_id=1, **{"namespace": "public/default", **fields})  # type: ignore[arg-type]  # by name
    )
    return command


def topics(raw: RawClient, **fields: object) -> CommandGetTopicsOfNamespaceResponse:
    answer = raw.ask(list_command(**fields), BaseCommand.GET_TOPICS_OF_NAMESPACE_RESPONSE)
    assert isinstance(answer, CommandGetTopicsOfNamespaceResponse)
    return answer


def watch_command(pattern: str, watcher_id: int = 1, known: str = "") -> BaseCommand:
    command = BaseCommand(type=BaseCommand.WATCH_TOPIC_LIST)
    body = command.watchTopicList
    body.request_id, body.watcher_id, body.namespace, body.topics_pattern = 2, watcher_id, "public/default", pattern
    if known:
        body.topics_hash = known
    return command


def watch(raw: RawClient, pattern: str, watcher_id: int = 1, known: str = "") -> CommandWatchTopicListSuccess:
    answer = raw.ask(watch_command(pattern, watcher_id, known), BaseCommand.WATCH_TOPIC_LIST_SUCCESS)
    assert isinstance(answer, CommandWatchTopicListSuccess)
    return answer


def update(raw: RawClient) -> CommandWatchTopicUpdate:
    found = raw.expect(BaseCommand.WATCH_TOPIC_UPDATE)
    assert isinstance(found, CommandWatchTopicUpdate)
    return found


def test_a_pattern_is_evaluated_by_the_broker_and_marked_as_filtered(pulsar_broker: EmbeddedBroker) -> None:
    create(pulsar_broker, *NAMES)
    with RawClient(pulsar_broker.service_url) as raw:
        answer = topics(raw, topics_pattern="public/default/t-.*")
    assert (list(answer.topics), answer.filtered, answer.changed) == (NAMES[1:], True, True)
    assert answer.topics_hash == topics_hash(NAMES[1:])


def test_a_matching_hash_saves_the_list(pulsar_broker: EmbeddedBroker) -> None:
    create(pulsar_broker, *NAMES)
    with RawClient(pulsar_broker.service_url) as raw:
        answer = topics(raw, topics_hash=topics_hash(NAMES))
        assert (list(answer.topics), answer.changed) == ([], False)
        answer = topics(raw, topics_hash=topics_hash(NAMES[1:]), topics_pattern="public/default/t-.*")
        assert (list(answer.topics), answer.changed) == ([], False)


@pytest.mark.parametrize("pattern", ["public/default/(?=t).*", "public/default/t" + "x?" * 30])
def test_an_unsupported_pattern_is_left_to_the_client(pulsar_broker: EmbeddedBroker, pattern: str) -> None:
    create(pulsar_broker, *NAMES)
    with RawClient(pulsar_broker.service_url) as raw:
        answer = topics(raw, topics_pattern=pattern)
    assert (list(answer.topics), answer.filtered) == (NAMES, False)


def test_the_list_can_be_restricted_to_topics_with_a_property(pulsar_broker: EmbeddedBroker) -> None:
    create(pulsar_broker, *NAMES)
    registry = pulsar_broker.broker.topics
    pulsar_broker.call(registry.change_properties(parse_topic(NAMES[1]), lambda _: {"owner": "billing"}))
    wanted = [KeyValue(key="owner", value="billing")]
    with RawClient(pulsar_broker.service_url) as raw:
        answer = topics(raw, properties=wanted)
    assert (list(answer.topics), answer.topics_hash) == (NAMES[1:2], topics_hash(NAMES[1:2]))


def test_system_topics_are_not_listed(pulsar_broker: EmbeddedBroker) -> None:
    create(pulsar_broker, f"{PREFIX}__change_events", f"{PREFIX}__mine")
    with RawClient(pulsar_broker.service_url) as raw:
        assert list(topics(raw).topics) == [f"{PREFIX}__mine"]


def test_a_namespace_that_does_not_exist_has_no_topics(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as raw:
        assert list(topics(raw, namespace="public/none").topics) == []


def test_a_list_too_long_for_an_answer_is_refused() -> None:
    config = BrokerConfig(server=FREE_PORTS, connection=ConnectionConfig(max_message_size=2000))
    with EmbeddedBroker(config=config) as broker:
        create(broker, *(f"{PREFIX}{'x' * 100}-{index}" for index in range(20)))
        with RawClient(broker.service_url) as raw:
            refused = raw.ask(list_command(), BaseCommand.ERROR)
            assert refused.error == ServerError.NotAllowedError
            assert list(topics(raw, topics_pattern=".*-7").topics) == [f"{PREFIX}{'x' * 100}-7"]


def outgoing_bytes(broker: Broker) -> int:
    [connection] = connections(broker)
    return connection._transport.get_write_buffer_size() + connection._outgoing_bytes


def test_requests_of_a_client_that_does_not_read_cost_one_answer(pulsar_broker: EmbeddedBroker) -> None:
    pulsar_broker.call(_create_all(pulsar_broker.broker, [f"{PREFIX}{'x' * 200}-{index}" for index in range(2000)]))
    with RawClient(pulsar_broker.service_url, receive_buffer=4096) as raw:
        raw.send(frame(list_command()) * 500)
        raw.socket.settimeout(10)
        raw.socket.recv(1)  # the first answer is being sent
        assert pulsar_broker.call(_measured(pulsar_broker.broker)) < 3_000_000


async def _create_all(broker: Broker, names: list[str]) -> None:
    for name in names:
        await broker.topics.create(parse_topic(name))


async def _measured(broker: Broker) -> int:
    return outgoing_bytes(broker)


def test_a_watcher_learns_of_created_and_deleted_topics(pulsar_broker: EmbeddedBroker) -> None:
    create(pulsar_broker, *NAMES)
    with RawClient(pulsar_broker.service_url) as raw:
        started = watch(raw, "public/default/t-.*")
        assert (list(started.topic), started.topics_hash) == (NAMES[1:], topics_hash(NAMES[1:]))
        create(pulsar_broker, f"{PREFIX}unwatched", f"{PREFIX}t-3")
        came = update(raw)
        assert (list(came.new_topics), list(came.deleted_topics)) == ([f"{PREFIX}t-3"], [])
        assert came.topics_hash == topics_hash([*NAMES[1:], f"{PREFIX}t-3"])
        delete(pulsar_broker, NAMES[1])
        went = update(raw)
        assert (list(went.new_topics), list(went.deleted_topics)) == ([], [NAMES[1]])


class Sent:
    """The part of a connection that a watcher needs."""

    def __init__(self) -> None:
        self.writable = True
        self.frames: list[bytes] = []

    def send(self, data: bytes) -> None:
        self.frames.append(data)


async def test_a_change_does_not_make_a_watcher_list_all_topics_again() -> None:
    listed = []

    def topics() -> list[str]:
        listed.append(True)
        return NAMES

    sent, pattern = Sent(), TopicPattern("public/default/t-.*")
    watcher = TopicListWatcher(cast(Outbound, sent), 1, parse_topic(NAMES[0]).namespace, pattern, topics)
    await watcher.start()
    watcher.topic_changed(parse_topic(f"{PREFIX}t-3"), exists=True)
    watcher.on_writable()
    watcher.close()
    assert (len(listed), len(sent.frames)) == (1, 1)


async def test_what_changes_while_a_watcher_looks_at_the_first_topics_is_in_its_first_answer() -> None:
    sent, pattern = Sent(), TopicPattern("public/default/t-.*")
    namespace = parse_topic(NAMES[0]).namespace

    def changing() -> Iterator[str]:
        """A list of topics that changes while the watcher filters it."""
        yield f"{PREFIX}t-1"
        yield f"{PREFIX}t-2"
        watcher.topic_changed(parse_topic(f"{PREFIX}t-1"), exists=False)
        watcher.topic_changed(parse_topic(f"{PREFIX}t-3"), exists=True)
        watcher.on_writable()

    watcher = TopicListWatcher(cast(Outbound, sent), 1, namespace, pattern, changing)
    assert await watcher.start() == [f"{PREFIX}t-2", f"{PREFIX}t-3"]
    watcher.on_writable()
    watcher.close()
    assert sent.frames == []


async def test_a_watcher_looks_at_many_topics_a_few_at_a_time() -> None:
    names = [f"{PREFIX}t-{number}" for number in range(30_000)]
    pattern = TopicPattern("public/default/t-.*")
    watcher = TopicListWatcher(cast(Outbound, Sent()), 1, parse_topic(NAMES[0]).namespace, pattern, lambda: names)
    starting, iterations = asyncio.ensure_future(watcher.start()), 0
    while not starting.done():
        await asyncio.sleep(0)
        iterations += 1
    assert starting.result() == sorted(names)
    assert iterations >= 3


def test_a_watcher_sees_each_partition(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as raw:
        watch(raw, "public/default/p")
        pulsar_broker.create_partitioned_topic(f"{PREFIX}p", 2)
        found: set[str] = set()
        while len(found) < 2:
            found.update(update(raw).new_topics)
    assert found == {f"{PREFIX}p-partition-0", f"{PREFIX}p-partition-1"}


def test_a_watcher_that_knows_the_list_gets_only_its_hash(pulsar_broker: EmbeddedBroker) -> None:
    create(pulsar_broker, *NAMES)
    with RawClient(pulsar_broker.service_url) as raw:
        assert list(watch(raw, ".*", known=topics_hash(NAMES)).topic) == []


def test_a_closed_watcher_receives_nothing(pulsar_broker: EmbeddedBroker) -> None:
    with RawClient(pulsar_broker.service_url) as raw:
        watch(raw, ".*", watcher_id=1)
        watch(raw, ".*", watcher_id=2)
        command = BaseCommand(type=BaseCommand.WATCH_TOPIC_LIST_CLOSE)
        command.watchTopicListClose.request_id, command.watchTopicListClose.watcher_id = 3, 1
        raw.ask(command, BaseCommand.SUCCESS)
        create(pulsar_broker, NAMES[0])
        assert update(raw).watcher_id == 2
    assert len(pulsar_broker.broker.topics.listeners) <= 1


@pytest.mark.parametrize("pattern", ["(", "x" * 51])
def test_a_watcher_needs_a_pattern_that_the_broker_evaluates(pulsar_broker: EmbeddedBroker, pattern: str) -> None:
    with RawClient(pulsar_broker.service_url) as raw:
        assert raw.ask(watch_command(pattern), BaseCommand.ERROR).error == ServerError.NotAllowedError


def test_watchers_can_be_disabled() -> None:
    with (
        EmbeddedBroker(config=BrokerConfig(server=FREE_PORTS, topic_lists=TopicListConfig(watchers=False))) as broker,
        RawClient(broker.service_url) as raw,
    ):
        assert raw.ask(watch_command(".*"), BaseCommand.ERROR).error == ServerError.NotAllowedError
