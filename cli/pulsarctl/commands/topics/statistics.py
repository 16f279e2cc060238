"""Verbs that look at a topic and change nothing."""

from typing import Annotated

import typer

from pulsarctl.admin.topics import MessageId
from pulsarctl.errors import NotFound
from pulsarctl.output.render import Output, resolve, show
from pulsarctl.shell.arguments import TIME, Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import now_ms
from pulsarctl.values.times import parse_time_ms

app = Noun("topics", "")

PreciseBacklog = Annotated[
    bool, typer.Option("-gpb", "--get-precise-backlog", help="Count messages, not entries; slower.")
]
BacklogSize = Annotated[
    bool,
    typer.Option(
        "-sbs/-no-sbs",
        "--get-subscription-backlog-size/--no-get-subscription-backlog-size",
        help="Bytes of each subscription's backlog.",
    ),
]
EarliestTime = Annotated[
    bool, typer.Option("-etb", "--get-earliest-time-in-backlog", help="When the oldest message was published.")
]


@app.verb("stats")
def stats(
    call: Call,
    topic: Topic,
    precise_backlog: PreciseBacklog = False,
    backlog_size: BacklogSize = True,
    earliest_time: EarliestTime = False,
) -> None:
    """Show rates, sizes, producers and subscriptions; of a partitioned topic their sums.

    Example: pulsarctl topics stats orders
    """
    flags = _flags(precise_backlog, backlog_size, earliest_time)
    try:
        found = call.admin.topics.stats(topic, **flags)
    except NotFound:
        if not call.admin.topics.partitions(topic):
            raise
        found = call.admin.topics.partitioned_stats(topic, perPartition=False, **flags)
    call.show(found)


@app.verb("partitioned-stats")
def partitioned_stats(
    call: Call,
    topic: Topic,
    per_partition: Annotated[bool, typer.Option("--per-partition", help="Each partition's, too.")] = False,
    precise_backlog: PreciseBacklog = False,
    backlog_size: BacklogSize = True,
    earliest_time: EarliestTime = False,
) -> None:
    """Show the sums over the partitions of a partitioned topic. Fails with 404 when it is none.

    Example: pulsarctl topics partitioned-stats orders --per-partition
    """
    flags = _flags(precise_backlog, backlog_size, earliest_time)
    call.show(call.admin.topics.partitioned_stats(topic, perPartition=per_partition, **flags))


@app.verb("stats-internal", "internal-stats")
def stats_internal(
    call: Call,
    topic: Topic,
    metadata: Annotated[bool, typer.Option("-m", "--metadata", help="Of the ledgers, too.")] = False,
) -> None:
    """Show the ledgers and cursors of a topic.

    Example: pulsarctl topics stats-internal orders
    """
    call.show(call.admin.topics.internal_stats(topic, metadata=metadata))


@app.verb("partitioned-stats-internal")
def partitioned_stats_internal(call: Call, topic: Topic) -> None:
    """Show the ledgers and cursors of every partition.

    Example: pulsarctl topics partitioned-stats-internal orders
    """
    call.show(call.admin.topics.partitioned_internal_stats(topic))


@app.verb("info-internal", "internal-info")
def info_internal(call: Call, topic: Topic) -> None:
    """Show what is stored about the ledgers and cursors of a topic.

    Example: pulsarctl topics info-internal orders
    """
    found = call.admin.topics.internal_info(topic)
    if resolve(call.output) in (Output.TEXT, Output.TABLE):
        show(found, Output.JSON)  # the one document that pulsar-admin lays out like everybody else
    else:
        call.show(found)


@app.verb("last-message-id", "lmi")
def last_message_id(call: Call, topic: Topic) -> None:
    """Show the id of the last message.

    Example: pulsarctl topics last-message-id orders
    """
    call.show(call.admin.topics.last_message_id(topic))


@app.verb("get-message-id")
def message_id_at(
    call: Call,
    topic: Topic,
    time: Annotated[str, typer.Option("-d", "--datetime", metavar="TIME", help=TIME)],
) -> None:
    """Show the id of the first message published at or after a time.

    Example: pulsarctl topics get-message-id orders -d 2026-01-31T12:00:00Z
    """
    time_ms = parse_time_ms(time, now_ms(), or_duration=True)
    call.show(call.admin.topics.message_id_at(topic, time_ms))
    call.notice_time("first message at or after", time_ms)


@app.verb("get-backlog-size")
def backlog_size(
    call: Call,
    topic: Topic,
    message_id: Annotated[str, typer.Option("-m", "--messageId", help="LEDGER:ENTRY; -1:-1 is the first.")] = "-1:-1",
) -> None:
    """Show how many bytes follow a message.

    Example: pulsarctl topics get-backlog-size orders -m 12:3
    """
    call.show(call.admin.topics.backlog_size(topic, MessageId.parse(message_id)))


def _flags(precise_backlog: bool, backlog_size: bool, earliest_time: bool) -> dict[str, bool]:
    """Query parameters of the REST API."""
    return {
        "getPreciseBacklog": precise_backlog,
        "subscriptionBacklogSize": backlog_size,
        "getEarliestTimeInBacklog": earliest_time,
    }
