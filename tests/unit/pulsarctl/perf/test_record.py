"""What a measurement prints."""

from pulsarctl.perf.counts import Counts
from pulsarctl.perf.record import LABELS, Measured, rows
from pulsarctl.perf.tally import Tally


def test_the_record_has_rates_errors_and_latencies_in_milliseconds() -> None:
    counts = Counts(messages=100, size=200_000)
    counts.errors["Timeout"] = 3
    for latency_us in range(1000, 101_000, 1000):
        counts.latencies.add(latency_us)
    record = Measured("produce", counts, 2.0, 60.0).record()
    assert record["offeredRate"] == 60.0
    assert record["achievedRate"] == 50.0
    assert record["megabytesPerSecond"] == 0.1
    assert record["errors"] == 3
    assert record["latencyMsMean"] == 50.5
    assert record["latencyMsMax"] == 100.0


def test_a_line_names_the_rates_and_latencies_of_its_interval() -> None:
    counts = Counts(messages=5000, size=5_000_000)
    counts.errors["Timeout"] = 2
    counts.latencies.add(250)
    assert Measured("produce", counts, 10.0, None).line() == (
        "produce: 500 msg/s, 0.500 MB/s, 2 errors; latency ms: mean 0.250, 50 % 0.250, 99 % 0.250, max 0.250"
    )


def test_the_table_has_a_column_for_each_side_and_a_dash_for_what_is_not_known() -> None:
    sides = [
        Measured(role, Counts(messages=count), 1.0, None).record()
        for role, count in (("produce", 2000), ("consume", 7))
    ]
    found = rows(sides)
    assert found[0] == ["Messages", "2,000", "7"]
    assert found[-1] == ["Latency max (ms)", "-", "-"]
    assert len(found) == len(LABELS) - 1


def test_intervals_add_up_to_the_whole_run() -> None:
    tally = Tally()
    tally.add(10, 500)
    assert tally.end_interval().messages == 1
    tally.add(20, None)
    tally.fail("Timeout")
    assert (tally.messages, tally.failures) == (2, 1)
    total = tally.total()
    assert (total.messages, total.size, total.failures, total.latencies.count) == (2, 30, 1, 1)
