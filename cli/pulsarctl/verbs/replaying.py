"""`ops replay`: messages of one topic into another, such as dead letters into the topic that they came from."""

import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import NotFound, UsageProblem
from pulsarctl.output.render import Progress, Table
from pulsarctl.shell.arguments import Topic
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import monotonic, pause
from pulsarctl.values.names import full_topic
from pulsarctl.verbs.range_options import End, Start

if TYPE_CHECKING:
    from pulsarctl.tables.topic_table import TopicTable

Target = Annotated[str, typer.Argument(metavar="TARGET", help="Name of the topic that gets the messages.")]
Unacknowledged = Annotated[
    str, typer.Option("-s", "--subscription", metavar="NAME", help="Only what this subscription has not acknowledged.")
]
Key = Annotated[str | None, typer.Option("-k", "--key", metavar="KEY", help="Only messages with this key.")]
Rate = Annotated[float, typer.Option("-r", "--rate", min=0, help="Maximum messages per second; 0 is no limit.")]
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
    dry_run: DryRun = False,
) -> None:
    """Send messages of a topic to another topic, with keys, properties, event times, and the order of each key.

    The command ends with the last message that existed when it started. It acknowledges nothing on the first topic.
    Running it twice sends the messages twice.

    Example: pulsarctl ops replay shop/orders-billing-DLQ shop/orders --start @-1d --rate 100
    """
    from pulsarctl.verbs.export_plan import require_arrow

    require_arrow()
    source, name = full_topic(topic), full_topic(target)
    if source == name:
        raise UsageProblem(f"cannot replay {source} into itself", hint="name another topic")
    table = _table(call, source, start, end, subscription)
    sent = _replay(call, table, name, key, rate, dry_run=dry_run)
    value = {"topic": source, "target": name, "wouldSend" if dry_run else "sent": sent}
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


def _replay(call: Call, table: "TopicTable", target: str, key: str | None, rate: float, *, dry_run: bool) -> int:
    """The number of messages that were sent, or would be."""
    import pyarrow.compute as pc

    from pulsarctl.transfer.exporting import messages
    from pulsarctl.transfer.row_sender import RowSender
    from pulsarctl.verbs.export_plan import schemas_of

    progress = Progress(quiet=call.settings.quiet)
    call.call_on_close(progress.clear)
    schemas = schemas_of(call, table.options.topics[0])
    count, started, step = 0, monotonic(), max(int(rate / 10), 1) if rate else 5000
    parts = table.plan()
    with RowSender(table.options.access, target, f"replay-{secrets.token_hex(8)}", schemas=schemas) as sender:
        for part in parts:
            for batch in messages(table, part):
                rows = batch if key is None else batch.filter(pc.equal(batch.column("key"), key))
                count += rows.num_rows
                for begin in range(0, 0 if dry_run else rows.num_rows, step):
                    sender.send(rows.slice(begin, step))
                    if rate and (early := started + sender.sent / rate - monotonic()) > 0:
                        sender.flush()
                        pause(early)
                    progress.show(f"{sender.sent:,} messages")
        sender.flush()
    progress.clear()
    return count
