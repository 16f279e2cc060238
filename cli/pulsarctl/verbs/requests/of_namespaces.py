"""The verbs of namespaces that are one request and no policy with flags of its own."""

from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.shell.arguments import csv
from pulsarctl.shell.headings import Heading
from pulsarctl.values.names import full_topic
from pulsarctl.verbs.policies.flags import one_of
from pulsarctl.verbs.requests.fields import ACTIONS_GIVEN, NAMESPACE, ROLE, SUBSCRIPTION, names, switch
from pulsarctl.verbs.requests.request import Field, Given, Place, Request, Shown

PERMISSIONS, PLACEMENT = Heading.PROPERTIES, Heading.PLACEMENT
ALGORITHMS = (
    "range_equally_divide",
    "topic_count_equally_divide",
    "specified_positions_divide",
    "flow_or_qps_equally_divide",
)
BUNDLE_TYPES = ("LARGEST", "HOT")
AUTH_MODES = ("None", "Prefix")
_OF = "namespaces/{namespace}"
_CLUSTERS = names("clusters", "Comma-separated list of clusters.", "-c", "--clusters")
_GROUP = Field("group", "Name of the anti-affinity group.", ("-g", "--group"), "GROUP", Place.WHOLE)
_KEY = Field("key", "Name of the property.", ("-k", "--key"), "KEY")


def auth_mode(text: str) -> str:
    """In any case. Raises `UsageProblem`."""
    return one_of(text.capitalize(), AUTH_MODES, "mode")


def _algorithm(text: str) -> str:
    return one_of(text.lower(), ALGORITHMS, "split algorithm")


def _boundaries(given: Given) -> list[int] | None:
    try:
        return [int(text, 0) for text in csv(given["boundaries"])] or None
    except ValueError as error:
        raise UsageProblem(
            f"a split boundary is not a number: {error}", hint="use -sb 0x40000000,0x80000000"
        ) from error


def _bundle_or_type(given: Given) -> None:
    if (given["bundle"] is None) == (given["bundle_type"] is None):
        raise UsageProblem("specify a bundle with -b or a kind of bundle with -bt, and not both")
    given["bundle"] = given["bundle"] or one_of(given["bundle_type"].upper(), BUNDLE_TYPES, "kind of bundle")


def _full_topics(text: str) -> str:
    return ",".join(full_topic(name) for name in csv([text]))


PERMISSION_ROWS = (
    Request(
        "grant-permission",
        "POST",
        f"{_OF}/permissions/{{role}}",
        "Allow a role to act on the topics of a namespace.",
        "public/default --role app --actions produce,consume",
        (NAMESPACE, ROLE, ACTIONS_GIVEN),
        heading=PERMISSIONS,
    ),
    Request(
        "revoke-permission",
        "DELETE",
        f"{_OF}/permissions/{{role}}",
        "Revoke the permissions of a role on a namespace.",
        "public/default --role app",
        (NAMESPACE, ROLE),
        heading=PERMISSIONS,
    ),
    Request(
        "subscription-permission",
        "GET",
        f"{_OF}/permissions/subscription",
        "Show the roles that may use each subscription of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.MAP,
        heading=PERMISSIONS,
    ),
    Request(
        "grant-subscription-permission",
        "POST",
        f"{_OF}/permissions/subscription/{{subscription}}",
        "Allow roles to use a subscription.",
        "public/default -s billing --roles app",
        (
            NAMESPACE,
            SUBSCRIPTION,
            names("roles", "Comma-separated list of roles.", "-rs", "--roles"),
        ),
        heading=PERMISSIONS,
    ),
    Request(
        "revoke-subscription-permission",
        "DELETE",
        f"{_OF}/permissions/{{subscription}}/{{role}}",
        "Revoke the permission of a role to use a subscription.",
        "public/default -s billing --role app",
        (NAMESPACE, SUBSCRIPTION, ROLE),
        heading=PERMISSIONS,
    ),
    Request(
        "set-property",
        "PUT",
        f"{_OF}/property/{{key}}/{{value}}",
        "Set one property of a namespace.",
        "public/default -k owner -v billing",
        (NAMESPACE, _KEY, Field("value", "Value of the property.", ("-v", "--value"), "VALUE")),
        heading=PERMISSIONS,
    ),
    Request(
        "get-property",
        "GET",
        f"{_OF}/property/{{key}}",
        "Show one property of a namespace.",
        "public/default -k owner",
        (NAMESPACE, _KEY),
        Shown.VALUE,
        heading=PERMISSIONS,
    ),
    Request(
        "remove-property",
        "DELETE",
        f"{_OF}/property/{{key}}",
        "Remove one property of a namespace, and show its former value.",
        "public/default -k owner",
        (NAMESPACE, _KEY),
        Shown.VALUE,
        heading=PERMISSIONS,
    ),
)

PLACEMENT_ROWS = (
    Request(
        "list-cluster",
        "GET",
        "namespaces/{tenant}/{cluster}",
        "List the namespaces that a tenant had in a cluster in Pulsar's first API.",
        "public/standalone",
        (Field("place", "Tenant and cluster, as TENANT/CLUSTER.", metavar="TENANT/CLUSTER", place=Place.NOWHERE),),
        Shown.NAMES,
        heading=PLACEMENT,
        column="NAMESPACE",
        hidden=True,
        check=lambda given: given.update(_tenant_and_cluster(given["place"])),
    ),
    Request(
        "set-clusters",
        "POST",
        f"{_OF}/replication",
        "Set the clusters that a namespace is replicated to.",
        "public/default -c standalone",
        (NAMESPACE, _CLUSTERS),
        heading=PLACEMENT,
    ),
    Request(
        "set-allowed-clusters",
        "POST",
        f"{_OF}/allowedClusters",
        "Set the clusters that topics of a namespace may be replicated to.",
        "public/default -c standalone",
        (NAMESPACE, _CLUSTERS),
        heading=PLACEMENT,
    ),
    Request(
        "get-allowed-clusters",
        "GET",
        f"{_OF}/allowedClusters",
        "List the clusters that topics of a namespace may be replicated to.",
        "public/default",
        (NAMESPACE,),
        Shown.NAMES,
        heading=PLACEMENT,
        column="CLUSTER",
    ),
    Request(
        "set-anti-affinity-group",
        "POST",
        f"{_OF}/antiAffinity",
        "Keep a namespace on other brokers than the other namespaces of a group.",
        "public/default -g separate",
        (NAMESPACE, _GROUP),
        heading=PLACEMENT,
    ),
    Request(
        "get-anti-affinity-group",
        "GET",
        f"{_OF}/antiAffinity",
        "Show the anti-affinity group of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "delete-anti-affinity-group",
        "DELETE",
        f"{_OF}/antiAffinity",
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
            Field("tenant", "Name of the tenant.", ("-p", "--tenant", "-t"), "TENANT", Place.QUERY, default=None),
        ),
        Shown.NAMES,
        heading=PLACEMENT,
        column="NAMESPACE",
    ),
    Request(
        "set-bookie-affinity-group",
        "POST",
        f"{_OF}/persistence/bookieAffinity",
        "Store the data of a namespace on groups of bookies.",
        "public/default -pg fast",
        (
            NAMESPACE,
            Field(
                "primary",
                "Groups of bookies to prefer, comma-separated.",
                ("-pg", "--primary-group"),
                "GROUP",
                Place.BODY,
                key="bookkeeperAffinityGroupPrimary",
            ),
            Field(
                "secondary",
                "Groups of bookies to use if the others do not suffice, comma-separated.",
                ("-sg", "--secondary-group"),
                "GROUP",
                Place.BODY,
                default=None,
                key="bookkeeperAffinityGroupSecondary",
            ),
        ),
        heading=PLACEMENT,
    ),
    Request(
        "get-bookie-affinity-group",
        "GET",
        f"{_OF}/persistence/bookieAffinity",
        "Show the groups of bookies of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "delete-bookie-affinity-group",
        "DELETE",
        f"{_OF}/persistence/bookieAffinity",
        "Let a namespace use all bookies.",
        "public/default",
        (NAMESPACE,),
        heading=PLACEMENT,
    ),
    Request(
        "split-bundle",
        "PUT",
        f"{_OF}/{{bundle}}/split",
        "Split a bundle of a namespace in two or more.",
        "public/default -b 0x00000000_0x40000000",
        (
            NAMESPACE,
            Field("bundle", "Range of the bundle.", ("-b", "--bundle"), "BUNDLE", Place.PATH, default=None),
            Field(
                "bundle_type",
                f"Kind of bundle to choose: {' or '.join(BUNDLE_TYPES)}.",
                ("-bt", "--bundle-type"),
                "KIND",
                Place.NOWHERE,
                default=None,
            ),
            switch("unload", "unload", "Unload the new bundles.", "-u", "--unload", place=Place.QUERY),
            Field(
                "algorithm",
                f"Where to split: {', '.join(ALGORITHMS)}.",
                ("-san", "--split-algorithm-name"),
                "NAME",
                Place.QUERY,
                default=None,
                key="splitAlgorithmName",
                read=_algorithm,
            ),
            Field(
                "boundaries",
                "Hashes at which to split, for specified_positions_divide.",
                ("-sb", "--split-boundaries"),
                "N,...",
                Place.NOWHERE,
                list[str],
                None,
            ),
        ),
        heading=PLACEMENT,
        check=_bundle_or_type,
        body=_boundaries,
    ),
    Request(
        "get-topic-positions",
        "GET",
        f"{_OF}/{{bundle}}/topicHashPositions",
        "Show the hashes of topics in a bundle.",
        "public/default -b 0x00000000_0x40000000",
        (
            NAMESPACE,
            Field("bundle", "Range of the bundle.", ("-b", "--bundle"), "BUNDLE"),
            Field(
                "topics",
                "Comma-separated list of topics. Default: all topics of the bundle.",
                ("-tl", "--topic-list"),
                "TOPIC,...",
                Place.QUERY,
                default=None,
                read=_full_topics,
            ),
        ),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "update-migration-state",
        "POST",
        f"{_OF}/migration",
        "Say whether a namespace has moved to another cluster.",
        "public/default --migrated",
        (NAMESPACE, switch("migrated", "migrated", "The namespace has moved.", "--migrated", place=Place.QUERY)),
        heading=PLACEMENT,
        body=lambda given: given["migrated"],
    ),
    Request(
        "get-resource-group",
        "GET",
        f"{_OF}/resourcegroup",
        "Show the resource group of a namespace.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=PLACEMENT,
    ),
    Request(
        "set-resource-group",
        "POST",
        f"{_OF}/resourcegroup/{{resource_group}}",
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
        f"{_OF}/resourcegroup",
        "Take a namespace out of its resource group.",
        "public/default",
        (NAMESPACE,),
        heading=PLACEMENT,
    ),
)

POLICY_ROWS = (
    Request(
        "get-subscription-auth-mode",
        "GET",
        f"{_OF}/subscriptionAuthMode",
        "Show which names subscriptions may have.",
        "public/default",
        (NAMESPACE,),
        Shown.VALUE,
        heading=Heading.DELIVERY,
    ),
    Request(
        "set-subscription-auth-mode",
        "POST",
        f"{_OF}/subscriptionAuthMode",
        "Require the role of a client as the prefix of its subscriptions, or allow any name.",
        "public/default -m Prefix",
        (
            NAMESPACE,
            Field("mode", "None or Prefix.", ("-m", "--subscription-auth-mode"), "MODE", Place.WHOLE, read=auth_mode),
        ),
        heading=Heading.DELIVERY,
    ),
)

ROWS = (*PERMISSION_ROWS, *PLACEMENT_ROWS, *POLICY_ROWS)


def _tenant_and_cluster(text: str) -> dict[str, Any]:
    tenant, separator, cluster = text.partition("/")
    if not separator or not tenant or not cluster:
        raise UsageProblem(f"'{text}' is not TENANT/CLUSTER")
    return {"tenant": tenant, "cluster": cluster}
