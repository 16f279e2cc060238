"""A setter confirms the value on a terminal and prints nothing elsewhere."""

import json
from typing import Any

import pytest

from pulsarctl.policies.storage import BACKLOG_QUOTA, RETENTION
from pulsarctl.policies.text import policy_text
from pulsarctl.values.quantities import human_duration
from tests.cli.policies.policy_lines import RATE
from tests.cli.terminal import on_a_terminal
from tests.support.program import PULSARCTL
from tests.support.runner import Cli, Outcome


@pytest.mark.parametrize(
    ("name", "body", "text"),
    [
        ("retention", {"retentionTimeInMinutes": 1440, "retentionSizeInMB": 10_240}, "time 1d, size 10.0 GiB"),
        ("retention", {"retentionTimeInMinutes": -1, "retentionSizeInMB": 0}, "no time limit, size 0 B"),
        ("message-ttl", 5400, "1h 30m"),
        ("max-message-size", 1 << 20, "1.0 MiB"),
        ("max-producers", 10, "10"),
        ("deduplication", True, "on"),
        ("subscription-types-enabled", ["Shared", "Failover"], "Shared, Failover"),
        (
            "delayed-delivery",
            {"tickTime": 100, "active": True, "maxDeliveryDelayInMillis": 0},
            "on, tick time 100ms",
        ),
        (
            "publish-rate",
            {"publishThrottlingRateInMsg": 1000, "publishThrottlingRateInByte": -1},
            "messages 1,000",
        ),
        ("publish-rate", {"publishThrottlingRateInMsg": 0, "publishThrottlingRateInByte": -1}, "no limit"),
        ("dispatch-rate", json.loads(RATE % (5, -1, "true", 2)), "messages 5, on top of the publish rate, per 2s"),
        ("dispatch-rate", json.loads(RATE % (0, 0, "false", 1)), "no limit"),
        ("subscribe-rate", {"subscribeThrottlingRatePerConsumer": -1, "ratePeriodInSecond": 30}, "no limit"),
        ("delayed-delivery", {"tickTime": 100, "active": False, "maxDeliveryDelayInMillis": 0}, "off"),
        ("inactive-topic-policies", {"maxInactiveDurationSeconds": 60, "deleteWhileInactive": False}, "off"),
        ("auto-subscription-creation", {"allowAutoSubscriptionCreation": True}, "on"),
        ("encryption-required", False, "off"),
        ("max-producers-per-topic", 0, "no limit"),
        ("max-message-size", 0, "no limit"),
        ("max-unacked-messages-per-consumer", 50_000, "50,000"),
        ("message-ttl", 0, "no expiry"),
        ("compaction-threshold", 0, "never"),
        ("subscription-expiration-time", 0, "never"),
        ("deduplication-snapshot-interval", 0, "off"),
        ("anything", {"newField": 7}, "newField 7"),
    ],
)
def test_a_policy_is_shown_in_readable_units(name: str, body: Any, text: str) -> None:
    assert policy_text(name, body) == text


def test_a_duration_is_shown_in_its_largest_units() -> None:
    assert [human_duration(ms) for ms in (0, 500, 61_000, 129_600_000)] == ["0s", "500ms", "1m 1s", "1d 12h"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("namespaces", "set-retention", "public/default", "-t", "2d", "-s", "10G"),
            "retention of public/default: time 2d, size 10.0 GiB\r\n",
        ),
        (
            ("namespaces", "remove-retention", "public/default"),
            "removed the retention policy of public/default: the broker's default applies\r\n",
        ),
        (
            ("namespaces", "set-schema-validation-enforce", "public/default", "--disable"),
            "schema-validation-enforce of public/default: off\r\n",
        ),
        (("namespaces", "set-properties", "public/default", "-p", "a=b"), "properties of public/default: a=b\r\n"),
    ],
    ids=lambda words: words[1] if isinstance(words, tuple) else "said",
)
def test_a_setter_confirms_the_value_on_a_terminal(cli: Cli, words: tuple[str, ...], said: str) -> None:
    command = [str(PULSARCTL), *words, "--admin-url", str(cli.environ["PULSARCTL_ADMIN_URL"])]
    assert on_a_terminal(command) == said
    assert cli(*words) == Outcome(0, "", "")


def test_the_examples_of_retention_and_backlog_quota_work_one_after_the_other(cli: Cli) -> None:
    for policy in (RETENTION, BACKLOG_QUOTA):
        assert cli("namespaces", f"set-{policy.name}", "public/default", *policy.example.split()) == Outcome(0, "", "")
    for name in ("backlog-quota", "retention"):
        assert cli("namespaces", f"remove-{name}", "public/default").exit_code == 0
