"""`ops replay`: messages of one topic into another, such as dead letters into the topic that they came from."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.commands.ops.on_spark import access
from pulsarctl.commands.ops.one_transaction import one_transaction
from pulsarctl.commands.ops.range_options import AllowLoss, End, Start
from pulsarctl.commands.ops.transfer_summary import tell_left_out
from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output.render import Progress, Table
from pulsarctl.produce.produce_options import Transaction, TransactionTimeout, check_persistent
from pulsarctl.shell.arguments import AnyTopic, Rate
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import now_ms
from pulsarctl.values.names import check_writable, full_topic, is_scalable, readable_topic

if TYPE_CHECKING:
    import pyarrow as pa

    from pulsarctl.tables.data_loss import LeftOut
    from pulsarctl.tables.ledger_ranges import LedgerRange
    from pulsarctl.tables.topic_table import TopicTable
    from pulsarctl.transfer.replay_state import ReplayFiles, ReplayState
    from pulsarctl.transfer.row_sender import RowSender
    from pulsarctl.transfer.target import Target
    from pulsarctl.transfer.transaction_sender import TransactionSender

TargetTopic = Annotated[str, typer.Argument(metavar="TARGET", help="Name of the topic that gets the messages.")]
Unacknowledged = Annotated[
    str,
    typer.Option(
        "-s", "--subscription", metavar="NAME", help="Send only messages that this subscription has not acknowledged."
    ),
]
Key = Annotated[str | None, typer.Option("-k", "--key", metavar="KEY", help="Send only messages with this key.")]
Again = Annotated[bool, typer.Option("--again", help="Start over instead of continuing an interrupted replay.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count the messages, and send none.")]


@dataclass(frozen=True, slots=True)
class _Request:
    """What the command line asks for, with full names."""

    source: str
    target: str
    start: str
    end: str
    subscription: str
    key: str | None
    rate: float
    allow_loss: bool


def install_replay(noun: Noun) -> None:
    noun.verb("replay")(replay)


def replay(
    call: Call,
    topic: AnyTopic,
    target: TargetTopic,
    start: Start = "earliest",
    end: End = "latest",
    subscription: Unacknowledged = "",
    key: Key = None,
    rate: Rate = 0,
    again: Again = False,
    allow_loss: AllowLoss = False,
    transaction: Transaction = False,
    transaction_timeout: TransactionTimeout = "10m",
    dry_run: DryRun = False,
) -> None:
    """Send messages of a topic to another topic, with keys, properties, event times, and the order of each key.

    The command ends with the last message that existed when it started. It acknowledges nothing on the first topic.
    A command that was interrupted continues when it is run again. Where the target deduplicates, it then sends no
    message twice; elsewhere, up to 5,000 messages, or those of a tenth of a second with --rate, may be sent twice. Once
    it has ended, running it again sends the messages again.

    With --transaction, consumers get all messages at the end of the command, or none if it fails or is interrupted. It
    then starts over when it is run again.

    Examples:
      pulsarctl ops replay shop/eu/orders-billing-DLQ shop/eu/orders --start -1d --rate 100
      pulsarctl ops replay shop/eu/orders-billing-DLQ shop/eu/orders --transaction
    """
    from pulsarctl.commands.ops.export_plan import require_arrow

    require_arrow("replay")
    check_writable(target)
    request = _Request(readable_topic(topic), full_topic(target), start, end, subscription, key, rate, allow_loss)
    _check(request, transaction=transaction)
    if dry_run:
        numbers: dict[str, object] = {"wouldSend": _count(_table(call, request, start, end), key)}
    else:
        numbers = _replayed(call, request, transaction_timeout if transaction else None, again=again)
    value = {"topic": request.source, "target": request.target, **numbers}
    call.show(value, Table(("REPLAY", "VALUE"), list(value.items())))


def _check(request: _Request, *, transaction: bool) -> None:
    if request.source == request.target:
        raise UsageProblem(f"cannot replay {request.source} into itself", hint="name another topic")
    if transaction:
        check_persistent(request.target)


def _replayed(call: Call, request: _Request, ttl: str | None, *, again: bool) -> dict[str, object]:
    """How many messages are sent, and left out. `ttl` is the timeout of the transaction, None without one."""
    from pulsarctl.transfer.only_run import only_run

    files = _files(call, request)
    done: RowSender | TransactionSender
    with only_run(files.plan, f"replay {request.source} into {request.target}"):
        if again:
            files.end()
        if ttl is None:
            done, left_out = _replay(call, request, files)
        else:
            done, left_out = _replay_together(call, request, files, ttl)
    return {"sent": done.sent, "storedBefore": done.row - done.sent, **tell_left_out(call, left_out)}


def _files(call: Call, request: _Request) -> "ReplayFiles":
    """The progress files of this replay, which a repeated call continues."""
    from pulsarctl.transfer.replay_state import ReplayFiles

    topics, key = (request.source, request.target), request.key
    words = (*topics, request.start, request.end, request.subscription, key or "", str(key is None))
    return ReplayFiles.of(os.environ, call.settings.service_url, *words)


def _table(call: Call, request: _Request, start: str, end: str) -> "TopicTable":
    from pulsarctl.tables.options import TableOptions
    from pulsarctl.tables.topic_table import TopicTable
    from pulsarctl.transfer.exporting import columns

    options = {"topic": request.source, "start": start, "end": end, "decode": "raw", "tasks_min": "1"}
    options["fail_on_data_loss"] = "false" if request.allow_loss else "true"
    options["columns"] = ",".join(columns(typed=False))
    if request.subscription:
        _check_subscription(call, request.source, request.subscription)
        options["subscriptions"] = request.subscription
    return TopicTable.open(replace(TableOptions.parse(options), access=access(call)))


def _check_subscription(call: Call, topic: str, subscription: str) -> None:
    """Raises `NotFound`. A segment need not have it: only those that are not read to the end do."""
    if is_scalable(topic):
        known = {topic: call.admin.scalable_topics.stats(topic).get("subscriptions") or {}}
    else:
        known = {part: call.admin.topics.subscriptions(part) for part in call.admin.topics.parts(topic)}
    for name, subscriptions in known.items():
        if subscription not in subscriptions:
            raise NotFound(f"cannot replay: {name} has no subscription {subscription}")


def _replay(call: Call, request: _Request, files: "ReplayFiles") -> "tuple[RowSender, LeftOut]":
    """Begins a replay, or continues the one that was interrupted."""
    from pulsarctl.tables.data_loss import LeftOut
    from pulsarctl.tables.plan import TopicSnapshot

    interrupted = files.load()
    if interrupted is not None and request.allow_loss:
        # rows after a gap have other numbers than before, and a target that deduplicates would drop some of them
        raise UsageProblem(
            "cannot continue an interrupted replay with --allow-loss",
            hint="add --again to start over with what is left",
        )
    state, stored = interrupted or (_new(request), 0)
    table = _table(call, request, state.start, state.end)
    target = _target(call, request, state)
    snapshot = TopicSnapshot(state.stats)
    parts = table.plan(snapshot)
    created = _created(call, target, snapshot.known, must_tell=bool(state.created))
    first = {part.topic: f"{part.ledger_id}:{part.first}" for part in reversed(parts)}
    if interrupted is None:
        files.begin(state.begun(snapshot.known, len(target.partitions), created, first))
    else:
        state.check_same(request.target, len(target.partitions), created, first)
        call.notice(f"continuing a replay that was interrupted after {stored:,} messages; --again starts over")
    left_out = LeftOut()
    rows = _rows(table, parts, request.key, left_out, step=state.checkpoint_rows)
    return _send(call, rows, target, request.rate, files, stored), left_out


def _replay_together(
    call: Call, request: _Request, files: "ReplayFiles", ttl: str
) -> "tuple[TransactionSender, LeftOut]":
    from pulsarctl.tables.data_loss import LeftOut

    if files.load() is not None:
        raise UsageProblem(
            "cannot continue an interrupted replay in a transaction, because some messages are already published",
            hint="run it without --transaction, or add --again to start over",
        )
    state, left_out = _new(request), LeftOut()
    table = _table(call, request, state.start, state.end)
    rows = _rows(table, table.plan(), request.key, left_out, step=state.checkpoint_rows)
    with one_transaction(call, _target(call, request, state), ttl) as sender:
        _send_rows(call, rows, sender, request.rate)
    return sender, left_out


def _send_rows(call: Call, rows: "Iterable[pa.RecordBatch]", sender: "TransactionSender", rate: float) -> None:
    from pulsarctl.transfer.pace import Pace

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    pace = Pace(rate)
    for each in rows:
        sender.send(each)
        pace.keep(sender.sent)
        progress.show(f"{sender.sent:,} messages")
    progress.clear()


def _new(request: _Request) -> "ReplayState":
    from pulsarctl.tables.bound_options import fixed
    from pulsarctl.transfer.replay_state import ReplayState
    from pulsarctl.transfer.target import CHECKPOINT_ROWS

    rows = min(max(int(request.rate / 10), 1), CHECKPOINT_ROWS) if request.rate else CHECKPOINT_ROWS
    now = now_ms()
    return ReplayState.new(rows, fixed("start", request.start, now), fixed("end", request.end, now))


def _target(call: Call, request: _Request, state: "ReplayState") -> "Target":
    from pulsarctl.commands.ops.export_plan import schemas_of
    from pulsarctl.transfer.target import Target, partitions_of

    where = access(call)
    return Target(
        access=where,
        topic=request.target,
        partitions=partitions_of(where, request.target),
        producer=state.name,
        schemas=schemas_of(call, request.source),
        checkpoint_rows=state.checkpoint_rows,
    )


def _created(call: Call, target: "Target", sources: Iterable[str], *, must_tell: bool) -> dict[str, str]:
    """When the partitions of both topics were created, as far as the admin API tells."""
    from pulsarctl.tables.same_topic import created_at
    from pulsarctl.transfer.created_topics import target_created_at

    created = created_at(call.admin, list(sources), must_tell=must_tell) or {}
    return created | target_created_at(call.admin, target, must_tell=must_tell)


def _send(
    call: Call, rows: "Iterable[pa.RecordBatch]", target: "Target", rate: float, files: "ReplayFiles", stored: int
) -> "RowSender":
    """Sends what is not stored yet, and keeps the progress until all is."""
    from pulsarctl.transfer.pace import Pace
    from pulsarctl.transfer.row_sender import RowSender

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    pace = Pace(rate)
    with RowSender(target, after=stored) as sender:
        for each in rows:
            sender.send(each)
            if sender.stored > stored:
                stored = sender.stored
                files.stored(stored)
            pace.keep(sender.sent)
            progress.show(f"{sender.sent:,} messages")
        sender.flush()
    files.end()
    progress.clear()
    return sender


def _rows(
    table: "TopicTable", parts: "list[LedgerRange]", key: str | None, left_out: "LeftOut", *, step: int
) -> "Iterator[pa.RecordBatch]":
    import pyarrow.compute as pc

    from pulsarctl.transfer.exporting import messages

    for part in parts:
        for batch in messages(table, part, left_out):
            rows = batch if key is None else batch.filter(pc.equal(batch.column("key"), key))
            for begin in range(0, rows.num_rows, step):
                yield rows.slice(begin, step)


def _count(table: "TopicTable", key: str | None) -> int:
    from pulsarctl.tables.data_loss import LeftOut

    return sum(rows.num_rows for rows in _rows(table, table.plan(), key, LeftOut(), step=10_000))
