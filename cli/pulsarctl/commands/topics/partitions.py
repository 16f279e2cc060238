"""Verbs of partitioned topics."""

from typing import Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import Namespace, Topic, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading

app = Noun("topics", "")

Partitions = Annotated[int | None, typer.Option("-p", "--partitions", metavar="N", help="Number of partitions.")]
PartitionsArgument = Annotated[
    int | None, typer.Argument(metavar="N", help="Number of partitions, if not given with -p.")
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("-m", "--metadata", metavar="KEY=VALUE", help="Property of the topic; may be repeated."),
]
SystemTopics = Annotated[
    bool, typer.Option("-ist", "--include-system-topic", help="Include topics that the broker created for itself.")
]


@app.verb("list-partitioned", "list-partitioned-topics", heading=Heading.PARTITIONS)
def list_partitioned(call: Call, namespace: Namespace, system_topics: SystemTopics = False) -> None:
    """List the partitioned topics of a namespace.

    Example: pulsarctl topics list-partitioned public/default
    """
    call.show_names("TOPIC", call.admin.topics.list_partitioned(namespace, system_topics=system_topics or None))


@app.verb("create-partitioned", "create-partitioned-topic", heading=Heading.PARTITIONS)
def create_partitioned(
    call: Call,
    topic: Topic,
    count: PartitionsArgument = None,
    partitions: Partitions = None,
    metadata: Metadata = None,
) -> None:
    """Create a partitioned topic.

    Fails with exit code 6 if the topic exists.

    Example: pulsarctl topics create-partitioned orders -p 4
    """
    call.admin.topics.create_partitioned(topic, _number(count, partitions), pairs(metadata))


@app.verb("update-partitioned", "update-partitioned-topic", "update", "up", heading=Heading.PARTITIONS)
def update_partitioned(
    call: Call,
    topic: Topic,
    count: PartitionsArgument = None,
    partitions: Partitions = None,
    local_only: Annotated[
        bool, typer.Option("-ulo", "--update-local-only", help="Do not update other clusters.")
    ] = False,
    force: Annotated[bool, typer.Option("-f", "--force", help="Skip the check of existing partitions.")] = False,
) -> None:
    """Increase the number of partitions of a topic.

    The number cannot decrease.

    Example: pulsarctl topics update-partitioned orders -p 8
    """
    number = _number(count, partitions)
    call.admin.topics.update_partitioned(topic, number, local_only=local_only or None, force=force or None)


@app.verb("get-partitioned-topic-metadata", "get", heading=Heading.PARTITIONS)
def partitioned_metadata(call: Call, topic: Topic) -> None:
    """Show the number of partitions of a topic, 0 if it is not partitioned.

    Example: pulsarctl topics get-partitioned-topic-metadata orders
    """
    call.show(call.admin.topics.partitioned_metadata(topic))


def _number(positional: int | None, option: int | None) -> int:
    chosen = option if option is not None else positional
    if chosen is None:
        raise UsageProblem("no number of partitions given", hint="use -p N")
    return chosen
