"""`pulsarctl subscriptions`: the Go tool's shorter names. The subscription follows the topic, or comes with `-s`."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import TIME, Force, Properties, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.message_ids import parse_message_id
from pulsarctl.verbs import cursors, peeking

app = Noun("subscriptions", "Create, list, move, and delete the subscriptions of a topic.")

Name = Annotated[
    str | None, typer.Argument(metavar="SUBSCRIPTION", help="Name of the subscription, if not given with -s.")
]
Option = Annotated[
    str | None, typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Name of the subscription.")
]


@app.verb("list", "l")
def list_subscriptions(call: Call, topic: Topic) -> None:
    """List the subscriptions of a topic.

    Example: pulsarctl subscriptions list orders
    """
    call.show_names("SUBSCRIPTION", call.admin.topics.subscriptions(topic))


@app.verb("create", "c")
def create(
    call: Call,
    topic: Topic,
    name: Name = None,
    subscription: Option = None,
    message_id: Annotated[
        str,
        typer.Option(
            "-m",
            "--messageId",
            "--message-id",
            metavar="ID",
            help="Start of the subscription: earliest, latest, or LEDGER:ENTRY.",
        ),
    ] = "latest",
    properties: Properties = None,
) -> None:
    """Create a subscription on a topic.

    Fails with exit code 6 if the subscription exists.

    Example: pulsarctl subscriptions create orders billing -m earliest
    """
    position = parse_message_id(message_id)
    call.admin.topics.create_subscription(topic, _one(name, subscription), position, properties=pairs(properties))


@app.verb("delete", "d", loses_data=True)
def delete(
    call: Call, topic: Topic, name: Name = None, subscription: Option = None, force: Force = False, yes: Yes = False
) -> None:
    """Delete a subscription.

    A subscription that has consumers is deleted only with --force.

    Example: pulsarctl subscriptions delete orders billing
    """
    chosen = _one(name, subscription)
    call.confirm(f"Delete subscription {chosen} of {topic}?", yes=yes)
    call.admin.topics.delete_subscription(topic, chosen, force=force)


@app.verb("skip", loses_data=True)
def skip(
    call: Call,
    topic: Topic,
    name: Name = None,
    subscription: Option = None,
    count: Annotated[int | None, typer.Option("-n", "--count", help="Number of messages.")] = None,
    everything: Annotated[bool, typer.Option("-a", "--all", help="Skip the whole backlog.")] = False,
    yes: Yes = False,
) -> None:
    """Acknowledge the next or all messages of a subscription.

    Example: pulsarctl subscriptions skip orders billing -n 10
    """
    chosen = _one(name, subscription)
    if everything:
        call.confirm(f"Clear the backlog of {chosen} in {topic}?", yes=yes)
        call.admin.topics.clear_backlog(topic, chosen)
    elif count is None:
        raise UsageProblem("no number of messages given", hint="use -n COUNT or --all")
    else:
        call.admin.topics.skip(topic, chosen, count)


@app.verb("peek")
def peek(
    call: Call,
    topic: Topic,
    name: Name = None,
    subscription: Option = None,
    messages: peeking.Count = 1,
    template: peeking.Format = None,
) -> None:
    """Show the next messages of a subscription without acknowledging them.

    Creates the subscription if it does not exist.

    Example: pulsarctl subscriptions peek orders billing -n 3
    """
    peeking.peek(call, topic, _one(name, subscription), messages, template)


@app.verb("get-message-by-id")
def get_message_by_id(
    call: Call,
    topic: Topic,
    ledger: Annotated[int, typer.Option("-l", "--ledger-id", "--ledgerId", help="Ledger ID of the message.")],
    entry: Annotated[int, typer.Option("-e", "--entry-id", "--entryId", help="Entry ID of the message.")],
    template: peeking.Format = None,
) -> None:
    """Show a message by its ID.

    Shows all messages of a batch.

    Example: pulsarctl subscriptions get-message-by-id orders -l 4 -e 17
    """
    peeking.show_entry(call, topic, call.admin.topics.message(topic, ledger, entry), template)


@app.verb("expire", loses_data=True)
def expire(
    call: Call,
    topic: Topic,
    name: Name = None,
    subscription: Option = None,
    time: Annotated[
        str | None,
        typer.Option("-t", "--expire-time", "--expireTime", metavar="DURATION", help="Minimum age of the messages."),
    ] = None,
    position: Annotated[
        str | None, typer.Option("-p", "--position", metavar="ID", help="Last message to acknowledge, as LEDGER:ENTRY.")
    ] = None,
) -> None:
    """Acknowledge the messages of a subscription up to an age or a message.

    Example: pulsarctl subscriptions expire orders billing -t 1h
    """
    cursors.expire(call, topic, _one(name, subscription), time, position, False)


@app.verb("seek")
def seek(
    call: Call,
    topic: Topic,
    name: Name = None,
    subscription: Option = None,
    time: Annotated[str | None, typer.Option("-t", "--time", metavar="TIME", help=TIME)] = None,
    message_id: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--message-id",
            "--messageId",
            metavar="ID",
            help="Message to start at: earliest, latest, or LEDGER:ENTRY.",
        ),
    ] = None,
) -> None:
    """Move a subscription to a time or a message.

    Later messages are delivered again.

    Example: pulsarctl subscriptions seek orders billing -t 1h
    """
    cursors.reset(call, topic, _one(name, subscription), time, message_id)


def _one(name: str | None, option: str | None) -> str:
    chosen = option or name
    if not chosen:
        raise UsageProblem("no subscription given", hint="specify it after the topic, or with -s")
    return chosen
