"""Verbs that make, change, find and remove topics."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pulsarctl.errors import CliError, PartialFailure, UsageProblem
from pulsarctl.output.render import Output, Table, resolve
from pulsarctl.shell.arguments import Force, Namespace, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.values.names import full_topic, namespace_of, partition_name

app = Noun("topics", "")

Metadata = Annotated[
    list[str] | None, typer.Option("-m", "--metadata", metavar="KEY=VALUE", help="A property; may be repeated.")
]
Partitions = Annotated[int | None, typer.Option("-p", "--partitions", metavar="N", help="How many partitions.")]
PartitionsArgument = Annotated[int | None, typer.Argument(metavar="N", help="Partitions; or with -p.")]
SystemTopics = Annotated[
    bool, typer.Option("-ist", "--include-system-topic", help="Topics that the broker made for itself, too.")
]


@app.verb("list", "l", "lp")
def list_topics(
    call: Call,
    namespace: Namespace,
    domain: Annotated[
        str | None, typer.Option("-td", "--topic-domain", metavar="DOMAIN", help="persistent or non_persistent.")
    ] = None,
    bundle: Annotated[str | None, typer.Option("-b", "--bundle", help="Of this bundle only.")] = None,
    system_topics: SystemTopics = False,
    partitions: Annotated[bool, typer.Option("--partitions", help="In a table, each partition by itself.")] = False,
) -> None:
    """List the topics of a namespace; a table shows a partitioned topic once, text each partition.

    Example: pulsarctl topics list public/default
    """
    wanted = domain.lower().replace("_", "-") if domain else None
    if wanted not in (None, "persistent", "non-persistent"):
        raise UsageProblem(f"there is no domain '{domain}'", hint="persistent or non_persistent")
    found = call.admin.topics.list(namespace, domain=wanted, bundle=bundle, system_topics=system_topics or None)
    if resolve(call.output) is Output.TABLE and not partitions and found:
        call.show(found, _rolled_up(found))
    else:
        call.show_names("TOPIC", found)


@app.verb("list-partitioned", "list-partitioned-topics")
def list_partitioned(call: Call, namespace: Namespace, system_topics: SystemTopics = False) -> None:
    """List the partitioned topics of a namespace.

    Example: pulsarctl topics list-partitioned public/default
    """
    call.show_names("TOPIC", call.admin.topics.list_partitioned(namespace, system_topics=system_topics or None))


@app.verb("create", "c")
def create(call: Call, topic: Topic, partitions: PartitionsArgument = None, metadata: Metadata = None) -> None:
    """Create a topic; with a number, a partitioned one. Fails with 409 when it exists.

    Example: pulsarctl topics create orders
    """
    if partitions:
        call.admin.topics.create_partitioned(topic, partitions, pairs(metadata))
    else:
        call.admin.topics.create(topic, pairs(metadata) or None)


@app.verb("create-partitioned", "create-partitioned-topic")
def create_partitioned(
    call: Call,
    topic: Topic,
    count: PartitionsArgument = None,
    partitions: Partitions = None,
    metadata: Metadata = None,
) -> None:
    """Create a partitioned topic. Fails with 409 when it exists, 406 for a number that is not possible.

    Example: pulsarctl topics create-partitioned orders -p 4
    """
    call.admin.topics.create_partitioned(topic, _number(count, partitions), pairs(metadata))


@app.verb("update-partitioned", "update-partitioned-topic", "update", "up")
def update_partitioned(
    call: Call,
    topic: Topic,
    count: PartitionsArgument = None,
    partitions: Partitions = None,
    local_only: Annotated[bool, typer.Option("-ulo", "--update-local-only", help="Not in other clusters.")] = False,
    force: Annotated[bool, typer.Option("-f", "--force", help="Skip the checks of existing partitions.")] = False,
) -> None:
    """Add partitions. Fails with 422 for fewer than there are.

    Example: pulsarctl topics update-partitioned orders -p 8
    """
    number = _number(count, partitions)
    call.admin.topics.update_partitioned(topic, number, local_only=local_only or None, force=force or None)


@app.verb("create-missed-partitions")
def create_missed_partitions(call: Call, topic: Topic) -> None:
    """Create the partitions of a partitioned topic that are missing.

    Example: pulsarctl topics create-missed-partitions orders
    """
    call.admin.topics.create_missed_partitions(topic)


@app.verb("get-partitioned-topic-metadata", "get")
def partitioned_metadata(call: Call, topic: Topic) -> None:
    """Show how many partitions a topic has; 0 when it has none.

    Example: pulsarctl topics get-partitioned-topic-metadata orders
    """
    call.show(call.admin.topics.partitioned_metadata(topic))


@app.verb("delete", "d", loses_data=True)
def delete(
    call: Call,
    topics: Annotated[list[str] | None, typer.Argument(metavar="TOPIC", help="One or more.")] = None,
    force: Force = False,
    regex: Annotated[bool, typer.Option("-r", "--regex", help="Each TOPIC is a pattern within its namespace.")] = False,
    from_file: Annotated[str | None, typer.Option("--from-file", metavar="FILE", help="One topic a line.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be deleted.")] = False,
    delete_schema: Annotated[bool, typer.Option("-d", "--deleteSchema", hidden=True)] = False,
    non_partitioned: Annotated[bool, typer.Option("-n", "--non-partitioned", hidden=True)] = False,
    yes: Yes = False,
) -> None:
    """Delete topics, partitioned or not. Fails with 412 while they are in use, unless forced.

    Without a terminal, deleting more than one topic, or by --regex, needs --yes.

    Example: pulsarctl topics delete orders
    """
    names = list(topics or []) + (_lines(from_file) if from_file else [])
    if not names:
        raise UsageProblem("which topics?", hint="pulsarctl topics delete TOPIC...")
    if regex:
        names = [name for pattern in names for name in _matching(call, pattern)]
    if dry_run:
        call.show_names("TOPIC", [full_topic(name) for name in names])
        return
    call.confirm(f"Delete {', '.join(names)}?", yes=yes, several=regex or len(names) > 1)
    _each(call, names, lambda name: _delete_one(call, name, force))


@app.verb("delete-partitioned-topic", "delete-partitioned", loses_data=True)
def delete_partitioned(
    call: Call,
    topic: Topic,
    force: Force = False,
    delete_schema: Annotated[bool, typer.Option("-d", "--deleteSchema", hidden=True)] = False,
    yes: Yes = False,
) -> None:
    """Delete a partitioned topic with its partitions. Fails with 404 when it is none.

    Example: pulsarctl topics delete-partitioned-topic orders
    """
    call.confirm(f"Delete {topic} and its partitions?", yes=yes)
    call.admin.topics.delete_partitioned(topic, force=force)


@app.verb("unload")
def unload(call: Call, topic: Topic) -> None:
    """Close a topic, so that it is loaded anew; clients reconnect by themselves.

    Example: pulsarctl topics unload orders
    """
    call.admin.topics.unload(topic)


@app.verb("terminate", loses_data=True)
def terminate(
    call: Call,
    topic: Topic,
    partition: Annotated[int, typer.Option("-p", "--partition", metavar="N", help="Of a partitioned topic.")] = -1,
    yes: Yes = False,
) -> None:
    """End a topic: it takes no more messages, ever; what is in it stays readable. Shows the last message id.

    A partitioned topic is ended as a whole. Example: pulsarctl topics terminate orders
    """
    call.confirm(f"Terminate {topic} for ever?", yes=yes)
    if partition < 0 and call.admin.topics.partitions(topic):
        _show_ends(call, call.admin.topics.terminate_partitions(topic))
    else:
        name = partition_name(topic, partition) if partition >= 0 else topic
        call.show(call.admin.topics.terminate(name))


@app.verb("partitioned-terminate", loses_data=True)
def terminate_partitions(call: Call, topic: Topic, yes: Yes = False) -> None:
    """End every partition of a topic: no more messages, ever. Shows the last message id of each.

    Example: pulsarctl topics partitioned-terminate orders
    """
    call.confirm(f"Terminate {topic} and its partitions for ever?", yes=yes)
    _show_ends(call, call.admin.topics.terminate_partitions(topic))


def _show_ends(call: Call, ends: dict[str, Any]) -> None:
    rows = [(number, f"{end['ledgerId']}:{end['entryId']}") for number, end in ends.items()]
    call.show(ends, Table(("PARTITION", "LAST MESSAGE ID"), rows))


@app.verb("lookup")
def lookup(call: Call, topic: Topic) -> None:
    """Show the address of the broker that serves a topic.

    Example: pulsarctl topics lookup orders
    """
    call.show(str(call.admin.topics.lookup(topic).get("brokerUrl", "")))


@app.verb("partitioned-lookup")
def partitioned_lookup(call: Call, topic: Topic) -> None:
    """Show the address of the broker that serves each partition.

    Example: pulsarctl topics partitioned-lookup orders
    """
    parts = call.admin.topics.parts(topic)
    call.show({part: call.admin.topics.lookup(part).get("brokerUrl", "") for part in parts}, as_map=True)


@app.verb("bundle-range")
def bundle_range(call: Call, topic: Topic) -> None:
    """Show the range of the namespace that a topic falls into.

    Example: pulsarctl topics bundle-range orders
    """
    call.show(call.admin.topics.bundle_range(topic))


@app.verb("trim", "trim-topic", loses_data=True)
def trim(call: Call, topic: Topic) -> None:
    """Remove what no subscription needs and retention does not keep, now.

    Example: pulsarctl topics trim orders
    """
    call.admin.topics.trim(topic)


def _number(positional: int | None, option: int | None) -> int:
    chosen = option if option is not None else positional
    if chosen is None:
        raise UsageProblem("how many partitions?", hint="-p N")
    return chosen


def _delete_one(call: Call, topic: str, force: bool) -> None:
    if call.admin.topics.partitions(topic):
        call.admin.topics.delete_partitioned(topic, force=force)
    else:
        call.admin.topics.delete(topic, force=force)


def _each(call: Call, names: list[str], act: Callable[[str], None]) -> None:
    """Does it for all, whatever becomes of one; a single failure keeps its own exit code when it was the only name."""
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
        raise PartialFailure(f"{len(failures)} of {len(names)} topics could not be deleted")


def _matching(call: Call, pattern: str) -> list[str]:
    """Topics of the pattern's namespace whose full name matches; partitions count as their partitioned topic."""
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
