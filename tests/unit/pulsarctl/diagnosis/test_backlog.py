"""The unit of a backlog, for the statistics of both brokers."""

from pulsarctl.diagnosis import describing
from pulsarctl.diagnosis.backlog import Backlog

OURS = {"msgBacklog": 1, "backlogMessages": 5}
APACHE = {"msgBacklog": 1}


def test_the_bundled_broker_counts_messages_and_apache_pulsar_entries() -> None:
    assert Backlog.of(OURS).words == "5 messages"
    assert Backlog.of(APACHE).words == "1 entry"


def test_a_sum_is_one_of_messages_only_if_every_broker_counts_them() -> None:
    assert Backlog.total([OURS, OURS]).words == "10 messages"
    assert Backlog.total([OURS, APACHE]).words == "6 entries"


def test_a_time_that_is_not_reported_is_not_called_never() -> None:
    facts = dict(describing.topic("persistent://public/default/orders", 0, {}, [], [], 0).facts)
    assert facts["Published"] == "not reported"
    assert dict(describing.subscription("billing", "orders", APACHE, [], 0).facts)["Acked"] == "not reported"
