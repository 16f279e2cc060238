"""`ops replay`: messages of one topic into another, such as dead letters into the topic that they came from."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output.render import Progress, Table
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import full_topic
from pulsarctl.verbs.range_options import End, Start

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.tables.ledger_ranges import LedgerRange
    from pulsarctl.tables.topic_table import TopicTable
    from pulsarctl.transfer.replay_state import ReplayFiles, ReplayState
    from pulsarctl.transfer.row_sender import RowSender

Target = Annotated[str, typer.Argument(metavar="TARGET", help="Name of the topic that gets the messages.")]
Unacknowledged = Annotated[
    str,
    typer.Option(
        "-s", "--subscription", metavar="NAME", help="Send only messages that this subscription has not acknowledged."
    ),
]
Key = Annotated[str | None, typer.Option("-k", "--key", metavar="KEY", help="Send only messages with this key.")]
Rate = Annotated[float, typer.Option("-r", "--rate", min=0, help="Maximum messages per second; 0 is no limit.")]
Again = Annotated[bool, typer.Option("--again", help="Start over instead of continuing an interrupted replay.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count the messages, and send none.")]


def install_replay(noun: Noun) -> None:
    noun.verb("replay")(replay)


def replay(
    call: Call,
    topic: Topic,
    target: Target,
    start: Start = "earliest",
    end: End = "latest",
    subscription: Unacknowledged = "",
    key: Key = None,
    rate: Rate = 0,
    again: Again = False,
    dry_run: DryRun = False,
) -> None:
    """Send messages of a topic to another topic, with keys, properties, event times, and the order of each key.

    The command ends with the last message that existed when it started. It acknowledges nothing on the first topic.
    A command that was interrupted continues when it is run again. Where the target deduplicates, it then sends no
    message twice; elsewhere, up to 5,000 messages, or those of a tenth of a second with --rate, may be sent twice. Once
    it has ended, running it again sends the messages again.

    Example: pulsarctl ops replay shop/orders-billing-DLQ shop/orders --start @-1d --rate 100
    """
    from pulsarctl.transfer.replay_state import ReplayFiles
    from pulsarctl.verbs.export_plan import require_arrow

    require_arrow()
    source, name = full_topic(topic), full_topic(target)
    if source == name:
        raise UsageProblem(f"cannot replay {source} into itself", hint="name another topic")
    words = (call.settings.service_url, source, name, start, end, subscription, key or "", str(key is None))
    files = ReplayFiles.of(os.environ, *words)
    if again:
        files.end()
    table = _table(call, source, start, end, subscription)
    if dry_run:
        value: dict[str, object] = {"topic": source, "target": name, "wouldSend": _count(table, key)}
    else:
        found = _replay(call, table, name, key, rate, files)
        value = {"topic": source, "target": name, "sent": found.sent, "storedBefore": found.row - found.sent}
    call.show(value, Table(("REPLAY", "VALUE"), list(value.items())))


def _table(call: Call, topic: str, start: str, end: str, subscription: str) -> "TopicTable":
    from dataclasses import replace

    from pulsarctl.tables.options import TableOptions
    from pulsarctl.tables.topic_table import TopicTable
    from pulsarctl.transfer.exporting import columns
    from pulsarctl.verbs.on_spark import access

    options = {"topic": topic, "start": start, "end": end, "columns": ",".join(columns(typed=False)), "decode": "raw"}
    if subscription:
        for part in call.admin.topics.parts(topic):
            if subscription not in call.admin.topics.subscriptions(part):
                raise NotFound(f"cannot replay: {part} has no subscription {subscription}")
        options["subscriptions"] = subscription
    return TopicTable.open(replace(TableOptions.parse(options | {"tasks_min": "1"}), access=access(call)))


def _replay(
    call: Call, table: "TopicTable", target: str, key: str | None, rate: float, files: "ReplayFiles"
) -> "RowSender":
    """Sends what is not stored yet, and keeps the progress until all is."""
    from pulsarctl.transfer.pace import Pace
    from pulsarctl.transfer.row_sender import RowSender
    from pulsarctl.transfer.target import Target, partitions_of
    from pulsarctl.verbs.export_plan import schemas_of

    state, stored, parts = _begun(call, table, rate, files)
    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    to = Target(
        access=table.options.access,
        topic=target,
        partitions=partitions_of(table.options.access, target),
        producer=state.name,
        schemas=schemas_of(call, table.options.topics[0]),
        checkpoint_rows=state.checkpoint_rows,
    )
    pace = Pace(rate)
    with RowSender(to, after=stored) as sender:
        for rows in _rows(table, parts, key, step=state.checkpoint_rows):
            sender.send(rows)
            if sender.stored > stored:
                stored = sender.stored
                files.stored(stored)
            pace.keep(sender.sent)
            progress.show(f"{sender.sent:,} messages")
        sender.flush()
    files.end()
    progress.clear()
    return sender


def _begun(
    call: Call, table: "TopicTable", rate: float, files: "ReplayFiles"
) -> "tuple[ReplayState, int, list[LedgerRange]]":
    """A new replay, or the one that was interrupted: its state, the rows that are stored, and its plan."""
    from pulsarctl.tables.plan import Snapshot
    from pulsarctl.transfer.replay_state import ReplayState
    from pulsarctl.transfer.target import CHECKPOINT_ROWS

    found = files.load()
    if found is not None:
        state, stored = found
        call.notice(f"continuing a replay that was interrupted after {stored:,} messages; --again starts over")
        return state, stored, table.plan(Snapshot(state.stats))
    snapshot = Snapshot()
    parts = table.plan(snapshot)
    state = ReplayState.new(min(max(int(rate / 10), 1), CHECKPOINT_ROWS) if rate else CHECKPOINT_ROWS, snapshot.known)
    files.begin(state)
    return state, 0, parts


def _rows(table: "TopicTable", parts: "list[LedgerRange]", key: str | None, *, step: int) -> "Iterator[pa.RecordBatch]":
    import pyarrow.compute as pc

    from pulsarctl.transfer.exporting import messages

    for part in parts:
        for batch in messages(table, part):
            rows = batch if key is None else batch.filter(pc.equal(batch.column("key"), key))
            for begin in range(0, rows.num_rows, step):
                yield rows.slice(begin, step)


def _count(table: "TopicTable", key: str | None) -> int:
    return sum(rows.num_rows for rows in _rows(table, table.plan(), key, step=10_000))
