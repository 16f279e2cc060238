"""`pulsarctl subscriptions`: the Go tool's shorter names; the topic first, the subscription second or with `-s`."""

from typing import Annotated

import typer

from pulsarctl.admin.topics import MessageId
from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import TIME, Force, Properties, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.verbs import cursors, peeking

app = Noun("subscriptions", "List, create, move and delete subscriptions of a topic.")

Name = Annotated[str | None, typer.Argument(metavar="SUBSCRIPTION", help="Or with -s.")]
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
        str, typer.Option("-m", "--messageId", "--message-id", metavar="POSITION", help="earliest, latest or id.")
    ] = "latest",
    properties: Properties = None,
) -> None:
    """Create a subscription, so that messages are kept for it. Fails with 409 when it exists.

    Example: pulsarctl subscriptions create orders billing -m earliest
    """
    position = MessageId.parse(message_id)
    call.admin.topics.create_subscription(topic, _one(name, subscription), position, properties=pairs(properties))


@app.verb("delete", "d", loses_data=True)
def delete(
    call: Call, topic: Topic, name: Name = None, subscription: Option = None, force: Force = False, yes: Yes = False
) -> None:
    """Delete a subscription. Fails with 412 while it has consumers, unless forced.

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
    count: Annotated[int | None, typer.Option("-n", "--count", help="How many messages.")] = None,
    everything: Annotated[bool, typer.Option("-a", "--all", help="The whole backlog.")] = False,
    yes: Yes = False,
) -> None:
    """Acknowledge the next messages of a subscription, or all of them.

    Example: pulsarctl subscriptions skip orders billing -n 10
    """
    chosen = _one(name, subscription)
    if everything:
        call.confirm(f"Clear the backlog of {chosen} in {topic}?", yes=yes)
        call.admin.topics.clear_backlog(topic, chosen)
    elif count is None:
        raise UsageProblem("skip how many?", hint="-n COUNT or --all")
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
    """Show the next messages of a subscription, which go on waiting for it. One that is not there is made.

    Example: pulsarctl subscriptions peek orders billing -n 3
    """
    peeking.peek(call, topic, _one(name, subscription), messages, template)


@app.verb("get-message-by-id")
def get_message_by_id(
    call: Call,
    topic: Topic,
    ledger: Annotated[int, typer.Option("-l", "--ledger-id", "--ledgerId", help="Its ledger.")],
    entry: Annotated[int, typer.Option("-e", "--entry-id", "--entryId", help="Its entry.")],
    template: peeking.Format = None,
) -> None:
    """Show the message of an id; of a batch all messages.

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
        str | None, typer.Option("-t", "--expire-time", "--expireTime", metavar="DURATION", help="Older than.")
    ] = None,
    position: Annotated[str | None, typer.Option("-p", "--position", help="Up to LEDGER:ENTRY.")] = None,
) -> None:
    """Acknowledge the old messages of a subscription.

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
        typer.Option("-m", "--message-id", "--messageId", metavar="POSITION", help="earliest, latest or id."),
    ] = None,
) -> None:
    """Move a subscription to a time or a message; what lies behind it is delivered again.

    Example: pulsarctl subscriptions seek orders billing -t 1h
    """
    cursors.reset(call, topic, _one(name, subscription), time, message_id, False)


def _one(name: str | None, option: str | None) -> str:
    chosen = option or name
    if not chosen:
        raise UsageProblem("which subscription?", hint="write it behind the topic, or with -s")
    return chosen
