"""Verbs that inspect a topic and change nothing."""

from typing import Annotated

import typer

from pulsarctl.errors import NotFound
from pulsarctl.output.render import Output, resolve, show
from pulsarctl.shell.arguments import TIME, Subscription, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.clock import now_ms
from pulsarctl.values.message_ids import parse_message_id
from pulsarctl.values.times import parse_time_ms

app = Noun("topics", "")

PreciseBacklog = Annotated[
    bool, typer.Option("-gpb", "--get-precise-backlog", help="Count messages instead of entries, which is slower.")
]
BacklogSize = Annotated[
    bool,
    typer.Option(
        "-sbs/-no-sbs",
        "--get-subscription-backlog-size/--no-get-subscription-backlog-size",
        help="Show the size of each subscription's backlog.",
    ),
]
EarliestTime = Annotated[
    bool, typer.Option("-etb", "--get-earliest-time-in-backlog", help="Show the publish time of the oldest message.")
]


@app.verb("stats", heading=Heading.STATISTICS, watchable=True)
def stats(
    call: Call,
    topic: Topic,
    precise_backlog: PreciseBacklog = False,
    backlog_size: BacklogSize = True,
    earliest_time: EarliestTime = False,
) -> None:
    """Show the statistics of a topic, summed over its partitions.

    Example: pulsarctl topics stats orders
    """
    flags = _flags(precise_backlog, backlog_size, earliest_time)
    try:
        document = call.admin.topics.stats(topic, **flags)
    except NotFound:
        if not call.admin.topics.partitions(topic):
            raise
        document = call.admin.topics.partitioned_stats(topic, perPartition=False, **flags)
    call.show(document)


@app.verb("partitioned-stats", heading=Heading.STATISTICS, watchable=True)
def partitioned_stats(
    call: Call,
    topic: Topic,
    per_partition: Annotated[bool, typer.Option("--per-partition", help="Show each partition, too.")] = False,
    precise_backlog: PreciseBacklog = False,
    backlog_size: BacklogSize = True,
    earliest_time: EarliestTime = False,
) -> None:
    """Show the statistics of a partitioned topic.

    Example: pulsarctl topics partitioned-stats orders --per-partition
    """
    flags = _flags(precise_backlog, backlog_size, earliest_time)
    call.show(call.admin.topics.partitioned_stats(topic, perPartition=per_partition, **flags))


@app.verb("stats-internal", "internal-stats", heading=Heading.STATISTICS, watchable=True)
def stats_internal(
    call: Call,
    topic: Topic,
    metadata: Annotated[bool, typer.Option("-m", "--metadata", help="Include the metadata of the ledgers.")] = False,
) -> None:
    """Show the ledgers and cursors of a topic.

    Example: pulsarctl topics stats-internal orders
    """
    call.show(call.admin.topics.internal_stats(topic, metadata=metadata))


@app.verb("partitioned-stats-internal", heading=Heading.STATISTICS, watchable=True)
def partitioned_stats_internal(call: Call, topic: Topic) -> None:
    """Show the ledgers and cursors of each partition of a topic.

    Example: pulsarctl topics partitioned-stats-internal orders
    """
    call.show(call.admin.topics.partitioned_internal_stats(topic))


@app.verb("info-internal", "internal-info", heading=Heading.STATISTICS)
def info_internal(call: Call, topic: Topic) -> None:
    """Show the stored metadata of the ledgers and cursors of a topic.

    Example: pulsarctl topics info-internal orders
    """
    document = call.admin.topics.internal_info(topic)
    if resolve(call.output) in (Output.TEXT, Output.TABLE):
        show(document, Output.JSON)  # pulsar-admin prints this one as ordinary JSON
    else:
        call.show(document)


@app.verb("last-message-id", "lmi", heading=Heading.STATISTICS)
def last_message_id(call: Call, topic: Topic) -> None:
    """Show the ID of the last message of a topic.

    Example: pulsarctl topics last-message-id orders
    """
    call.show(call.admin.topics.last_message_id(topic))


@app.verb("get-message-id", heading=Heading.STATISTICS)
def message_id_at(
    call: Call,
    topic: Topic,
    time: Annotated[str, typer.Option("-d", "--datetime", metavar="TIME", help=TIME)],
) -> None:
    """Show the ID of the first message published at or after a time.

    Example: pulsarctl topics get-message-id orders -d 2026-01-31T12:00:00Z
    """
    time_ms = parse_time_ms(time, now_ms(), or_duration=True)
    call.show(call.admin.topics.message_id_at(topic, time_ms))
    call.notice_time("first message at or after", time_ms)


@app.verb("get-backlog-size", heading=Heading.STATISTICS)
def backlog_size(
    call: Call,
    topic: Topic,
    message_id: Annotated[
        str, typer.Option("-m", "--messageId", metavar="ID", help="Message ID, as LEDGER:ENTRY; -1:-1 is the start.")
    ] = "-1:-1",
) -> None:
    """Show the size of the messages after a message ID.

    Example: pulsarctl topics get-backlog-size orders -m 12:3
    """
    call.show(call.admin.topics.backlog_size(topic, parse_message_id(message_id)))


def _flags(precise_backlog: bool, backlog_size: bool, earliest_time: bool) -> dict[str, bool]:
    """The query parameters of the REST API."""
    return {
        "getPreciseBacklog": precise_backlog,
        "subscriptionBacklogSize": backlog_size,
        "getEarliestTimeInBacklog": earliest_time,
    }


@app.verb("analyze-backlog", heading=Heading.STATISTICS)
def analyze_backlog(
    call: Call,
    topic: Topic,
    subscription: Subscription,
    position: Annotated[
        str | None, typer.Option("-p", "--position", metavar="ID", help="Message ID to start at. Default: the cursor.")
    ] = None,
) -> None:
    """Count what a subscription has not acknowledged, by reading it.

    The broker reads a limited number of entries at a time, so the command asks it again until the end.

    Example: pulsarctl topics analyze-backlog orders -s billing
    """
    start = None if position is None else parse_message_id(position)
    call.show(call.admin.topics.analyze_backlog(topic, subscription, start))
