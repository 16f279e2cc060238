"""Verbs that create, list, end, and delete topics."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.commands.topics.partitions import Metadata, SystemTopics, create_topics, topics_and_number
from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Force, Namespace, Parallel, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.targets.many import act_on, shown
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen
from pulsarctl.values.choice import choice
from pulsarctl.values.names import namespace_of

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

app = Noun("topics", "")

CreateTopics = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC", help="Names of the topics. A number after them creates that many partitions of each."
    ),
]


@app.verb("list", "l", "lp", heading=Heading.LIFECYCLE, watchable=True)
def list_topics(
    call: Call,
    namespace: Namespace,
    domain: Annotated[
        str | None,
        typer.Option(
            "-td",
            "--topic-domain",
            metavar="DOMAIN",
            autocompletion=choice("persistent", "non_persistent"),
            help="Domain of the topics: persistent or non_persistent. Default: both.",
        ),
    ] = None,
    bundle: Annotated[
        str | None, typer.Option("-b", "--bundle", metavar="BUNDLE", help="List the topics of one bundle.")
    ] = None,
    system_topics: SystemTopics = False,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "-p", "--properties", metavar="KEY=VALUE", help="Only topics with this property; may be repeated."
        ),
    ] = None,
) -> None:
    """List the topics of a namespace, with each partition. 'list-partitioned-topics' lists partitioned topics once.

    With several properties, a topic must have all of them. Apache Pulsar 4.2 and later passes the properties to a
    plugin of the broker. Without one, and in earlier versions, it lists all topics.

    Examples:
      pulsarctl topics list public/default
      pulsarctl topics list public/default -p owner=billing
    """
    spelled = domain.lower().replace("_", "-") if domain else None
    if spelled not in (None, "persistent", "non-persistent"):
        raise UsageProblem(f"unknown domain '{domain}'", hint="use persistent or non_persistent")
    topics = call.admin.topics.list(
        namespace, domain=spelled, bundle=bundle, system_topics=system_topics or None, properties=pairs(properties)
    )
    call.show_names("TOPIC", topics)


@app.verb("create", "c", heading=Heading.LIFECYCLE)
def create(
    call: Call,
    topics: CreateTopics = None,
    metadata: Metadata = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Create topics, partitioned if a number follows their names.

    Fails with exit code 6 if the topic exists. If some of several topics cannot be created, the others are, and the
    exit code is 10.

    Example: pulsarctl topics create orders
    """
    names, number = topics_and_number(topics, None, elsewhere=from_file is not None)
    create_topics(call, names, from_file, number or None, pairs(metadata), parallel)


@app.verb("delete", "d", heading=Heading.LIFECYCLE, loses_data=True)
def delete(
    call: Call,
    topics: Topics = None,
    force: Force = False,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    delete_schema: Annotated[bool, typer.Option("-d", "--deleteSchema", hidden=True)] = False,
    non_partitioned: Annotated[bool, typer.Option("-n", "--non-partitioned", hidden=True)] = False,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Delete topics, partitioned or not.

    A topic that is in use is deleted only with --force. Without a terminal, deleting several topics or using --regex or
    --namespace requires --yes. If some topics cannot be deleted, the others are, and the exit code is 10.

    Example: pulsarctl topics delete orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        call.confirm(f"Delete {shown(names)}?", yes=yes, several=names.several)
        partitioned = _partitioned_among(call, names) if names.discovered else None
        act = partial(_delete_one, partitioned=partitioned, force=force)
        act_on(call, names, act, verb="delete", parallel=parallel)


@app.verb("unload", heading=Heading.LIFECYCLE)
def unload(
    call: Call,
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Unload topics from their broker.

    A topic keeps its data and loads again on the next use. Clients reconnect automatically.

    Example: pulsarctl topics unload orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    act_on(call, names, lambda admin, name: admin.topics.unload(name), verb="unload", parallel=parallel)


@app.verb("trim", "trim-topic", heading=Heading.LIFECYCLE, loses_data=True)
def trim(
    call: Call,
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Delete the ledgers that every subscription has acknowledged and retention does not keep.

    Example: pulsarctl topics trim orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    act_on(call, names, lambda admin, name: admin.topics.trim(name), verb="trim", parallel=parallel)


def _partitioned_among(call: Call, names: Iterable[str]) -> frozenset[str]:
    """Asked for once, and not for each topic."""
    namespaces = sorted({namespace_of(name) for name in names})
    return frozenset(name for namespace in namespaces for name in call.admin.topics.list_partitioned(namespace))


def _delete_one(admin: "AdminClient", topic: str, *, partitioned: frozenset[str] | None, force: bool) -> None:
    """`partitioned` None: the broker is asked whether the topic is."""
    is_partitioned = topic in partitioned if partitioned is not None else admin.topics.partitions(topic) > 0
    if is_partitioned:
        admin.topics.delete_partitioned(topic, force=force)
    else:
        admin.topics.delete(topic, force=force)
