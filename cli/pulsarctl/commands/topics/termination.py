"""Verbs that end topics: terminated ones stay readable, and take no more messages."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pulsarctl.output.render import Table
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.targets.many import act_on, shown
from pulsarctl.targets.topics import FromFile, InNamespace, Regex, Topics, chosen
from pulsarctl.values.names import partition_name

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient

app = Noun("topics", "")


@app.verb("terminate", heading=Heading.LIFECYCLE, loses_data=True)
def terminate(
    call: Call,
    topics: Topics = None,
    partition: Annotated[
        int, typer.Option("-p", "--partition", metavar="N", help="Terminate one partition only.")
    ] = -1,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Terminate topics, so that they accept no more messages, and show their last message IDs.

    Their messages stay readable. This cannot be undone. A partitioned topic is terminated with all its partitions.

    Example: pulsarctl topics terminate orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        question = f"Terminate {shown(names)}? No messages are accepted afterwards."
        call.confirm(question, yes=yes, several=names.several)

        def act(admin: "AdminClient", topic: str) -> tuple[str, Any]:
            return topic, _terminated(admin, topic, partition)

        _show_ends(call, act_on(call, names, act, verb="terminate", parallel=parallel))


@app.verb("partitioned-terminate", heading=Heading.PARTITIONS, loses_data=True)
def terminate_partitions(
    call: Call,
    topics: Topics = None,
    regex: Regex = False,
    namespace: InNamespace = None,
    from_file: FromFile = None,
    parallel: Parallel = PARALLEL_DEFAULT,
    yes: Yes = False,
) -> None:
    """Terminate every partition of topics and show their last message IDs.

    Example: pulsarctl topics partitioned-terminate orders
    """
    names = chosen(call, topics, regex=regex, from_file=from_file, namespace=namespace)
    if names:
        question = f"Terminate {shown(names)} and all partitions? No messages are accepted afterwards."
        call.confirm(question, yes=yes, several=names.several)

        def act(admin: "AdminClient", topic: str) -> tuple[str, Any]:
            return topic, admin.topics.terminate_partitions(topic)

        _show_ends(call, act_on(call, names, act, verb="terminate", parallel=parallel))


def _terminated(admin: "AdminClient", topic: str, partition: int) -> Any:
    """The last message ID of the topic, or of each of its partitions. `partition`: -1 for the whole topic."""
    if partition < 0 and admin.topics.partitions(topic):
        return admin.topics.terminate_partitions(topic)
    return admin.topics.terminate(partition_name(topic, partition) if partition >= 0 else topic)


def _show_ends(call: Call, ends_by_topic: Iterable[tuple[str, Any]]) -> None:
    results = dict(ends_by_topic)
    if len(results) > 1:
        call.show(results, as_map=True)
        return
    for ends in results.values():
        if ends and "ledgerId" not in ends:
            rows = [(number, f"{end['ledgerId']}:{end['entryId']}") for number, end in ends.items()]
            call.show(ends, Table(("PARTITION", "LAST MESSAGE ID"), rows))
        else:
            call.show(ends)
