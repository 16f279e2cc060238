"""The subscription of a stream when its broker does not answer."""

import logging
import socket

import pytest

pytest.importorskip("pyarrow")

from pulsarctl.tables.access import Access
from pulsarctl.tables.subscription_follower import SubscriptionFollower

TOPIC = "persistent://public/default/followed"


@pytest.fixture
def follower() -> SubscriptionFollower:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]  # nothing listens there
    return SubscriptionFollower(Access(f"pulsar://127.0.0.1:{port}", f"http://127.0.0.1:{port}"), "query")


def test_a_position_that_cannot_be_acknowledged_is_not_tried_in_each_trigger(
    follower: SubscriptionFollower, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pulsarctl.tables.subscription_follower.RETRY_SECONDS", 3600.0)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            follower.follow({TOPIC: "1:1"})
    assert len(caplog.records) == 1
    assert f"{TOPIC}: cannot advance subscription query" in caplog.text


def test_the_next_position_is_tried_at_once(follower: SubscriptionFollower, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        follower.follow({TOPIC: "1:1"})
        follower.follow({TOPIC: "1:2"})
    assert len(caplog.records) == 2
