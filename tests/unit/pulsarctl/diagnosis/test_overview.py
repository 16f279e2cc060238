"""The rows of `top`, from the statistics of a broker."""

from typing import Any

import pytest

from pulsarctl.diagnosis import overview
from pulsarctl.diagnosis.overview import History, TopicsSnapshot, sparkline
from pulsarctl.errors import UsageProblem

TOPIC = "persistent://public/default/orders"


def snapshot(time_ms: int, published: int, delivered: int) -> TopicsSnapshot:
    consumer = {"consumerName": "worker", "address": "/1.2.3.4:5", "msgOutCounter": delivered, "unackedMessages": 7}
    billing = {"type": "Shared", "msgBacklog": 5, "msgOutCounter": delivered, "consumers": [consumer]}
    stats = {
        "msgInCounter": published,
        "msgOutCounter": delivered,
        "msgRateIn": 99.0,
        "storageSize": 2048,
        "subscriptions": {"billing": billing, "__compaction": {"msgBacklog": 9}},
    }
    return TopicsSnapshot(time_ms, {TOPIC: stats}, 1)


def only(view: overview.View, before: TopicsSnapshot | None, now: TopicsSnapshot) -> dict[str, Any]:
    (row,) = overview.rows(view, before, now)
    return row


def test_the_first_rate_is_the_brokers_and_later_ones_come_from_the_counters() -> None:
    first, second = snapshot(0, 1000, 0), snapshot(2000, 1010, 4)
    assert only(overview.TOPICS, None, first)["in"] == 99.0
    row = only(overview.TOPICS, first, second)
    assert (row["in"], row["out"]) == (5.0, 2.0)
    assert only(overview.SUBSCRIPTIONS, first, second)["out"] == 2.0
    assert only(overview.CONSUMERS, first, second)["out"] == 2.0


def test_a_counter_that_starts_over_is_no_negative_rate() -> None:
    assert only(overview.TOPICS, snapshot(0, 1000, 0), snapshot(1000, 3, 0))["in"] == 99.0


def test_the_compactor_is_not_a_subscription() -> None:
    row = only(overview.TOPICS, None, snapshot(0, 0, 0))
    assert (row["backlog"].count, row["subscriptions"]) == (5, 1)


@pytest.mark.parametrize("view", [overview.TOPICS, overview.SUBSCRIPTIONS], ids=lambda view: view.title)
def test_a_document_names_the_unit_of_its_backlog(view: overview.View) -> None:
    of_pulsar, of_ours = snapshot(0, 0, 0), snapshot(0, 0, 0)
    of_ours.topics[TOPIC]["subscriptions"]["billing"]["backlogMessages"] = 12
    units = [overview.documents(view, overview.rows(view, None, now))[0] for now in (of_pulsar, of_ours)]
    assert [(one["backlog"], one["backlog_unit"]) for one in units] == [(5, "entries"), (12, "messages")]


@pytest.mark.parametrize("view", [overview.TOPICS, overview.SUBSCRIPTIONS], ids=lambda view: view.title)
def test_a_table_names_the_unit_of_a_backlog_in_entries(view: overview.View) -> None:
    of_pulsar, of_ours = snapshot(0, 0, 0), snapshot(0, 0, 0)
    of_ours.topics[TOPIC]["subscriptions"]["billing"]["backlogMessages"] = 12
    place = view.columns.index(view.column("backlog"))
    shown = [overview.texts(view, overview.rows(view, None, now))[0][place] for now in (of_pulsar, of_ours)]
    assert shown == ["5 entries", "12"]


def test_consumers_have_no_backlog_and_no_unit_of_it() -> None:
    assert (
        "backlog_unit"
        not in overview.documents(overview.CONSUMERS, overview.rows(overview.CONSUMERS, None, snapshot(0, 0, 0)))[0]
    )


def test_numbers_sort_from_the_largest_and_names_from_the_first() -> None:
    rows = [{"key": (name,), "topic": name, "in": rate} for name, rate in (("b", 1.0), ("a", 3.0), ("c", 2.0))]
    by_rate, by_name = overview.TOPICS.column("in"), overview.TOPICS.column("TOPIC")
    assert [row["topic"] for row in overview.ordered(rows, by_rate)] == ["a", "c", "b"]
    assert [row["topic"] for row in overview.ordered(rows, by_rate, reverse=True)] == ["b", "c", "a"]
    assert [row["topic"] for row in overview.ordered(rows, by_name)] == ["a", "b", "c"]


def test_an_unknown_column_names_the_known_ones() -> None:
    with pytest.raises(UsageProblem) as caught:
        overview.TOPICS.column("size")
    assert "backlog" in str(caught.value.hint)


def test_a_sparkline_is_as_high_as_its_largest_value() -> None:
    assert sparkline([0, 5, 10]) == "▁▅█"
    assert sparkline([0, 0]) == "▁▁"
    assert sparkline([]) == ""


def test_the_history_keeps_the_last_samples_and_forgets_rows_that_are_gone() -> None:
    history = History()
    for rate in range(20):
        history.add([{"key": ("a",), "in": rate}, {"key": ("b",), "in": 1}], "in")
    history.add([{"key": ("a",), "in": 20}], "in")
    assert history.samples == {("a",): [float(rate) for rate in range(11, 21)]}
