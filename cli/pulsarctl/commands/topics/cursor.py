"""Verbs that create subscriptions of topics and move their cursors."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.shell.arguments import PARALLEL_DEFAULT, TIME, Parallel, Properties, Subscription, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.targets import subscriptions as many_subscriptions
from pulsarctl.targets.many import act_on, shown
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, RegexWithoutR, Topics, chosen
from pulsarctl.values.message_ids import parse_message_id

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

app = Noun("topics", "")


@app.verb("create-subscription", heading=Heading.SUBSCRIPTIONS)
def create_subscription(
    call: Call,
    subscription: Subscription,
    topics: Topics = None,
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
    regex: RegexWithoutR = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Create a subscription on topics.

    Fails with exit code 6 if the subscription exists.

    Example: pulsarctl topics create-subscription orders -s billing -m earliest
    """
    position, properties_by_key = parse_message_id(message_id), pairs(properties)

    def create(admin: "AdminClient", topic: str) -> None:
        admin.topics.create_subscription(
            topic, subscription, position, replicated=replicated or None, properties=properties_by_key
        )

    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        act_on(call, names, create, verb="create the subscription of", parallel=parallel)


@app.verb("skip", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def skip(
    call: Call,
    subscription: Subscription,
    count: Annotated[int, typer.Option("-n", "--count", help="Number of messages.")],
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Acknowledge the next messages of a subscription of topics.

    Example: pulsarctl topics skip orders -s billing -n 10
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        if names.several:
            call.confirm(f"Skip {count} messages of {subscription} in {shown(names)}?", yes=yes, several=True)

        def act(admin: "AdminClient", topic: str) -> None:
            admin.topics.skip(topic, subscription, count)

        act_on(call, names, act, verb="skip messages of", parallel=parallel)


@app.verb("reset-cursor", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def reset_cursor(
    call: Call,
    subscription: Subscription,
    topics: Topics = None,
    time: Annotated[str | None, typer.Option("-t", "--time", metavar="TIME", help=TIME)] = None,
    message_id: Annotated[
        str | None,
        typer.Option("-m", "--messageId", metavar="ID", help="Message to start at: earliest, latest, or LEDGER:ENTRY."),
    ] = None,
    excluded: Annotated[
        bool, typer.Option("-e", "--exclude-reset-position", help="Start after the message of -m.")
    ] = False,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Move a subscription of topics to a time or a message.

    Later messages are delivered again.

    Example: pulsarctl topics reset-cursor orders -s billing -t 1h
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.seek(
        call,
        names,
        subscription,
        time,
        message_id,
        excluded=excluded,
        yes=yes,
        parallel=parallel,
        verb="reset the cursor of",
    )
