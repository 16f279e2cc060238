"""`pulsarctl top`: the topics, subscriptions, and consumers with the highest rates, live."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Table
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values import clock
from pulsarctl.values.quantities import parse_duration

if TYPE_CHECKING:
    from pulsarctl.commands.top.snapshots import Source
    from pulsarctl.diagnosis.overview import TopicsSnapshot, View

LEAST_INTERVAL_SECONDS = 0.2


class What(StrEnum):
    TOPICS = "topics"
    SUBSCRIPTIONS = "subscriptions"
    CONSUMERS = "consumers"


app = Noun("top", "Watch the topics, subscriptions, and consumers with the highest rates.")

Listed = Annotated[What, typer.Argument(metavar="WHAT", help="What to list: topics, subscriptions, or consumers.")]
Namespaces = Annotated[
    list[str] | None,
    typer.Option("--namespace", metavar="NAMESPACE", help="Namespace to include; may be repeated. Default: all."),
]
Sort = Annotated[
    str | None, typer.Option("--sort", metavar="COLUMN", help="Column to sort by, such as backlog, in, or out.")
]
Reverse = Annotated[bool, typer.Option("--reverse", help="Reverse the order.")]
Interval = Annotated[str, typer.Option("-i", "--interval", metavar="DURATION", help="Time between two refreshes.")]
Once = Annotated[bool, typer.Option("--once", help="Print the rows once, without a terminal.")]
Iterations = Annotated[
    int | None,
    typer.Option("-n", "--iterations", metavar="N", min=1, help="Number of refreshes. Default: no limit."),
]
MaxTopics = Annotated[
    int,
    typer.Option("--max-topics", metavar="N", min=1, help="Maximum number of topics and partitions to query."),
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="Maximum time to wait for each answer of the broker.")
]


@app.verb("top")
def top(
    call: Call,
    listed: Listed = What.TOPICS,
    namespaces: Namespaces = None,
    sort: Sort = None,
    reverse: Reverse = False,
    interval: Interval = "2s",
    once: Once = False,
    iterations: Iterations = None,
    max_topics: MaxTopics = 200,
    timeout: Timeout = "10s",
) -> None:
    """Watch the topics, subscriptions, and consumers with the highest rates.

    A subscription has a problem if messages wait without a consumer, or if too many are unacknowledged; explain says
    more. On a terminal, the rows are refreshed, with the last rates as a line of bars. Keys: q quits; t, s, and c list
    topics, subscriptions, and consumers; < and > choose the column to sort by; r reverses the order. Rates are those
    between two refreshes. The first ones are the broker's, which Apache Pulsar averages over a minute.

    Examples:
      pulsarctl top
      pulsarctl top subscriptions --namespace public/default --sort backlog
      pulsarctl top --once -o json
      pulsarctl top consumers -n 3 -i 5s -o jsonl
    """
    from pulsarctl.commands.top.snapshots import Refresher, Source
    from pulsarctl.diagnosis import overview

    view = next(candidate for candidate in overview.VIEWS if candidate.title == listed)
    column = view.column(sort or overview.SORT[view.title])
    seconds = max(LEAST_INTERVAL_SECONDS, parse_duration(interval))
    call.wait_at_most(parse_duration(timeout))
    source = Source(call, namespaces or (), max_topics)
    if once or not render.can_draw() or render.is_structured(call.output):
        _print(call, source, view, column.field, reverse, 1 if once else iterations, seconds)
        return
    from pulsarctl.commands.top.screen import Screen, run

    call.with_resource(orderly_end())
    run(Screen(view, column.field, reverse), Refresher(source, seconds), iterations)


def _print(
    call: Call, source: "Source", view: "View", sort: str, reverse: bool, count: int | None, seconds: float
) -> None:
    """Prints one table or document for each refresh."""
    if count is None:
        raise UsageProblem("cannot draw: stdin and stdout are not a terminal", hint="use --once, or -n N -o jsonl")
    before: TopicsSnapshot | None = None
    for index in range(count):
        if index:
            clock.pause(seconds)
        now = source.snapshot()
        _show(call, view, sort, reverse, before, now)
        before = now


def _show(
    call: Call, view: "View", sort: str, reverse: bool, before: "TopicsSnapshot | None", now: "TopicsSnapshot"
) -> None:
    from pulsarctl.diagnosis import overview

    if now.total > len(now.topics):
        call.notice(f"showing {len(now.topics):,} of {now.total:,} topics; --max-topics shows more")
    rows = overview.ordered(overview.rows(view, before, now), view.column(sort), reverse=reverse)
    columns = tuple(column.title for column in view.columns)
    numbers = frozenset(column.title for column in view.columns if column.is_number)
    table = Table(columns, overview.texts(view, rows), numbers, overview.HEALTH.title)
    if render.is_structured(call.output) or call.output is render.Output.NAME:
        call.show(overview.documents(view, rows), table)
    else:
        render.show(None, render.Output.TABLE, table=table)  # a script that wants data uses -o
    render.flush()
