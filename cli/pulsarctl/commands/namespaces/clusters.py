"""The clusters of a namespace."""

from pulsarctl.errors import UsageProblem
from pulsarctl.requests.fields import NAMESPACE, OF_NAMESPACE, names, switch
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.headings import Heading

PLACEMENT = Heading.PLACEMENT
_CLUSTERS = names("clusters", "Comma-separated list of clusters.", "-c", "--clusters")


def _split_tenant_and_cluster(values: Values) -> None:
    text = values["place"]
    tenant, separator, cluster = text.partition("/")
    if not separator or not tenant or not cluster:
        raise UsageProblem(f"'{text}' is not TENANT/CLUSTER")
    values.update(tenant=tenant, cluster=cluster)


def _is_migrated(values: Values) -> bool:
    return bool(values["migrated"])


CLUSTER_ROWS = (
    Request(
        "list-cluster",
        "GET",
        "namespaces/{tenant}/{cluster}",
        "List the namespaces that a tenant had in a cluster in Pulsar's first API.",
        "public/standalone",
        (Field("place", "Tenant and cluster, as TENANT/CLUSTER.", metavar="TENANT/CLUSTER", place=In.NOWHERE),),
        Shown.NAMES,
        heading=PLACEMENT,
        column="NAMESPACE",
        hidden=True,
        check=_split_tenant_and_cluster,
    ),
    Request(
        "set-clusters",
        "POST",
        f"{OF_NAMESPACE}/replication",
        "Set the clusters that a namespace is replicated to.",
        "public/default -c standalone",
        (NAMESPACE, _CLUSTERS),
        heading=PLACEMENT,
    ),
    Request(
        "set-allowed-clusters",
        "POST",
        f"{OF_NAMESPACE}/allowedClusters",
        "Set the clusters that topics of a namespace may be replicated to.",
        "public/default -c standalone",
        (NAMESPACE, _CLUSTERS),
        heading=PLACEMENT,
    ),
    Request(
        "get-allowed-clusters",
        "GET",
        f"{OF_NAMESPACE}/allowedClusters",
        "List the clusters that topics of a namespace may be replicated to.",
        "public/default",
        (NAMESPACE,),
        Shown.NAMES,
        heading=PLACEMENT,
        column="CLUSTER",
    ),
)

MIGRATION_ROWS = (
    Request(
        "update-migration-state",
        "POST",
        f"{OF_NAMESPACE}/migration",
        "Set whether a namespace has moved to another cluster.",
        "public/default --migrated",
        (NAMESPACE, switch("migrated", "migrated", "The namespace has moved.", "--migrated", place=In.QUERY)),
        heading=PLACEMENT,
        body=_is_migrated,
    ),
)
