"""Messages of all kinds in this broker and a real Pulsar that replicate to each other: each is in both once, the same
bytes in the same order.

`make replication-volume REAL=1` publishes a million, half of them to each.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.replication.volume import MESSAGES, PARTITIONS, SETTINGS, Cluster, messages, replicated, sums_in
from tests.long.real_pulsar.java_pulsar import JavaPulsar, Missing
from tests.long.real_pulsar.two_clusters import OURS, REAL
from tests.support.broker_process import BrokerProcess

pytestmark = [pytest.mark.real_pulsar, pytest.mark.slow, pytest.mark.timeout(3600)]

CHUNK_BYTES = 1_000_000  # Apache Pulsar loses chunks that its own copies make too large


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[list[Cluster]]:
    folder = tmp_path / "real"
    folder.mkdir()
    real = JavaPulsar(folder, dict(setting.split("=", 1) for setting in SETTINGS))
    try:
        real.start()
    except Missing as reason:
        pytest.skip(str(reason))
    with BrokerProcess(tmp_path / "ours", f"clusterName={OURS}", *SETTINGS) as ours:
        yield [Cluster(OURS, ours), Cluster(REAL, real, chunk_bytes=CHUNK_BYTES)]
    real.stop()


def test_messages_of_all_kinds_are_in_both_clusters_once_and_in_order(clusters: list[Cluster]) -> None:
    for one in clusters:
        one.join(clusters)
    sent = replicated(clusters, MESSAGES)
    in_ours, in_real = (sums_in(one) for one in clusters)
    assert [messages(one) for one in (in_ours, in_real)] == [sent, sent]
    assert in_ours == in_real
    assert len(in_ours) == 2 * PARTITIONS * len(clusters)
