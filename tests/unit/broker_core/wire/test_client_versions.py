"""What a client does, by the version that it sends."""

import pytest

from broker_core.wire.client_versions import knows_entry_buckets


@pytest.mark.parametrize("version", ["Pulsar-Java-v5.0.0", "Pulsar-Java-v5.0.1", "Pulsar-Java-v5.1.0-SNAPSHOT"])
def test_clients_of_5_0_0_and_later_know_entry_buckets(version: str) -> None:
    assert knows_entry_buckets(version)


@pytest.mark.parametrize(
    "version",
    ["Pulsar-Java-v5.0.0-M1", "Pulsar-Java-v5.0.0-SNAPSHOT", "Pulsar-Java-v4.0.7", "Pulsar-CPP-v4", "raw", ""],
)
def test_milestones_and_older_clients_do_not(version: str) -> None:
    assert not knows_entry_buckets(version)
