"""Which engine is chosen, and the one word on a subscription."""

import pytest

from pulsarctl.backlog.engine import LOCAL_BYTES_MAX, LOCAL_ENTRIES_MAX, Engine, EngineChoice, choose
from pulsarctl.backlog.verdict import Condition, seconds_to_empty, verdict
from pulsarctl.errors import CliError

BUSY = Condition(100, 0, 1, False, 5.0, 15.0)  # messages, delayed, consumers, blocked, rates in and out


def missing() -> None:
    raise CliError("this command runs on Spark, and pyspark is not installed")


def chosen(wanted: Engine, *, entries: int = 10, size: int = 10, spark: bool = True) -> EngineChoice:
    require = (lambda: None) if spark else missing
    return choose(wanted, entries=entries, size=size, bytes_max=LOCAL_BYTES_MAX, require_spark=require)


def test_auto_counts_a_small_plan_locally() -> None:
    assert chosen(Engine.AUTO, entries=LOCAL_ENTRIES_MAX, size=LOCAL_BYTES_MAX) == EngineChoice(Engine.LOCAL)


def test_auto_counts_many_entries_or_many_bytes_on_spark() -> None:
    assert chosen(Engine.AUTO, entries=LOCAL_ENTRIES_MAX + 1) == EngineChoice(Engine.SPARK)
    assert chosen(Engine.AUTO, size=LOCAL_BYTES_MAX + 1) == EngineChoice(Engine.SPARK)


def test_auto_without_spark_counts_a_large_plan_locally_and_says_so() -> None:
    found = chosen(Engine.AUTO, entries=1_000_000, spark=False)
    assert found.engine is Engine.LOCAL
    assert found.notice == (
        "notice: this command runs on Spark, and pyspark is not installed, so one process reads 1,000,000 entries"
    )


def test_auto_without_spark_is_silent_about_a_small_plan() -> None:
    assert chosen(Engine.AUTO, spark=False) == EngineChoice(Engine.LOCAL)


def test_spark_is_not_replaced_where_it_is_asked_for() -> None:
    with pytest.raises(CliError, match="pyspark is not installed"):
        chosen(Engine.SPARK, spark=False)


@pytest.mark.parametrize(
    ("condition", "word"),
    [
        (BUSY._replace(messages=0), "ok"),
        (BUSY._replace(delayed_messages=100), "delayed"),
        (BUSY._replace(is_blocked=True), "blocked"),
        (BUSY._replace(consumers=0), "no consumer"),
        (BUSY._replace(rate_out=0.0), "stalled"),
        (BUSY._replace(rate_out=5.0), "steady"),
        (BUSY._replace(rate_out=1.0), "growing"),
        (BUSY, "draining"),
    ],
)
def test_the_verdict_is_the_most_urgent_fact(condition: Condition, word: str) -> None:
    assert verdict(condition).word == word


def test_the_time_to_empty_needs_a_surplus_and_a_consumer() -> None:
    assert seconds_to_empty(BUSY) == 10.0
    assert seconds_to_empty(BUSY._replace(rate_out=4.0)) is None
    assert seconds_to_empty(BUSY._replace(consumers=0)) is None
