"""Readers of the official client: where they start, and whether there is something to read."""

from collections.abc import Callable

import pulsar
import pytest

from broker_core.metadata.policies.values import RetentionPolicy
from broker_core.testing import EmbeddedBroker
from tests.clients.compacting import compact
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.policies import set_namespace_policies
from tests.clients.publishing import publish
from tests.support.loaded_topics import loaded

pytestmark = pytest.mark.feature("reader")

KEEP = RetentionPolicy(-1, -1)
EARLIEST, LATEST = pulsar.MessageId.earliest, pulsar.MessageId.latest


@pytest.fixture(autouse=True)
def kept(pulsar_broker: EmbeddedBroker, topic: str) -> None:
    """No subscription keeps messages that are only read."""
    set_namespace_policies(pulsar_broker, topic, retention=KEEP)


def read_all(reader: pulsar.Reader) -> list[int]:
    found = []
    while reader.has_message_available():
        found.append(int(reader.read_next(timeout_millis=TIMEOUT_MS).data()))
    return found


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("start", [EARLIEST, LATEST])
def test_an_empty_topic_has_nothing_to_read(
    client: pulsar.Client, topic: str, start: pulsar.MessageId, inclusive: bool
) -> None:
    reader = client.create_reader(topic, start, start_message_id_inclusive=inclusive)
    assert not reader.has_message_available()
    publish(client, topic, 0)
    assert read_all(reader) == [0]


@pytest.mark.parametrize(
    ("inclusive", "batched", "expected"),
    [(False, False, []), (True, False, [4]), (False, True, []), (True, True, [4])],
)
def test_an_inclusive_reader_from_the_latest_returns_the_last_message(
    client: pulsar.Client, topic: str, inclusive: bool, batched: bool, expected: list[int]
) -> None:
    publish(client, topic, *range(5), batched=batched)
    reader = client.create_reader(topic, LATEST, start_message_id_inclusive=inclusive)
    assert read_all(reader) == expected
    publish(client, topic, 5)
    assert read_all(reader) == [5]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("index", [0, 3, 9])
@pytest.mark.parametrize("inclusive", [False, True])
def test_a_reader_starts_at_any_message(
    client: pulsar.Client, topic: str, batched: bool, index: int, inclusive: bool
) -> None:
    ids = publish(client, topic, *range(10), batched=batched)
    publish(client, topic, 10, 11)
    reader = client.create_reader(topic, ids[index], start_message_id_inclusive=inclusive)
    assert read_all(reader) == list(range(index if inclusive else index + 1, 12))


def test_a_reader_at_a_deleted_message_starts_with_the_first_existing_one(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    gone = publish(client, topic, 0, 1)[0]
    trim(client, pulsar_broker, topic)
    publish(client, topic, 2, 3)
    assert read_all(client.create_reader(topic, gone)) == [2, 3]


@pytest.mark.parametrize("start", [EARLIEST, LATEST])
def test_a_fully_trimmed_topic_has_nothing_to_read(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str, start: pulsar.MessageId
) -> None:
    publish(client, topic, 0, 1)
    trim(client, pulsar_broker, topic)
    reader = client.create_reader(topic, start)
    assert not reader.has_message_available()
    publish(client, topic, 2)
    assert read_all(reader) == [2]


def trim(client: pulsar.Client, broker: EmbeddedBroker, topic: str) -> None:
    client.subscribe(topic, "a durable one that stands at the end")
    set_namespace_policies(broker, topic, retention=RetentionPolicy(0, 0))
    broker.call(loaded(broker, topic).trim())
    set_namespace_policies(broker, topic, retention=KEEP)


def test_a_compacted_reader_ends_with_the_last_compacted_message(
    client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str
) -> None:
    producer = client.create_producer(topic)
    for key, value in (("a", b"1"), ("b", b"2"), ("a", b"3"), ("b", b"")):
        producer.send(value, partition_key=key)
    compact(pulsar_broker, topic)
    assert read_all(client.create_reader(topic, EARLIEST, is_read_compacted=True)) == [3]
    producer.send(b"4", partition_key="c")
    assert read_all(client.create_reader(topic, EARLIEST, is_read_compacted=True)) == [3, 4]


SEEKS: list[tuple[str, Callable[[list[pulsar.MessageId]], object], list[int], list[int]]] = [
    ("earliest", lambda ids: EARLIEST, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
    ("latest", lambda ids: LATEST, [], [4]),
    ("a message", lambda ids: ids[2], [3, 4], [2, 3, 4]),
    ("the last message", lambda ids: ids[4], [], [4]),
    ("a time before all", lambda ids: 1, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
    ("a time after all", lambda ids: 1 << 62, [], []),
]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    ("target", "expected", "expected_inclusive"), [row[1:] for row in SEEKS], ids=[row[0] for row in SEEKS]
)
def test_a_reader_knows_whether_messages_are_available_after_a_seek(
    client: pulsar.Client,
    topic: str,
    target: Callable[[list[pulsar.MessageId]], object],
    expected: list[int],
    expected_inclusive: list[int],
    batched: bool,
    inclusive: bool,
) -> None:
    ids = publish(client, topic, *range(5), batched=batched)
    reader = client.create_reader(topic, EARLIEST, start_message_id_inclusive=inclusive)
    read_all(reader)
    reader.seek(target(ids))
    assert read_all(reader) == (expected_inclusive if inclusive else expected)
