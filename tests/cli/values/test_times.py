"""The grammar of times, which all commands share."""

import pulsar
import pytest

from pulsarctl.errors import UsageProblem
from pulsarctl.values.times import parse_time_ms, utc
from tests.cli.publishing import publish
from tests.support.runner import Cli

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
FUTURE = ("1767225600000", "1767225600", "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00")


@pytest.mark.parametrize("text", FUTURE)
@pytest.mark.parametrize("prefix", ["", "@"])
@pytest.mark.parametrize("or_duration", [False, True])
def test_a_time_means_the_same_everywhere(text: str, prefix: str, or_duration: bool) -> None:
    assert parse_time_ms(prefix + text, NOW_MS, or_duration=or_duration) == 1_767_225_600_000


def test_a_time_without_an_offset_is_utc() -> None:
    assert parse_time_ms("2026-01-01T12:00", NOW_MS) == 1_767_225_600_000 + 12 * HOUR_MS


@pytest.mark.parametrize("text", ["1h", "3600", "@-1h", "-1h", "@1h", "PT1H"])
def test_a_bare_duration_is_that_long_ago_where_pulsar_admin_allows_one(text: str) -> None:
    assert parse_time_ms(text, NOW_MS, or_duration=True) == NOW_MS - HOUR_MS


@pytest.mark.parametrize("text", ["", "@", "yesterday", "@12345", "-", "1h", "-100y", "@-9999y", "2026-13-01"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        parse_time_ms(text, NOW_MS)


def test_a_time_is_shown_with_its_offset() -> None:
    assert utc(1_767_225_600_123) == "2026-01-01T00:00:00.123Z"


@pytest.mark.parametrize("time", ["@1767225600000", "1767225600000", "2026-01-01", "2026-01-01T01:00+01:00"])
@pytest.mark.parametrize("words", [("topics", "reset-cursor"), ("subscriptions", "seek")], ids=lambda words: words[1])
def test_moving_a_subscription_reports_the_resolved_time(
    cli: Cli, client: pulsar.Client, topic: str, words: tuple[str, str], time: str
) -> None:
    client.subscribe(topic, "s").close()
    outcome = cli(*words, topic, "-s", "s", "-t", time)
    assert (outcome.exit_code, outcome.stdout) == (0, "")
    assert outcome.stderr == f"subscription s of {topic} moved to 2026-01-01T00:00:00.000Z\n"


def test_a_cursor_reset_to_a_later_time_replays_nothing(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"old")
    assert cli("consume", topic, "-s", "s", "-p", "Earliest", "-e").exit_code == 0
    assert cli("topics", "reset-cursor", topic, "-s", "s", "-t", "@4102444800000").exit_code == 0
    assert cli("consume", topic, "-s", "s", "-e").stdout == ""


@pytest.mark.parametrize("command", ["consume", "read"])
def test_the_resolved_start_and_end_are_reported(cli: Cli, client: pulsar.Client, topic: str, command: str) -> None:
    publish(client, topic, b"a")
    outcome = cli(command, topic, "--from", "@2026-01-01", "--to", "@1767225600000")
    assert "from 2026-01-01T00:00:00.000Z\nto 2026-01-01T00:00:00.000Z\n" in outcome.stderr


def test_produce_reports_the_resolved_times(cli: Cli, topic: str) -> None:
    outcome = cli("produce", topic, "-m", "x", "--event-time", "2026-01-01", "--deliver-at", "@1767225600000")
    assert outcome.stderr.startswith("event time 2026-01-01T00:00:00.000Z\ndeliver at 2026-01-01T00:00:00.000Z\n")


def test_get_message_id_accepts_the_same_times(cli: Cli, client: pulsar.Client, topic: str) -> None:
    publish(client, topic, b"a")
    outcome = cli("topics", "get-message-id", topic, "-d", "@1767225600000")
    assert outcome.exit_code == 0
    assert outcome.stderr == "first message at or after 2026-01-01T00:00:00.000Z\n"
