"""Messages of all kinds in a ring of three clusters: each is everywhere once, the same bytes in the same order.

`make replication-volume` publishes a million. Each cluster publishes a third, of every kind, to a partitioned topic.
What a partition has from one cluster must have the same checksum in all three.
"""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broker.replication.volume import MESSAGES, PARTITIONS, SETTINGS, Cluster, messages, replicated, sums_in
from tests.support.broker_process import BrokerProcess

CLUSTERS = ["north", "south", "west"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_messages_of_all_kinds_are_in_each_cluster_once_and_in_order(tmp_path: Path) -> None:
    with ExitStack() as running:
        clusters = [
            Cluster(name, running.enter_context(BrokerProcess(tmp_path / name, f"clusterName={name}", *SETTINGS)))
            for name in CLUSTERS
        ]
        for one in clusters:
            one.join(clusters)
        sent = replicated(clusters, MESSAGES)
        sums = [sums_in(one) for one in clusters]
    assert [messages(one) for one in sums] == [sent] * len(CLUSTERS)
    assert sums[0] == sums[1] == sums[2]
    assert len(sums[0]) == 2 * PARTITIONS * len(CLUSTERS)
