"""Verbs for the subscriptions of a topic; `pulsarctl subscriptions` has them under shorter names."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import TIME, Force, Properties, Subscription, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.message_ids import parse_message_id
from pulsarctl.values.quantities import parse_seconds
from pulsarctl.verbs import cursors

app = Noun("topics", "")


@app.verb("subscriptions", heading=Heading.SUBSCRIPTIONS)
def subscriptions(call: Call, topic: Topic) -> None:
    """List the subscriptions of a topic.

    Example: pulsarctl topics subscriptions orders
    """
    call.show_names("SUBSCRIPTION", call.admin.topics.subscriptions(topic))


@app.verb("create-subscription", heading=Heading.SUBSCRIPTIONS)
def create_subscription(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    message_id: Annotated[
        str,
        typer.Option(
            "-m", "--messageId", metavar="ID", help="Start of the subscription: earliest, latest, or a message ID."
        ),
    ] = "latest",
    replicated: Annotated[
        bool, typer.Option("-r", "--replicated", help="Replicate the subscription to all clusters.")
    ] = False,
    properties: Properties = None,
) -> None:
    """Create a subscription on a topic.

    Fails with exit code 6 if the subscription exists.

    Example: pulsarctl topics create-subscription orders -s billing -m earliest
    """
    position = parse_message_id(message_id)
    call.admin.topics.create_subscription(
        topic, subscription, position, replicated=replicated or None, properties=pairs(properties)
    )


@app.verb("unsubscribe", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def unsubscribe(call: Call, topic: Topic, subscription: Subscription, force: Force = False, yes: Yes = False) -> None:
    """Delete a subscription.

    A subscription that has consumers is deleted only with --force.

    Example: pulsarctl topics unsubscribe orders -s billing
    """
    call.confirm(f"Delete subscription {subscription} of {topic}?", yes=yes)
    call.admin.topics.delete_subscription(topic, subscription, force=force)


@app.verb("clear-backlog", "skip-all", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def clear_backlog(call: Call, topic: Topic, subscription: Subscription, yes: Yes = False) -> None:
    """Acknowledge all messages of a subscription.

    Example: pulsarctl topics clear-backlog orders -s billing
    """
    call.confirm(f"Clear the backlog of {subscription} in {topic}?", yes=yes)
    call.admin.topics.clear_backlog(topic, subscription)


@app.verb("skip", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def skip(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    count: Annotated[int, typer.Option("-n", "--count", help="Number of messages.")],
) -> None:
    """Acknowledge the next messages of a subscription.

    Example: pulsarctl topics skip orders -s billing -n 10
    """
    call.admin.topics.skip(topic, subscription, count)


@app.verb("expire-messages", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def expire_messages(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    time: Annotated[
        str | None, typer.Option("-t", "--expireTime", metavar="DURATION", help="Minimum age of the messages.")
    ] = None,
    position: Annotated[
        str | None,
        typer.Option("-p", "--position", metavar="ID", help="Last message to acknowledge, as LEDGER:ENTRY."),
    ] = None,
    excluded: Annotated[
        bool, typer.Option("-e", "--exclude-reset-position", help="Stop before the message of -p.")
    ] = False,
) -> None:
    """Acknowledge the messages of a subscription up to an age or a message.

    Example: pulsarctl topics expire-messages orders -s billing -t 1h
    """
    cursors.expire(call, topic, subscription, time, position, excluded)


@app.verb("expire-messages-all-subscriptions", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def expire_messages_of_all(
    call: Call,
    topic: Topic,
    time: Annotated[str, typer.Option("-t", "--expireTime", metavar="DURATION", help="Minimum age of the messages.")],
    yes: Yes = False,
) -> None:
    """Acknowledge old messages of every subscription of a topic.

    Without a terminal, this requires --yes.

    Example: pulsarctl topics expire-messages-all-subscriptions orders -t 1h --yes
    """
    call.confirm(f"Acknowledge messages older than {time} for every subscription of {topic}?", yes=yes, several=True)
    call.admin.topics.expire_all(topic, parse_seconds(time))


@app.verb("reset-cursor", heading=Heading.SUBSCRIPTIONS)
def reset_cursor(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    time: Annotated[str | None, typer.Option("-t", "--time", metavar="TIME", help=TIME)] = None,
    message_id: Annotated[
        str | None,
        typer.Option("-m", "--messageId", metavar="ID", help="Message to start at: earliest, latest, or LEDGER:ENTRY."),
    ] = None,
    excluded: Annotated[
        bool, typer.Option("-e", "--exclude-reset-position", help="Start after the message of -m.")
    ] = False,
) -> None:
    """Move a subscription to a time or a message.

    Later messages are delivered again.

    Example: pulsarctl topics reset-cursor orders -s billing -t 1h
    """
    cursors.reset(call, topic, subscription, time, message_id, excluded)
