"""`pulsarctl scalable-topics`: topics of Pulsar 5.0 whose segments the broker splits and merges."""

from contextlib import suppress
from typing import Annotated

import typer

from pulsarctl.commands.scalable_topics.request_table import NAMES, ROWS
from pulsarctl.errors import CliError
from pulsarctl.output import render
from pulsarctl.output.render import Output, Table
from pulsarctl.requests.installing import install_requests
from pulsarctl.shell.arguments import TIME, Properties, Subscription, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.clock import now_ms
from pulsarctl.values.names import regular_name, scalable_topic
from pulsarctl.values.times import parse_time_ms

app = Noun("scalable-topics", "Create, describe, split, merge, and delete scalable topics, which Pulsar 5.0 has.")

ScalableTopic = Annotated[str, typer.Argument(metavar="SCALABLE-TOPIC", help=f"Name of the scalable topic, {NAMES}")]


@app.verb("create")
def create(
    call: Call,
    topic: ScalableTopic,
    segments: Annotated[int, typer.Option("-s", "--segments", metavar="N", help="Number of segments.")] = 1,
    properties: Properties = None,
) -> None:
    """Create a scalable topic, whose segments share the keys equally.

    Example: pulsarctl scalable-topics create orders -s 4
    """
    call.admin.scalable_topics.create(topic, segments, pairs(properties))
    if not call.settings.dry_run:
        _note_regular_topic(call, scalable_topic(topic))


def _note_regular_topic(call: Call, created: str) -> None:
    """Both may exist, as in Pulsar, and have only the name in common. A migration needs the name."""
    regular = regular_name(created)
    with suppress(CliError):
        call.admin.topics.partitions(regular)
        hint = f"pulsarctl scalable-topics delete {created} && pulsarctl scalable-topics migrate {regular}"
        call.notice(f"{regular} exists, too, and is another topic; to migrate it instead: {call.on_same_cluster(hint)}")


@app.verb("describe", watchable=True)
def describe(call: Call, topic: ScalableTopic) -> None:
    """Draw the segments of a scalable topic, from the oldest to the newest, each with its part of the keys.

    Example: pulsarctl scalable-topics describe orders
    """
    from pulsarctl.diagnosis import segments
    from pulsarctl.diagnosis.page import lines

    topics = call.admin.scalable_topics
    graph = segments.document(scalable_topic(topic), topics.metadata(topic), topics.stats(topic))
    if render.resolve(call.output) in (Output.TABLE, Output.TEXT):
        for line in lines(segments.page(graph)):
            render.line_with_state(line)
    else:
        call.show(graph, Table(("TOPIC",), [(graph["topic"],)]))


@app.verb("seek", loses_data=True)
def seek(
    call: Call,
    topic: ScalableTopic,
    subscription: Subscription,
    time: Annotated[str, typer.Option("-t", "--time", metavar="TIME", help=TIME)],
) -> None:
    """Move a subscription to a time, in all segments.

    Later messages are delivered again.

    Example: pulsarctl scalable-topics seek orders -s billing -t 10m
    """
    time_ms = parse_time_ms(time, now_ms(), or_duration=True)
    call.admin.scalable_topics.seek(topic, subscription, time_ms)
    if not call.settings.dry_run:
        call.notice_time(f"subscription {subscription} of {scalable_topic(topic)} moved to", time_ms)


install_requests(app, ROWS)
