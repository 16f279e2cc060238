"""Messages of a batch that a subscription has acknowledged one by one are not among those that it has before it."""

import pulsar
import pytest

pytest.importorskip("pyarrow")

from broker_core.testing import EmbeddedBroker
from tests.cli.tables.topics import rows, table
from tests.clients.conftest import TIMEOUT_MS
from tests.clients.receiving import receive
from tests.support.condition import wait_until
from tests.support.loaded_topics import loaded

BATCH, COUNT = 10, 30


def acknowledge(client: pulsar.Client, broker: EmbeddedBroker, topic: str, name: str, *numbers: int) -> None:
    """The subscription, a new one, acknowledges these messages of batches of ten."""
    kind = pulsar.ConsumerType.Shared
    start = pulsar.InitialPosition.Earliest
    consumer = client.subscribe(topic, name, kind, initial_position=start, batch_index_ack_enabled=True)
    for message in receive(consumer, COUNT):
        if int(message.data()) in numbers:
            consumer.acknowledge(message)
    cursor = loaded(broker, topic).subscriptions[name].cursor
    wait_until(lambda: cursor.backlog_messages == COUNT - len(numbers), TIMEOUT_MS / 1000)
    consumer.close()


@pytest.fixture
def partly(client: pulsar.Client, pulsar_broker: EmbeddedBroker, topic: str) -> dict[str, set[int]]:
    """What each subscription has acknowledged."""
    client.subscribe(topic, "keeper").close()
    producer = client.create_producer(topic, batching_enabled=True, batching_max_messages=BATCH)
    for number in range(COUNT):
        producer.send_async(b"%d" % number, None)
    producer.flush()
    wanted = {"first": {0, 1, 2}, "holes": {1, 4, 17, 29}, "most": {*range(13)}, "nothing": set[int]()}
    for name, numbers in wanted.items():
        acknowledge(client, pulsar_broker, topic, name, *numbers)
    return wanted


@pytest.mark.parametrize("tasks_min", ["1", "3"])
def test_rows_are_the_messages_that_are_not_acknowledged(
    pulsar_broker: EmbeddedBroker, topic: str, partly: dict[str, set[int]], tasks_min: str
) -> None:
    names = ",".join(partly)
    read = table(
        pulsar_broker, topic, subscriptions=names, columns="subscription,value,batch_index", tasks_min=tasks_min
    )
    found: dict[str, list[int]] = {name: [] for name in partly}
    for row in rows(read):
        number = int(row["value"])
        found[row["subscription"]].append(number)
        assert row["batch_index"] == number % BATCH
    assert found == {name: [each for each in range(COUNT) if each not in acked] for name, acked in partly.items()}


def test_an_entry_stands_for_the_messages_that_are_not_acknowledged(
    pulsar_broker: EmbeddedBroker, topic: str, partly: dict[str, set[int]]
) -> None:
    read = table(pulsar_broker, topic, subscriptions=",".join(partly), columns="subscription,messages", unit="entry")
    found = dict.fromkeys(partly, 0)
    for row in rows(read):
        found[row["subscription"]] += row["messages"]
    assert found == {name: COUNT - len(acked) for name, acked in partly.items()}
