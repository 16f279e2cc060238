"""What one does to a subscription's cursor: the same calls under `topics` and under `subscriptions`."""

from pulsarctl.admin.topics import MessageId
from pulsarctl.errors import UsageProblem
from pulsarctl.shell.call import Call
from pulsarctl.values.clock import now_ms
from pulsarctl.values.quantities import parse_seconds
from pulsarctl.values.times import parse_time_ms


def reset(call: Call, topic: str, subscription: str, time: str | None, message_id: str | None, excluded: bool) -> None:
    """To a time (all partitions), or to a message id; `earliest` and `latest` act on all partitions, too.

    Raises `UsageProblem` when neither or both are given.
    """
    if (time is None) == (message_id is None):
        raise UsageProblem("reset to what?", hint="either -t TIME or -m MESSAGE_ID")
    if time is not None:
        time_ms = parse_time_ms(time, now_ms(), or_duration=True)
        call.admin.topics.reset_cursor_to_time(topic, subscription, time_ms)
        call.notice_time(f"subscription {subscription} of {topic} is moved to", time_ms)
        return
    position = MessageId.parse(str(message_id))
    whole = position.is_end and not excluded  # one message is in one partition; the broker says so
    for part in call.admin.topics.parts(topic) if whole else [topic]:
        call.admin.topics.reset_cursor(part, subscription, position, excluded=excluded)


def expire(call: Call, topic: str, subscription: str, time: str | None, position: str | None, excluded: bool) -> None:
    """Acknowledges everything older than a duration, or up to a position. Raises `UsageProblem`."""
    if (time is None) == (position is None):
        raise UsageProblem("expire what?", hint="either -t DURATION or -p LEDGER:ENTRY")
    if time is not None:
        call.admin.topics.expire(topic, subscription, parse_seconds(time))
    else:
        call.admin.topics.expire_to(topic, subscription, MessageId.parse(str(position)), excluded=excluded)
