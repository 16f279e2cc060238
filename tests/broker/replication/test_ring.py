"""Three clusters that all replicate to one another."""

from contextlib import ExitStack

from broker_core.testing import EmbeddedBroker
from tests.broker.replication.pair import is_empty, publish, received
from tests.support import official_client
from tests.support.clusters import config_of, introduce, new_namespace

CLUSTERS = ["north", "south", "west"]
EACH = 300


def test_each_message_is_in_each_cluster_once_and_in_the_order_of_its_producer() -> None:
    with ExitStack() as running:
        brokers = [running.enter_context(EmbeddedBroker(config=config_of(name))) for name in CLUSTERS]
        introduce(brokers)
        topic = f"persistent://{new_namespace(brokers, 'ring', CLUSTERS)}/t"
        clients = [official_client.connect(one.service_url) for one in brokers]
        consumers = [one.subscribe(topic, "s") for one in clients]
        for name, client in zip(CLUSTERS, clients, strict=True):
            publish(client, topic, [b"%b %d" % (name.encode(), number) for number in range(EACH)])
        for consumer in consumers:
            found = received(consumer, EACH * len(CLUSTERS))
            assert is_empty(consumer)
            for name in CLUSTERS:
                mine = [one for one in found if one.startswith(name.encode())]
                assert mine == [b"%b %d" % (name.encode(), number) for number in range(EACH)]
        for client in clients:
            client.close()
