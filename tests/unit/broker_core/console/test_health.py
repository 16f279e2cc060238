"""What the console says about a subscription, from its stats."""

from typing import Any

import pytest

from broker_core.console.health import health_of

READY: dict[str, Any] = {"availablePermits": 100}
BLOCKED: dict[str, Any] = {"availablePermits": 100, "blockedConsumerOnUnackedMsgs": True}


@pytest.mark.parametrize(
    ("stats", "word", "reason"),
    [
        ({"msgBacklog": 0}, "empty", "no backlog"),
        ({"msgBacklog": 3}, "stuck", "No consumer"),
        ({"msgBacklog": 3, "consumers": [BLOCKED], "unackedMessages": 9}, "stuck", "hold 9 messages, too many"),
        ({"msgBacklog": 3, "consumers": [READY], "msgRateOut": 1.5}, "delivering", "get messages"),
        ({"msgBacklog": 3, "consumers": [READY], "msgDelayed": 3}, "waiting", "delayed"),
        ({"msgBacklog": 3, "consumers": [READY], "unackedMessages": 2}, "stuck", "acknowledge none"),
        ({"msgBacklog": 3, "consumers": [{"availablePermits": 0}]}, "stuck", "do not ask"),
        ({"msgBacklog": 3, "consumers": [READY]}, "waiting", "ready"),
    ],
)
def test_the_state_of_a_subscription_has_a_word_and_a_reason(stats: dict[str, Any], word: str, reason: str) -> None:
    found = health_of(stats)
    assert found.word == word
    assert reason in found.reason
