"""Verbs for the subscriptions of a topic; `pulsarctl subscriptions` has them under shorter names."""

from typing import Annotated

import typer

from pulsarctl.shell.arguments import (
    PARALLEL_DEFAULT,
    Force,
    Parallel,
    Subscription,
    Topic,
    Yes,
)
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.targets import cursors
from pulsarctl.targets import subscriptions as many_subscriptions
from pulsarctl.targets.many import shown
from pulsarctl.targets.subscriptions import expire_each
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen

app = Noun("topics", "")


@app.verb("subscriptions", heading=Heading.SUBSCRIPTIONS, watchable=True)
def subscriptions(call: Call, topic: Topic) -> None:
    """List the subscriptions of a topic.

    Example: pulsarctl topics subscriptions orders
    """
    call.show_names("SUBSCRIPTION", call.admin.topics.subscriptions(topic))


@app.verb("unsubscribe", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def unsubscribe(
    call: Call,
    subscription: Subscription,
    topics: Topics = None,
    force: Force = False,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Delete a subscription of topics.

    A subscription that has consumers is deleted only with --force. Without a terminal, several topics require --yes.
    --regex and --namespace pass over topics without the subscription.

    Example: pulsarctl topics unsubscribe orders -s billing
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.delete(call, names, subscription, force=force, yes=yes, parallel=parallel, verb="unsubscribe")


@app.verb("clear-backlog", "skip-all", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def clear_backlog(
    call: Call,
    subscription: Subscription,
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Acknowledge all messages of a subscription of topics.

    Without a terminal, several topics require --yes. --regex and --namespace pass over topics without the subscription.

    Example: pulsarctl topics clear-backlog orders -s billing
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.clear_backlogs(call, names, subscription, yes=yes, parallel=parallel)


@app.verb("expire-messages", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def expire_messages(
    call: Call,
    subscription: Subscription,
    topics: Topics = None,
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
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Acknowledge the messages of a subscription of topics up to an age or a message.

    Without a terminal, several topics require --yes. --regex and --namespace pass over topics without the subscription,
    and subscriptions without old messages, for which the broker refuses the request.

    Example: pulsarctl topics expire-messages orders -s billing -t 1h
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.expire(call, names, subscription, time, position, excluded=excluded, yes=yes, parallel=parallel)


@app.verb("expire-messages-all-subscriptions", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def expire_messages_of_all(
    call: Call,
    time: Annotated[str, typer.Option("-t", "--expireTime", metavar="DURATION", help="Minimum age of the messages.")],
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Acknowledge old messages of every subscription of topics.

    Without a terminal, this requires --yes.

    Example: pulsarctl topics expire-messages-all-subscriptions orders -t 1h --yes
    """
    seconds = cursors.age_seconds(time)
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        question = f"Acknowledge messages older than {time} for every subscription of {shown(names)}?"
        call.confirm(question, yes=yes, several=True)
        expire_each(call, names, lambda admin, topic: admin.topics.expire_all(topic, seconds), parallel)
