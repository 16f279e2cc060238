"""Verbs that act on the subscriptions of a topic; `pulsarctl subscriptions` has them under shorter names."""

from typing import Annotated

import typer

from pulsarctl.admin.topics import MessageId
from pulsarctl.shell.arguments import TIME, Force, Properties, Subscription, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.quantities import parse_seconds
from pulsarctl.verbs import cursors

app = Noun("topics", "")


@app.verb("subscriptions")
def subscriptions(call: Call, topic: Topic) -> None:
    """List the subscriptions of a topic.

    Example: pulsarctl topics subscriptions orders
    """
    call.show_names("SUBSCRIPTION", call.admin.topics.subscriptions(topic))


@app.verb("create-subscription")
def create_subscription(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    message_id: Annotated[
        str, typer.Option("-m", "--messageId", metavar="POSITION", help="earliest, latest or LEDGER:ENTRY.")
    ] = "latest",
    replicated: Annotated[bool, typer.Option("-r", "--replicated", help="In all clusters.")] = False,
    properties: Properties = None,
) -> None:
    """Create a subscription, so that messages are kept for it. Fails with 409 when it exists.

    Example: pulsarctl topics create-subscription orders -s billing -m earliest
    """
    position = MessageId.parse(message_id)
    call.admin.topics.create_subscription(
        topic, subscription, position, replicated=replicated or None, properties=pairs(properties)
    )


@app.verb("unsubscribe", loses_data=True)
def unsubscribe(call: Call, topic: Topic, subscription: Subscription, force: Force = False, yes: Yes = False) -> None:
    """Delete a subscription. Fails with 412 while it has consumers, unless forced.

    Example: pulsarctl topics unsubscribe orders -s billing
    """
    call.confirm(f"Delete subscription {subscription} of {topic}?", yes=yes)
    call.admin.topics.delete_subscription(topic, subscription, force=force)


@app.verb("clear-backlog", "skip-all", loses_data=True)
def clear_backlog(call: Call, topic: Topic, subscription: Subscription, yes: Yes = False) -> None:
    """Acknowledge everything of a subscription.

    Example: pulsarctl topics clear-backlog orders -s billing
    """
    call.confirm(f"Clear the backlog of {subscription} in {topic}?", yes=yes)
    call.admin.topics.clear_backlog(topic, subscription)


@app.verb("skip", loses_data=True)
def skip(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    count: Annotated[int, typer.Option("-n", "--count", help="How many messages.")],
) -> None:
    """Acknowledge the next messages of a subscription.

    Example: pulsarctl topics skip orders -s billing -n 10
    """
    call.admin.topics.skip(topic, subscription, count)


@app.verb("expire-messages", loses_data=True)
def expire_messages(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    time: Annotated[str | None, typer.Option("-t", "--expireTime", metavar="DURATION", help="Older than.")] = None,
    position: Annotated[str | None, typer.Option("-p", "--position", help="Up to LEDGER:ENTRY.")] = None,
    excluded: Annotated[bool, typer.Option("-e", "--exclude-reset-position", help="Without it.")] = False,
) -> None:
    """Acknowledge the old messages of a subscription.

    Example: pulsarctl topics expire-messages orders -s billing -t 1h
    """
    cursors.expire(call, topic, subscription, time, position, excluded)


@app.verb("expire-messages-all-subscriptions", loses_data=True)
def expire_messages_of_all(
    call: Call,
    topic: Topic,
    time: Annotated[str, typer.Option("-t", "--expireTime", metavar="DURATION", help="Older than.")],
    yes: Yes = False,
) -> None:
    """Acknowledge the old messages of every subscription. Without a terminal it needs --yes.

    Example: pulsarctl topics expire-messages-all-subscriptions orders -t 1h --yes
    """
    call.confirm(f"Acknowledge what is older than {time} for every subscription of {topic}?", yes=yes, several=True)
    call.admin.topics.expire_all(topic, parse_seconds(time))


@app.verb("reset-cursor")
def reset_cursor(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    time: Annotated[str | None, typer.Option("-t", "--time", metavar="TIME", help=TIME)] = None,
    message_id: Annotated[
        str | None, typer.Option("-m", "--messageId", metavar="POSITION", help="earliest, latest or LEDGER:ENTRY.")
    ] = None,
    excluded: Annotated[bool, typer.Option("-e", "--exclude-reset-position", help="Start behind it.")] = False,
) -> None:
    """Move a subscription to a time or a message; what lies behind it is delivered again.

    Example: pulsarctl topics reset-cursor orders -s billing -t 1h
    """
    cursors.reset(call, topic, subscription, time, message_id, excluded)
