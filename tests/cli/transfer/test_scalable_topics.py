"""Exports and lakes of scalable topics: each message once, over splits and the deletion of segments."""

from pathlib import Path

import pytest

from broker_core.testing import EmbeddedBroker
from tests.cli.transfer.moved_topics import Continued, export, failed, lake, ops, rows, run
from tests.support.scalable_topic import ScalableTopic

pytestmark = pytest.mark.parametrize("continued", [lake, export])


@pytest.fixture
def orders(pulsar_broker: EmbeddedBroker, request: pytest.FixtureRequest) -> ScalableTopic:
    """One segment, and a subscription that keeps messages."""
    topic = ScalableTopic.create(pulsar_broker, request.node.name.replace("[", "-").replace("]", ""))
    topic.subscribe("keeps")
    return topic


def test_runs_continue_over_a_split(
    pulsar_broker: EmbeddedBroker, orders: ScalableTopic, tmp_path: Path, continued: Continued
) -> None:
    command = continued(orders.name, tmp_path / "out")
    orders.publish(0, ["a", "b"])
    assert rows(pulsar_broker, *command) == 2
    orders.publish(0, ["c"])
    orders.split(0)
    orders.publish(1, ["a"])
    orders.publish(2, ["c", "d"])
    assert rows(pulsar_broker, *command) == 4, "the end of the parent, and both children"
    assert rows(pulsar_broker, *command) == 0


def test_a_segment_may_go_after_it_was_read_to_its_end(
    pulsar_broker: EmbeddedBroker, orders: ScalableTopic, tmp_path: Path, continued: Continued
) -> None:
    command = continued(orders.name, tmp_path / "out")
    orders.publish(0, ["a"])
    orders.split(0)
    assert rows(pulsar_broker, *command) == 1
    orders.skip_all("keeps")
    orders.collect()
    assert 0 not in orders.segments()
    orders.publish(1, ["a"])
    assert rows(pulsar_broker, *command) == 1


def test_a_segment_that_goes_unread_ends_the_next_run(
    pulsar_broker: EmbeddedBroker, orders: ScalableTopic, tmp_path: Path, continued: Continued
) -> None:
    command = continued(orders.name, tmp_path / "out")
    whole = orders.segments()[0]
    assert rows(pulsar_broker, *command) == 0
    orders.publish(0, ["a"])
    assert rows(pulsar_broker, *command) == 1
    orders.publish(0, ["b"])
    orders.split(0)
    orders.skip_all("keeps")
    orders.collect()
    code, text = failed(pulsar_broker, *command)
    gone = f"{whole} is gone, and it may have had entries that were not read"
    assert (code, gone in text) == (1, True), text
    allowed = run(pulsar_broker, *command, "--allow-loss")
    assert (allowed.exit_code, allowed.stderr) == (0, f"warning: {gone}\n")
    assert rows(pulsar_broker, *command) == 0, "the loss is behind the next run"


def test_a_row_has_the_id_of_its_segment(
    pulsar_broker: EmbeddedBroker, orders: ScalableTopic, tmp_path: Path, continued: Continued
) -> None:
    orders.publish(0, ["a"])
    orders.split(0)
    orders.publish(2, ["b"])
    ops(pulsar_broker, *continued(orders.name, tmp_path / "out"))
    files = sorted((tmp_path / "out").glob("**/*.parquet"))
    import pyarrow.parquet as pq

    found = [row for file in files for row in pq.read_table(file, columns=["topic", "partition", "key"]).to_pylist()]
    segments = orders.segments()
    assert sorted((row["topic"], row["partition"], row["key"]) for row in found) == sorted(
        [(segments[0], 0, "a"), (segments[2], 2, "b")]
    )
