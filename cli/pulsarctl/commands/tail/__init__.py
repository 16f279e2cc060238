"""`pulsarctl tail`: follow several topics."""

from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.consume.consuming import FOREVER, Stops
from pulsarctl.consume.reading_options import ConnectTimeout, IdleTimeout, SchemaType
from pulsarctl.diagnosis.words import plural
from pulsarctl.errors import CliError, UsageProblem
from pulsarctl.output import render
from pulsarctl.output.render import Output
from pulsarctl.records.record_output import decoded, record_output
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.reading import position_of
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.names import is_namespace, namespace_of
from pulsarctl.values.positions import AtTime, Earliest, LastMessages, Latest, Position
from pulsarctl.values.quantities import parse_duration

if TYPE_CHECKING:
    from pulsarctl.commands.tail.following import Followed
    from pulsarctl.commands.tail.labels import Labels
    from pulsarctl.records.record import Record

TOPICS_MAX = 100  # each has a connection and a thread

app = Noun("tail", "Follow several topics.")

Topics = Annotated[
    list[str],
    typer.Argument(
        metavar="TOPIC", help="Topics or namespaces to follow, also as topic:// URLs, or regular expressions."
    ),
]
Regex = Annotated[
    bool, typer.Option("--regex", help="Treat the names as regular expressions, and follow new topics, too.")
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="POSITION",
        help="Position to start at: latest, earliest, a TIME, -10m, or -N (the last N).",
    ),
]
NumMessages = Annotated[
    int, typer.Option("-n", "--num-messages", metavar="N", min=0, help="Number of messages; 0 means no limit.")
]
Format = Annotated[
    str | None,
    typer.Option("-F", "--format", metavar="TEMPLATE", help="Template for each message; see 'pulsarctl read --help'."),
]
Refresh = Annotated[
    str,
    typer.Option(
        "--refresh", metavar="DURATION", help="Interval between looks for new topics of a namespace or of --regex."
    ),
]


@app.verb("tail")
def tail(
    call: Call,
    topics: Topics,
    regex: Regex = False,
    start: From = "latest",
    num_messages: NumMessages = FOREVER,
    idle_timeout: IdleTimeout = "0",
    template: Format = None,
    schema_type: SchemaType = "bytes",
    refresh: Refresh = "10s",
    connect_timeout: ConnectTimeout = "30s",
) -> None:
    """Follow several topics.

    Prints the messages of all topics as they arrive, each line with the name of its topic, which is colored on a
    terminal. Messages of one partition are in order. Following acknowledges nothing and leaves nothing on the
    broker. TENANT/NAMESPACE stands for all topics of a namespace, also later ones. With --regex, a name is a regular
    expression after TENANT/NAMESPACE/, or in public/default without them.

    Examples:
      pulsarctl tail orders payments
      pulsarctl tail public/shop
      pulsarctl tail --regex 'public/shop/order.*' --from -10m
      pulsarctl tail orders payments -o jsonl
    """
    from pulsarctl.commands.tail.following import Followed, existing, follow, matching
    from pulsarctl.raw.reading import ReadRequest

    position, seconds = _position(call, start), parse_duration(connect_timeout)
    patterns, follows_new, is_one_namespace = _patterns(topics, is_regex=regex)
    current = matching(call, patterns) if follows_new else existing(call, patterns)
    _check_number(current)
    show = _printer(call, current, template, schema_type, one_namespace=is_one_namespace)
    stops = Stops(num_messages, parse_duration(idle_timeout))
    call.with_resource(orderly_end())
    with closing(Followed(lambda topic, at: ReadRequest(call.settings, seconds, topic, at, None).open())) as followed:
        for topic in current:
            followed.add(topic, position)
        call.tell(f"following {plural(len(current), 'topic')}; press Ctrl-C to stop")
        look = partial(_add_new, call, followed, patterns)
        follow(followed, show, stops, call.notice, look, parse_duration(refresh) if follows_new else 0)


def _patterns(names: list[str], *, is_regex: bool) -> tuple[list[str], bool, bool]:
    """The names or regular expressions, whether they are expressions, and whether they are of one namespace."""
    if is_regex or not all(map(is_namespace, names)):
        return names, is_regex, not is_regex
    return [f"{namespace}/(?s:.*)" for namespace in names], True, len(names) == 1


def _add_new(call: Call, followed: "Followed", patterns: list[str]) -> None:
    """A topic that has been created in the meantime is read from its first message."""
    from pulsarctl.commands.tail.following import matching

    try:
        for topic in matching(call, patterns):
            followed.add(topic, Earliest())
    except CliError as error:
        call.notice(f"warning: cannot look for new topics: {error.message}")


def _position(call: Call, text: str) -> Position:
    position = position_of(call, "from", text)
    if not isinstance(position, Latest | Earliest | AtTime | LastMessages):
        raise UsageProblem(
            f"cannot start several topics at {text}", hint="use --from latest, earliest, a TIME, -10m, or -N"
        )
    return position


def _check_number(topics: list[str]) -> None:
    if len(topics) > TOPICS_MAX:
        raise UsageProblem(
            f"cannot follow {len(topics):,} topics: each takes a connection, and {TOPICS_MAX} is the limit",
            hint="use a narrower pattern",
        )


def _printer(
    call: Call, topics: list[str], template: str | None, schema_type: str, *, one_namespace: bool
) -> "Callable[[Sequence[Record]], None]":
    """Prints records as JSON lines or by the template, or as lines with the name of their topic."""
    from pulsarctl.commands.tail.labels import line

    is_labeled = template is None and call.output in (Output.AUTO, Output.TEXT)
    plain = (lambda record: line(record).encode()) if is_labeled else record_output(call.output, template, frozenset())
    text = decoded(plain, schema_type, lambda name, version: call.admin.schemas.get(name, version))
    assert text is not None  # no content is hidden
    labels = _labels(topics, one_namespace=one_namespace) if is_labeled else None

    def show(records: Sequence["Record"]) -> None:
        for record in records:
            if labels is None:
                render.data(text(record))
            else:
                labels.show(record, text(record).decode())
        render.flush()

    return show


def _labels(topics: list[str], *, one_namespace: bool) -> "Labels":
    from pulsarctl.commands.tail.labels import Labels

    spaces = {namespace_of(topic) for topic in topics}
    labels = Labels(spaces.pop() if one_namespace and len(spaces) == 1 else None)
    for topic in topics:
        labels.add(topic)
    return labels
