"""Verbs that create, list, end, and delete topics."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from pulsarctl.commands.topics.partitions import Metadata, SystemTopics, show_ends
from pulsarctl.errors import CliError, PartialFailure, UsageProblem
from pulsarctl.output.render import Output, Table, resolve
from pulsarctl.shell.arguments import Force, Namespace, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.names import full_topic, namespace_of, partition_name

app = Noun("topics", "")

CreatePartitions = Annotated[
    int | None, typer.Argument(metavar="N", help="Number of partitions; without it the topic is not partitioned.")
]


@app.verb("list", "l", "lp", heading=Heading.LIFECYCLE)
def list_topics(
    call: Call,
    namespace: Namespace,
    domain: Annotated[
        str | None,
        typer.Option(
            "-td",
            "--topic-domain",
            metavar="DOMAIN",
            help="Domain of the topics: persistent or non_persistent. Default: both.",
        ),
    ] = None,
    bundle: Annotated[
        str | None, typer.Option("-b", "--bundle", metavar="BUNDLE", help="List the topics of one bundle.")
    ] = None,
    system_topics: SystemTopics = False,
    partitions: Annotated[bool, typer.Option("--partitions", help="List each partition in the table, too.")] = False,
) -> None:
    """List the topics of a namespace.

    On a terminal, a table shows each partitioned topic once. Elsewhere, the text lists its partitions.

    Example: pulsarctl topics list public/default
    """
    wanted = domain.lower().replace("_", "-") if domain else None
    if wanted not in (None, "persistent", "non-persistent"):
        raise UsageProblem(f"unknown domain '{domain}'", hint="use persistent or non_persistent")
    found = call.admin.topics.list(namespace, domain=wanted, bundle=bundle, system_topics=system_topics or None)
    if resolve(call.output) is Output.TABLE and not partitions and found:
        call.show(found, _rolled_up(found))
    else:
        call.show_names("TOPIC", found)


@app.verb("create", "c", heading=Heading.LIFECYCLE)
def create(call: Call, topic: Topic, partitions: CreatePartitions = None, metadata: Metadata = None) -> None:
    """Create a topic, partitioned if N is given.

    Fails with exit code 6 if the topic exists.

    Example: pulsarctl topics create orders
    """
    if partitions:
        call.admin.topics.create_partitioned(topic, partitions, pairs(metadata))
    else:
        call.admin.topics.create(topic, pairs(metadata) or None)


@app.verb("delete", "d", heading=Heading.LIFECYCLE, loses_data=True)
def delete(
    call: Call,
    topics: Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="Names of the topics.")] = None,
    force: Force = False,
    regex: Annotated[
        bool, typer.Option("-r", "--regex", help="Treat each TOPIC as a regular expression within its namespace.")
    ] = False,
    from_file: Annotated[
        str | None, typer.Option("--from-file", metavar="FILE", help="File of topic names, one per line.")
    ] = None,
    delete_schema: Annotated[bool, typer.Option("-d", "--deleteSchema", hidden=True)] = False,
    non_partitioned: Annotated[bool, typer.Option("-n", "--non-partitioned", hidden=True)] = False,
    yes: Yes = False,
) -> None:
    """Delete topics, partitioned or not.

    A topic that is in use is deleted only with --force. Without a terminal, deleting several topics or using --regex
    requires --yes.

    Example: pulsarctl topics delete orders
    """
    names = list(topics or []) + (_lines(from_file) if from_file else [])
    if not names:
        raise UsageProblem("no topic given", hint="pulsarctl topics delete TOPIC...")
    if regex:
        names = [name for pattern in names for name in _matching(call, pattern)]
    call.confirm(f"Delete {', '.join(names)}?", yes=yes, several=regex or len(names) > 1)
    _each(call, names, lambda name: _delete_one(call, name, force))


@app.verb("unload", heading=Heading.LIFECYCLE)
def unload(call: Call, topic: Topic) -> None:
    """Unload a topic from its broker.

    The topic keeps its data and loads again on the next use. Clients reconnect automatically.

    Example: pulsarctl topics unload orders
    """
    call.admin.topics.unload(topic)


@app.verb("terminate", heading=Heading.LIFECYCLE, loses_data=True)
def terminate(
    call: Call,
    topic: Topic,
    partition: Annotated[
        int, typer.Option("-p", "--partition", metavar="N", help="Terminate one partition only.")
    ] = -1,
    yes: Yes = False,
) -> None:
    """Terminate a topic, so that it accepts no more messages, and show its last message ID.

    Its messages stay readable. This cannot be undone. A partitioned topic is terminated with all its partitions.

    Example: pulsarctl topics terminate orders
    """
    call.confirm(f"Terminate {topic}? It accepts no messages afterwards.", yes=yes)
    if partition < 0 and call.admin.topics.partitions(topic):
        show_ends(call, call.admin.topics.terminate_partitions(topic))
    else:
        name = partition_name(topic, partition) if partition >= 0 else topic
        call.show(call.admin.topics.terminate(name))


@app.verb("trim", "trim-topic", heading=Heading.LIFECYCLE, loses_data=True)
def trim(call: Call, topic: Topic) -> None:
    """Delete the ledgers that every subscription has acknowledged and retention does not keep.

    Example: pulsarctl topics trim orders
    """
    call.admin.topics.trim(topic)


def _delete_one(call: Call, topic: str, force: bool) -> None:
    if call.admin.topics.partitions(topic):
        call.admin.topics.delete_partitioned(topic, force=force)
    else:
        call.admin.topics.delete(topic, force=force)


def _each(call: Call, names: list[str], act: Callable[[str], None]) -> None:
    """Acts on every name, even after a failure. The failure of a single name keeps its own exit code."""
    failures: list[CliError] = []
    for name in names:
        try:
            act(name)
        except CliError as error:
            failures.append(error)
            if len(names) > 1:
                call.notice(f"error: {name}: {error.message}", quiet=False)
    if failures and len(names) == 1:
        raise failures[0]
    if failures:
        raise PartialFailure(f"cannot delete {len(failures)} of {len(names)} topics")


def _matching(call: Call, pattern: str) -> list[str]:
    """Topics of the pattern's namespace whose full name matches, with partitions as their partitioned topic."""
    expression = re.compile(full_topic(pattern))
    found = call.admin.topics.list(namespace_of(pattern))
    return [row for row in dict.fromkeys(_base(name) for name in found) if expression.fullmatch(row)]


def _rolled_up(names: list[str]) -> Table:
    counts: dict[str, int] = {}
    for name in names:
        base = _base(name)
        counts[base] = counts.get(base, 0) + (base != name)
    return Table(("TOPIC", "PARTITIONS"), [(name, count or "-") for name, count in counts.items()])


def _base(name: str) -> str:
    return re.sub(r"-partition-\d+$", "", name)


def _lines(path: str) -> list[str]:
    return [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
