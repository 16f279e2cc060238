"""Moves the cursor of a subscription; shared by the verbs of `topics` and `subscriptions`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pulsarctl.errors import UsageProblem
from pulsarctl.values.clock import now_ms
from pulsarctl.values.message_ids import parse_message_id
from pulsarctl.values.quantities import parse_seconds
from pulsarctl.values.times import parse_time_ms

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


def resetting(
    subscription: str, time: str | None, message_id: str | None, excluded: bool
) -> "Callable[[AdminClient, str], int | None]":
    """Return the action that resets the cursor of a topic. It returns the time in ms if the position is a time.

    A time, `earliest`, and `latest` act on all partitions. Raises `UsageProblem` unless exactly one is given.
    """
    if (time is None) == (message_id is None):
        raise UsageProblem("specify a time or a message ID, and not both", hint="use -t TIME or -m ID")
    if time is not None:
        return _resetting_to_time(subscription, parse_time_ms(time, now_ms(), or_duration=True))
    position = parse_message_id(str(message_id))
    all_parts = position.is_end and not excluded  # any other message is in one partition, and the broker checks which

    def act(admin: "AdminClient", topic: str) -> None:
        for part in admin.topics.parts(topic) if all_parts else [topic]:
            admin.topics.reset_cursor(part, subscription, position, excluded=excluded)

    return act


def _resetting_to_time(subscription: str, time_ms: int) -> "Callable[[AdminClient, str], int]":
    def act(admin: "AdminClient", topic: str) -> int:
        admin.topics.reset_cursor_to_time(topic, subscription, time_ms)
        return time_ms

    return act


def expiry(
    subscription: str, time: str | None, position: str | None, excluded: bool
) -> "Callable[[AdminClient, str], None]":
    """Return the action that expires those messages of a topic. Raises `UsageProblem`."""
    if (time is None) == (position is None):
        raise UsageProblem("specify an age or a position, and not both", hint="use -t DURATION or -p LEDGER:ENTRY")
    if time is not None:
        seconds = age_seconds(time)
        return lambda admin, topic: admin.topics.expire(topic, subscription, seconds)
    last = parse_message_id(str(position))
    return lambda admin, topic: admin.topics.expire_to(topic, subscription, last, excluded=excluded)


def age_seconds(text: str) -> int:
    """A broker would take a negative age for a moment in the future, and expire everything. Raises `UsageProblem`."""
    seconds = parse_seconds(text)
    if seconds < 0:
        raise UsageProblem(f"the age of messages cannot be negative: {text}")
    return seconds
