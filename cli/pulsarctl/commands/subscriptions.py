"""`pulsarctl subscriptions`: the Go tool's shorter names. The subscription follows the topic, or comes with `-s`."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.peek import peeking
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, TIME, Force, Parallel, Properties, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.targets import subscriptions as many_subscriptions
from pulsarctl.targets.many import act_on
from pulsarctl.targets.subscriptions import TopicsAndSubscription, topics_and_subscription
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, chosen
from pulsarctl.values.message_ids import parse_message_id

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

app = Noun("subscriptions", "Create, list, move, and delete the subscriptions of a topic.")

Name = Annotated[
    str | None, typer.Argument(metavar="SUBSCRIPTION", help="Name of the subscription, if not given with -s.")
]
Option = Annotated[
    str | None, typer.Option("-s", "--subscription", metavar="SUBSCRIPTION", help="Name of the subscription.")
]


@app.verb("list", "l", watchable=True)
def list_subscriptions(call: Call, topic: Topic) -> None:
    """List the subscriptions of a topic.

    Example: pulsarctl subscriptions list orders
    """
    call.show_names("SUBSCRIPTION", call.admin.topics.subscriptions(topic))


@app.verb("create", "c")
def create(
    call: Call,
    topics: TopicsAndSubscription = None,
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
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Create a subscription on topics.

    Fails with exit code 6 if the subscription exists. If some of several topics fail, the others are done, and the exit
    code is 10.

    Example: pulsarctl subscriptions create orders billing -m earliest
    """
    position, new_properties = parse_message_id(message_id), pairs(properties)
    topic_names, name = topics_and_subscription(topics, subscription)
    names = chosen(call, topic_names, regex=regex, from_file=from_file, namespace=namespace)

    def create_on(admin: "AdminClient", topic: str) -> None:
        admin.topics.create_subscription(topic, name, position, properties=new_properties)

    if names:
        act_on(call, names, create_on, verb="create", parallel=parallel)


@app.verb("delete", "d", loses_data=True)
def delete(
    call: Call,
    topics: TopicsAndSubscription = None,
    subscription: Option = None,
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

    Example: pulsarctl subscriptions delete orders billing
    """
    topic_names, name = topics_and_subscription(topics, subscription)
    names = chosen(call, topic_names, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.delete(call, names, name, force=force, yes=yes, parallel=parallel, verb="delete")


@app.verb("skip", loses_data=True)
def skip(
    call: Call,
    topics: TopicsAndSubscription = None,
    subscription: Option = None,
    count: Annotated[int | None, typer.Option("-n", "--count", help="Number of messages.")] = None,
    everything: Annotated[bool, typer.Option("-a", "--all", help="Skip the whole backlog.")] = False,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Acknowledge the next or all messages of a subscription of topics.

    Without a terminal, several topics require --yes. --regex and --namespace pass over topics without the subscription.

    Example: pulsarctl subscriptions skip orders billing -n 10
    """
    if count is None and not everything:
        raise UsageProblem("no number of messages given", hint="use -n COUNT or --all")
    topic_names, name = topics_and_subscription(topics, subscription)
    names = chosen(call, topic_names, regex=regex, from_file=from_file, namespace=namespace)
    if everything or count is None:
        many_subscriptions.clear_backlogs(call, names, name, yes=yes, parallel=parallel)
    else:
        many_subscriptions.skip(call, names, name, count, yes=yes, parallel=parallel)


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
    peeking.peek(call, topic, _subscription_name(name, subscription), messages, template)


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
    topics: TopicsAndSubscription = None,
    subscription: Option = None,
    time: Annotated[
        str | None,
        typer.Option("-t", "--expire-time", "--expireTime", metavar="DURATION", help="Minimum age of the messages."),
    ] = None,
    position: Annotated[
        str | None, typer.Option("-p", "--position", metavar="ID", help="Last message to acknowledge, as LEDGER:ENTRY.")
    ] = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Acknowledge the messages of a subscription of topics up to an age or a message.

    Without a terminal, several topics require --yes. --regex and --namespace pass over topics without the subscription,
    and subscriptions without old messages, for which the broker refuses the request.

    Example: pulsarctl subscriptions expire orders billing -t 1h
    """
    topic_names, name = topics_and_subscription(topics, subscription)
    names = chosen(call, topic_names, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.expire(call, names, name, time, position, excluded=False, yes=yes, parallel=parallel)


@app.verb("seek")
def seek(
    call: Call,
    topics: TopicsAndSubscription = None,
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
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Move a subscription of topics to a time or a message.

    Later messages are delivered again. Without a terminal, several topics require --yes. --regex and --namespace pass
    over topics without the subscription.

    Example: pulsarctl subscriptions seek orders billing -t 1h
    """
    topic_names, name = topics_and_subscription(topics, subscription)
    names = chosen(call, topic_names, regex=regex, from_file=from_file, namespace=namespace)
    many_subscriptions.seek(call, names, name, time, message_id, yes=yes, parallel=parallel)


def _subscription_name(name: str | None, option: str | None) -> str:
    subscription = option or name
    if not subscription:
        raise UsageProblem("no subscription given", hint="specify it after the topic, or with -s")
    return subscription
