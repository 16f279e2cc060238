"""Verbs of partitioned topics."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Force, Namespace, Parallel, Topic, Yes, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.targets.many import act_on, shown
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

app = Noun("topics", "")

Partitions = Annotated[int | None, typer.Option("-p", "--partitions", metavar="N", help="Number of partitions.")]
TopicsAndNumber = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TOPIC", help="Names of the topics, and after them the number of partitions, unless -p has it."
    ),
]
Metadata = Annotated[
    list[str] | None,
    typer.Option("-m", "--metadata", metavar="KEY=VALUE", help="Property of the topic; may be repeated."),
]
SystemTopics = Annotated[
    bool, typer.Option("-ist", "--include-system-topic", help="Include topics that the broker created for itself.")
]


@app.verb("list-partitioned", "list-partitioned-topics", heading=Heading.PARTITIONS, watchable=True)
def list_partitioned(call: Call, namespace: Namespace, system_topics: SystemTopics = False) -> None:
    """List the partitioned topics of a namespace.

    Example: pulsarctl topics list-partitioned public/default
    """
    call.show_names("TOPIC", call.admin.topics.list_partitioned(namespace, system_topics=system_topics or None))


@app.verb("create-partitioned", "create-partitioned-topic", heading=Heading.PARTITIONS)
def create_partitioned(
    call: Call,
    topics: TopicsAndNumber = None,
    partitions: Partitions = None,
    metadata: Metadata = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Create partitioned topics.

    Fails with exit code 6 if the topic exists. If some of several topics cannot be created, the others are, and the
    exit code is 10.

    Example: pulsarctl topics create-partitioned orders -p 4
    """
    names, number = topics_and_number(topics, partitions, elsewhere=from_file is not None)
    create_topics(call, names, from_file, _required(number), pairs(metadata), parallel)


@app.verb("update-partitioned", "update-partitioned-topic", "update", "up", heading=Heading.PARTITIONS)
def update_partitioned(
    call: Call,
    topics: TopicsAndNumber = None,
    partitions: Partitions = None,
    local_only: Annotated[
        bool, typer.Option("-ulo", "--update-local-only", help="Do not update other clusters.")
    ] = False,
    force: Annotated[bool, typer.Option("-f", "--force", help="Skip the check of existing partitions.")] = False,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Increase the number of partitions of topics.

    The number cannot decrease. If some of several topics cannot be updated, the others are, and the exit code is 10.

    Example: pulsarctl topics update-partitioned orders -p 8
    """
    topic_names, count = topics_and_number(topics, partitions, elsewhere=from_file is not None or namespace is not None)
    number = _required(count)
    names = chosen(call, topic_names, regex=regex, from_file=from_file, namespace=namespace)

    def update(admin: "AdminClient", topic: str) -> None:
        admin.topics.update_partitioned(topic, number, local_only=local_only or None, force=force or None)

    if names:
        act_on(call, names, update, verb="update", parallel=parallel)


@app.verb("get-partitioned-topic-metadata", "get", heading=Heading.PARTITIONS)
def partitioned_metadata(call: Call, topic: Topic) -> None:
    """Show the number of partitions of a topic, 0 if it is not partitioned.

    Example: pulsarctl topics get-partitioned-topic-metadata orders
    """
    call.show(call.admin.topics.partitioned_metadata(topic))


@app.verb("create-missed-partitions", heading=Heading.PARTITIONS)
def create_missed_partitions(
    call: Call,
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Create the missing partitions of partitioned topics.

    Example: pulsarctl topics create-missed-partitions orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:

        def act(admin: "AdminClient", topic: str) -> None:
            admin.topics.create_missed_partitions(topic)

        act_on(call, names, act, verb="create the missing partitions of", parallel=parallel)


@app.verb("delete-partitioned-topic", "delete-partitioned", heading=Heading.PARTITIONS, loses_data=True)
def delete_partitioned(
    call: Call,
    topics: Topics = None,
    force: Force = False,
    delete_schema: Annotated[bool, typer.Option("-d", "--deleteSchema", hidden=True)] = False,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Delete partitioned topics and their partitions.

    Example: pulsarctl topics delete-partitioned-topic orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        call.confirm(f"Delete {shown(names)} and all partitions?", yes=yes, several=names.several)

        def delete(admin: "AdminClient", topic: str) -> None:
            admin.topics.delete_partitioned(topic, force=force)

        act_on(call, names, delete, verb="delete", parallel=parallel)


def create_topics(
    call: Call,
    topics: list[str],
    from_file: str | None,
    partitions: int | None,
    properties: dict[str, str],
    parallel: int,
) -> None:
    """Topics without partitions, unless there is a number of them."""
    names = chosen(call, topics, regex=False, from_file=from_file)

    def create(admin: "AdminClient", topic: str) -> None:
        if partitions is not None:
            admin.topics.create_partitioned(topic, partitions, properties)
        else:
            admin.topics.create(topic, properties or None)

    act_on(call, names, create, verb="create", parallel=parallel)


def topics_and_number(topics: list[str] | None, option: int | None, *, elsewhere: bool) -> tuple[list[str], int | None]:
    """The topics, and the number of partitions. `elsewhere`: whether another option names topics, too."""
    names = list(topics or [])
    if not (names and names[-1].isdecimal() and (len(names) > 1 or elsewhere)):
        return names, option
    if option is not None:
        raise UsageProblem(
            f"the number of partitions is given twice: {names[-1]} and -p {option}",
            hint=f"write persistent://TENANT/NAMESPACE/{names[-1]} for a topic of that name",
        )
    return names[:-1], int(names[-1])


def _required(partitions: int | None) -> int:
    if partitions is None:
        raise UsageProblem("no number of partitions given", hint="use -p N")
    return partitions
