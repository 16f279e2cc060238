"""`pulsarctl namespaces`: groups of topics in a tenant, and the policies that the topics inherit."""

from typing import Annotated

import typer

from pulsarctl.commands.namespaces.request_table import ROWS
from pulsarctl.errors import UsageProblem
from pulsarctl.policies.installing import install_namespace_policies
from pulsarctl.requests.installing import install_requests
from pulsarctl.shell.arguments import Force, Namespace, Tenant, Yes, csv, pairs
from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun
from pulsarctl.shell.headings import Heading
from pulsarctl.values.choice import choice

app = Noun("namespaces", "Create, list, and delete namespaces, and manage their policies.")

Bundle = Annotated[
    str | None,
    typer.Option("-b", "--bundle", metavar="BUNDLE", help="Apply to one bundle, such as 0x00000000_0x40000000."),
]
BUNDLES_MAX = 1 << 32


@app.verb("list", "l", heading=Heading.LIFECYCLE, watchable=True)
def list_namespaces(call: Call, tenant: Tenant) -> None:
    """List the namespaces of a tenant.

    Example: pulsarctl namespaces list public
    """
    call.show_names("NAMESPACE", call.admin.namespaces.list(tenant))


@app.verb("topics", "destinations", heading=Heading.LIFECYCLE)
def list_topics(
    call: Call,
    namespace: Namespace,
    mode: Annotated[
        str | None,
        typer.Option(
            "-m",
            "--mode",
            metavar="MODE",
            autocompletion=choice("persistent", "non_persistent", "all"),
            help="Domain of the topics: persistent, non_persistent, or all.",
        ),
    ] = None,
    system_topics: Annotated[
        bool, typer.Option("-ist", "--include-system-topic", help="Include topics that the broker created for itself.")
    ] = False,
) -> None:
    """List the topics of a namespace, including each partition.

    Example: pulsarctl namespaces topics public/default
    """
    upper = mode.upper() if mode else None
    if upper not in (None, "PERSISTENT", "NON_PERSISTENT", "ALL"):
        raise UsageProblem(f"unknown mode '{mode}'", hint="use persistent, non_persistent, or all")
    topics = call.admin.namespaces.topics(namespace, mode=upper, system_topics=system_topics or None)
    call.show_names("TOPIC", topics)


@app.verb("policies", heading=Heading.POLICIES)
def policies_of_namespace(call: Call, namespace: Namespace) -> None:
    """Show the policies of a namespace.

    The commands below get, set, and remove single policies.

    Example: pulsarctl namespaces policies public/default
    """
    call.show(call.admin.namespaces.policies(namespace))


@app.verb("create", "c", heading=Heading.LIFECYCLE)
def create_namespace(
    call: Call,
    namespace: Namespace,
    clusters: Annotated[
        list[str] | None, typer.Option("-c", "--clusters", metavar="CLUSTER,...", help="Clusters to replicate to.")
    ] = None,
    bundles: Annotated[int, typer.Option("-b", "--bundles", help="Number of bundles; 0 is the broker's default.")] = 0,
) -> None:
    """Create a namespace.

    Fails with exit code 6 if the namespace exists, and 3 if its tenant does not.

    Example: pulsarctl namespaces create shop/orders
    """
    if not 0 <= bundles <= BUNDLES_MAX:
        raise UsageProblem(f"cannot create {bundles} bundles", hint="use a number from 0 to 4294967296")
    body: dict[str, object] = {}
    if bundles:
        body["bundles"] = {"numBundles": bundles}
    if clusters:
        body["replication_clusters"] = csv(clusters)
    call.admin.namespaces.create(namespace, body or None)


@app.verb("delete", "d", heading=Heading.LIFECYCLE, loses_data=True)
def delete_namespace(call: Call, namespace: Namespace, force: Force = False, yes: Yes = False) -> None:
    """Delete a namespace.

    A namespace that has topics is deleted only with --force. Without a terminal, --force requires --yes.

    Example: pulsarctl namespaces delete shop/orders
    """
    call.confirm(f"Delete namespace {namespace}" + (" and all its topics?" if force else "?"), yes=yes, several=force)
    call.admin.namespaces.delete(namespace, force=force)


@app.verb("bundles", heading=Heading.PLACEMENT)
def bundles_of_namespace(call: Call, namespace: Namespace) -> None:
    """Show the bundles of a namespace.

    Example: pulsarctl namespaces bundles public/default
    """
    call.show(call.admin.namespaces.bundles(namespace))


@app.verb("permissions", heading=Heading.PROPERTIES)
def permissions_of_namespace(call: Call, namespace: Namespace) -> None:
    """Show the permissions of each role on a namespace.

    Example: pulsarctl namespaces permissions public/default
    """
    call.show(call.admin.namespaces.permissions(namespace), as_map=True)


@app.verb("get-clusters", heading=Heading.PLACEMENT)
def get_clusters(call: Call, namespace: Namespace) -> None:
    """List the clusters that a namespace is replicated to.

    Example: pulsarctl namespaces get-clusters public/default
    """
    call.show_names("CLUSTER", call.admin.namespaces.clusters(namespace))


@app.verb("get-properties", heading=Heading.PROPERTIES)
def get_properties(call: Call, namespace: Namespace) -> None:
    """Show the properties of a namespace.

    Example: pulsarctl namespaces get-properties public/default
    """
    call.show(call.admin.namespaces.properties(namespace))


@app.verb("set-properties", heading=Heading.PROPERTIES)
def set_properties(
    call: Call,
    namespace: Namespace,
    properties: Annotated[
        list[str],
        typer.Option("-p", "--properties", metavar="KEY=VALUE,...", help="Properties to set; may be repeated."),
    ],
) -> None:
    """Set properties of a namespace and keep its others.

    Example: pulsarctl namespaces set-properties public/default -p owner=billing
    """
    new_properties = pairs(csv(properties))
    call.admin.namespaces.set_properties(namespace, new_properties)
    call.tell(f"properties of {namespace}: " + ", ".join(f"{key}={value}" for key, value in new_properties.items()))


@app.verb("clear-properties", heading=Heading.PROPERTIES)
def clear_properties(call: Call, namespace: Namespace) -> None:
    """Remove all properties of a namespace.

    Example: pulsarctl namespaces clear-properties public/default
    """
    call.admin.namespaces.clear_properties(namespace)


@app.verb("unload", heading=Heading.PLACEMENT)
def unload_namespace(
    call: Call,
    namespace: Namespace,
    bundle: Bundle = None,
    broker: Annotated[
        str | None,
        typer.Option(
            "-d", "--destinationBroker", metavar="BROKER", help="Broker that takes over the bundle, as HOST:PORT."
        ),
    ] = None,
) -> None:
    """Unload the topics of a namespace from their brokers.

    The topics keep their data and load again on the next use. Clients reconnect automatically.

    Example: pulsarctl namespaces unload public/default
    """
    call.admin.namespaces.unload(namespace, bundle, broker)


@app.verb("clear-backlog", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def clear_backlog(
    call: Call,
    namespace: Namespace,
    subscription: Annotated[
        str | None, typer.Option("-s", "--sub", metavar="SUBSCRIPTION", help="Clear one subscription only.")
    ] = None,
    bundle: Bundle = None,
    force: Annotated[
        bool, typer.Option("-f", "-force", "--force", "-y", "--yes", "--no-confirm", help="Do not ask.")
    ] = False,
) -> None:
    """Acknowledge all messages of every subscription in a namespace.

    Asks for confirmation. Without a terminal, this requires --force.

    Example: pulsarctl namespaces clear-backlog public/default --force
    """
    target = f"subscription {subscription}" if subscription else "every subscription"
    call.confirm(f"Clear the backlog of {target} in {namespace}?", yes=force, several=True)
    call.admin.namespaces.clear_backlog(namespace, subscription, bundle)


@app.verb("unsubscribe", heading=Heading.SUBSCRIPTIONS, loses_data=True)
def unsubscribe(
    call: Call,
    namespace: Namespace,
    name: Annotated[
        str | None, typer.Argument(metavar="SUBSCRIPTION", help="Name of the subscription, if not given with -s.")
    ] = None,
    subscription: Annotated[
        str | None, typer.Option("-s", "--sub", metavar="SUBSCRIPTION", help="Name of the subscription.")
    ] = None,
    bundle: Bundle = None,
    yes: Yes = False,
) -> None:
    """Delete a subscription from every topic of a namespace.

    Without a terminal, this requires --yes.

    Example: pulsarctl namespaces unsubscribe public/default -s billing --yes
    """
    chosen = subscription or name
    if not chosen:
        raise UsageProblem("no subscription given", hint="use -s SUBSCRIPTION")
    call.confirm(f"Delete subscription {chosen} of every topic in {namespace}?", yes=yes, several=True)
    call.admin.namespaces.unsubscribe(namespace, chosen, bundle)


install_requests(app, ROWS)
install_namespace_policies(app)
