"""`pulsarctl clusters`: the clusters of a Pulsar instance."""

from typing import Annotated

import typer

from pulsarctl.shell.call import Call
from pulsarctl.shell.grammar import Noun

app = Noun("clusters", "List and show clusters.")


@app.verb("list", "l")
def list_clusters(
    call: Call,
    current: Annotated[bool, typer.Option("-c", "--current", help="Mark the cluster of the broker.")] = False,
) -> None:
    """List the clusters.

    Example: pulsarctl clusters list
    """
    found = call.admin.clusters.list()
    if current:
        own = call.admin.brokers.runtime_configuration().get("clusterName")
        found = [f"{name}(*)" if name == own else name for name in found]
    call.show_names("CLUSTER", found)


@app.verb("get", "g")
def get_cluster(
    call: Call, cluster: Annotated[str, typer.Argument(metavar="CLUSTER", help="Name of the cluster.")]
) -> None:
    """Show the addresses of a cluster.

    Example: pulsarctl clusters get standalone
    """
    call.show(call.admin.clusters.get(cluster))
