"""`pulsarctl migrate`: tenants, namespaces, topics, messages, and subscriptions -> another cluster."""

from typing import TYPE_CHECKING, Annotated

import typer

from pulsarctl.diagnosis.words import plural
from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import PARALLEL_DEFAULT, Parallel, Yes
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.progress import progress
from pulsarctl.stop_signals import orderly_end
from pulsarctl.values.names import full_topic, namespace_of
from pulsarctl.values.quantities import human_size

if TYPE_CHECKING:
    from pulsarctl.migration.cluster_copy import ClusterCopy, MigratedTopics
    from pulsarctl.migration.endpoint import Endpoint
    from pulsarctl.migration.switch import Destination
    from pulsarctl.migration.topic_copy import PartitionResult

app = Noun("migrate", "Move tenants, namespaces, topics, messages, and subscriptions to another cluster.")

COPIES_AT_A_TIME = 4

Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Context of the cluster to read.")]
Target = Annotated[str, typer.Argument(metavar="TARGET", help="Context of the cluster that gets the copy.")]
Tenants = Annotated[
    list[str] | None, typer.Option("--tenant", metavar="TENANT", help="Tenant to migrate; may be repeated.")
]
Namespaces = Annotated[
    list[str] | None,
    typer.Option("-n", "--namespace", metavar="TENANT/NAMESPACE", help="Namespace to migrate; may be repeated."),
]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Topic to migrate; may be repeated.")
]
Switch = Annotated[
    bool,
    typer.Option("--switch", help="Send the clients of each topic to its copy in TARGET once it is complete."),
]
ClientUrls = Annotated[
    list[str] | None,
    typer.Option(
        "--client-url",
        metavar="URL",
        help="Service URL of TARGET for clients, pulsar:// or pulsar+ssl://; may be repeated. Default: TARGET's own.",
    ),
]
NoVerify = Annotated[bool, typer.Option("--no-verify", help="Do not read the copies back to compare them.")]


@app.verb("migrate")
def migrate(
    call: Call,
    source: Source,
    target: Target,
    tenants: Tenants = None,
    namespaces: Namespaces = None,
    topics: Topics = None,
    switch: Switch = False,
    client_urls: ClientUrls = None,
    no_verify: NoVerify = False,
    yes: Yes = False,
    parallel: Parallel = PARALLEL_DEFAULT,
) -> None:
    """Move tenants, namespaces, topics, messages, and subscriptions to another cluster.

    Without --switch, SOURCE stays in use, and running the command again copies what came since. With --switch, each
    topic pauses while TARGET gets the rest, and the position and the acknowledgments of each subscription.
    Then its producers and consumers go to TARGET. Both sides are compared, and TARGET gets all policies.

    Apache Pulsar as SOURCE cannot pause a topic, so the topics are terminated instead: producers get an error,
    consumers reach the end, and clients need the new address.

    The command may be interrupted at any point. The same command finishes the work.

    --dry-run shows the plan and changes nothing.

    Example: pulsarctl migrate laptop production --tenant shop --switch
    """
    from pulsarctl.migration.session import endpoint, show_results
    from pulsarctl.migration.switch import Destination

    here, there = endpoint(call, source), endpoint(call, target)
    if here.settings.web_url == there.settings.web_url:
        raise UsageProblem(f"cannot migrate from {source} to {target}: both are at {here.settings.web_url}")
    destination = Destination.of(client_urls or [there.settings.service_url]) if switch or client_urls else None
    copy = _planned(call, here, there, _chosen(tenants, namespaces, topics), parallel)
    entries, size = copy.size()
    topic_count = plural(len(copy.topics), "topic")
    call.notice(f"{topic_count} with {plural(entries, 'entry', 'entries')}, {human_size(size)}")
    if call.settings.dry_run:
        return
    action = f"Send the clients of {source} to {target}" if switch else f"Copy from {source}"
    call.confirm(f"{action} ({topic_count} with messages)?", yes=yes, several=switch)
    with orderly_end(), progress(call):
        results = _copied(call, copy, destination if switch else None, verify=not no_verify)
    show_results(call, results)


def _planned(call: Call, here: "Endpoint", there: "Endpoint", chosen: "MigratedTopics", parallel: int) -> "ClusterCopy":
    """Shows the plan."""
    from pulsarctl.migration.cluster_copy import ClusterCopy, declared_in
    from pulsarctl.state import showing

    with progress(call) as step:
        copy = ClusterCopy(declared_in(here, chosen, parallel, step), here, there, parallel, step)
        plan = copy.plan()
    showing.show_plan(call, plan, "The target has these tenants, namespaces, and topics.")
    return copy


def _copied(
    call: Call, copy: "ClusterCopy", destination: "Destination | None", *, verify: bool
) -> "list[PartitionResult]":
    """Copies all topics, and sends their clients to `destination`, if there is one."""
    from pulsarctl.migration.crew import copy_all
    from pulsarctl.migration.same_topic import refuse_same
    from pulsarctl.migration.session import meter

    copy.make_namespaces()
    parts = list(copy.parts())
    refuse_same(parts)
    if destination is not None:
        copy.let_in()
    switch = None if destination is None else lambda part: part.switch(destination)
    results = list(copy_all(parts, meter(call), parallel=COPIES_AT_A_TIME, switch=switch, verify=verify))
    if destination is not None:
        copy.make_settings()
        for part in parts:
            part.release()
    return results


def _chosen(tenants: list[str] | None, namespaces: list[str] | None, topics: list[str] | None) -> "MigratedTopics":
    from pulsarctl.migration.cluster_copy import MigratedTopics
    from pulsarctl.state.scope import EVERYTHING, Scope

    names = frozenset(full_topic(topic) for topic in topics or ())
    inside = [*(tenants or ()), *(namespaces or ())]
    if names and inside:
        raise UsageProblem("cannot combine --topic with --tenant or --namespace")
    return MigratedTopics(Scope.of(inside or sorted({namespace_of(name) for name in names}) or [EVERYTHING]), names)
