"""Groups that place a namespace: of brokers, of bookies, and of resources."""

from pulsarctl.admin.form import Text
from pulsarctl.requests.fields import NAMESPACE, OF_NAMESPACE
from pulsarctl.requests.request import Field, In, Request, Shown, Values
from pulsarctl.shell.headings import Heading

PLACEMENT = Heading.PLACEMENT
_GROUP = Field("group", "Name of the anti-affinity group.", ("-g", "--group"), "GROUP", In.NOWHERE)


def _group_name(values: Values) -> Text:
    return Text(values["group"])


AFFINITY_ROWS = (
    Request(
        "set-anti-affinity-group",
        "POST",
        f"{OF_NAMESPACE}/antiAffinity",
        "Put a namespace into an anti-affinity group, whose namespaces run on different brokers.",
        "public/default -g separate",
        (NAMESPACE, _GROUP),
        heading=PLACEMENT,
        payload=_group_name,
    ),
    Request(
        "get-anti-affinity-group",
        "GET",
        f"{OF_NAMESPACE}/antiAffinity",
        "Show the anti-affinity group of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "delete-anti-affinity-group",
        "DELETE",
        f"{OF_NAMESPACE}/antiAffinity",
        "Take a namespace out of its anti-affinity group.",
        "public/default",
        (NAMESPACE,),
        heading=PLACEMENT,
    ),
    Request(
        "get-anti-affinity-namespaces",
        "GET",
        "namespaces/{cluster}/antiAffinity/{group}",
        "List the namespaces of an anti-affinity group.",
        "-p public -c standalone -g separate",
        (
            Field("cluster", "Name of the cluster.", ("-c", "--cluster"), "CLUSTER"),
            Field("group", "Name of the anti-affinity group.", ("-g", "--group"), "GROUP"),
            Field("tenant", "Name of the tenant.", ("-p", "--tenant", "-t"), "TENANT", In.QUERY, default=None),
        ),
        Shown.NAMES,
        heading=PLACEMENT,
        column="NAMESPACE",
    ),
    Request(
        "set-bookie-affinity-group",
        "POST",
        f"{OF_NAMESPACE}/persistence/bookieAffinity",
        "Store the data of a namespace on groups of bookies.",
        "public/default -pg fast",
        (
            NAMESPACE,
            Field(
                "primary",
                "Groups of bookies to prefer, comma-separated.",
                ("-pg", "--primary-group"),
                "GROUP",
                In.BODY,
                key="bookkeeperAffinityGroupPrimary",
            ),
            Field(
                "secondary",
                "Groups of bookies to use if the others do not suffice, comma-separated.",
                ("-sg", "--secondary-group"),
                "GROUP",
                In.BODY,
                default=None,
                key="bookkeeperAffinityGroupSecondary",
            ),
        ),
        heading=PLACEMENT,
    ),
    Request(
        "get-bookie-affinity-group",
        "GET",
        f"{OF_NAMESPACE}/persistence/bookieAffinity",
        "Show the groups of bookies of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "delete-bookie-affinity-group",
        "DELETE",
        f"{OF_NAMESPACE}/persistence/bookieAffinity",
        "Let a namespace use all bookies.",
        "public/default",
        (NAMESPACE,),
        heading=PLACEMENT,
    ),
)

RESOURCE_GROUP_ROWS = (
    Request(
        "get-resource-group",
        "GET",
        f"{OF_NAMESPACE}/resourcegroup",
        "Show the resource group of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "set-resource-group",
        "POST",
        f"{OF_NAMESPACE}/resourcegroup/{{resource_group}}",
        "Put a namespace into a resource group.",
        "public/default -rgn tier1",
        (
            NAMESPACE,
            Field("resource_group", "Name of the resource group.", ("-rgn", "--resource-group-name"), "GROUP"),
        ),
        heading=PLACEMENT,
    ),
    Request(
        "remove-resource-group",
        "DELETE",
        f"{OF_NAMESPACE}/resourcegroup",
        "Take a namespace out of its resource group.",
        "public/default",
        (NAMESPACE,),
        heading=PLACEMENT,
    ),
)
