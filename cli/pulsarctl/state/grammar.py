"""The grammar of a document: its sections, objects, and settings; and the check of a whole document."""

from typing import Any

from pulsarctl.errors import UsageProblem
from pulsarctl.policies.values import PERMISSIONS
from pulsarctl.schemas.schema_files import TYPES
from pulsarctl.state import scalable, settings
from pulsarctl.state.documents import Map, mark_of
from pulsarctl.state.scope import EVERYTHING
from pulsarctl.values.names import full_topic, is_partition, namespace_path, scalable_topic
from pulsarctl.values.shapes import REQUIRED, Anything, Fields, Member, Named, Names, Number, Path, Text, Truth

PROBLEMS_SHOWN = 20
POSITIONS = ("earliest", "latest")
CLUSTER_TEXTS = (
    "serviceUrl",
    "serviceUrlTls",
    "brokerServiceUrl",
    "brokerServiceUrlTls",
    "proxyServiceUrl",
    "proxyProtocol",
    "authenticationPlugin",
    "authenticationParameters",
    "brokerClientTrustCertsFilePath",
    "brokerClientKeyFilePath",
    "brokerClientCertificateFilePath",
    "listenerName",
)
CLUSTER_SWITCHES = ("brokerClientTlsEnabled", "tlsAllowInsecureConnection")


def check(document: Map) -> dict[str, Any]:
    """The document in the form that brokers store. Raises `UsageProblem` with file and line of each mistake."""
    problems: list[str] = []

    def report(at: Path, problem: str) -> None:
        mark = mark_of(document, at)
        where = f"{mark[0]}:{mark[1]}: " if mark else ""
        problems.append(f"{where}{'.'.join(at)}{': ' if at else ''}{problem}")

    checked: dict[str, Any] = DOCUMENT.read(document, (), report)
    if problems:
        raise _refused(problems)
    return checked


def _refused(problems: list[str]) -> UsageProblem:
    shown = problems[:PROBLEMS_SHOWN]
    if len(problems) > len(shown):
        shown.append(f"and {len(problems) - len(shown)} more")
    if len(problems) == 1:
        return UsageProblem(problems[0], hint="docs/how-to/declarative.md describes the files")
    return UsageProblem(
        f"{len(problems)} mistakes in the files", details=shown, hint="docs/how-to/declarative.md describes the files"
    )


def _name_of_tenant(name: str) -> str | None:
    return "a tenant's name has no '/'" if "/" in name or not name else None


def _name_of_namespace(name: str) -> str | None:
    try:
        namespace_path(name)
    except UsageProblem as problem:
        return f"{problem.message}; {problem.hint}"
    return None


def _name_of_topic(name: str) -> str | None:
    try:
        full_topic(name)
    except UsageProblem as problem:
        return f"{problem.message}; {problem.hint}"
    return "a partition is no topic of its own: name the partitioned topic" if is_partition(name) else None


def _name_of_scalable_topic(name: str) -> str | None:
    try:
        scalable_topic(name)
    except UsageProblem as problem:
        return f"{problem.message}; {problem.hint}"
    return None


def _policies(table: dict[str, settings.Setting], level: str) -> Fields:
    return Fields(
        tuple(Member(setting.name, setting.shape, help=setting.help) for setting in table.values()),
        f"policy of a {level}",
    )


PROPERTIES = Named(Text(), "property")
SCHEMA = Fields(
    (
        Member("type", Text(TYPES), REQUIRED, "Type of the schema."),
        Member("schema", Anything(), help="Definition, as an object or as text. Primitive types have none."),
        Member("properties", PROPERTIES, help="Properties that a new version gets. They are not compared."),
    ),
    "key of a schema",
)
SUBSCRIPTION = Fields(
    (
        Member("position", Text(POSITIONS), help="Where a new subscription starts. Default: latest."),
        Member("properties", PROPERTIES),
    ),
    "key of a subscription",
)
CLUSTER = Fields(
    (
        *(Member(name, Text()) for name in CLUSTER_TEXTS),
        *(Member(name, Truth()) for name in CLUSTER_SWITCHES),
        Member("peerClusterNames", Names()),
    ),
    "key of a cluster",
)
TENANT = Fields(
    (
        Member("adminRoles", Names(), help="Roles that may administer the tenant."),
        Member("allowedClusters", Names(), help="Clusters that the tenant may use. Default: the broker's own."),
    ),
    "key of a tenant",
)
NAMESPACE = Fields(
    (
        Member("bundles", Number(least=1), help="Number of bundles of a new namespace. It is not compared."),
        Member("properties", PROPERTIES),
        Member("policies", _policies(settings.NAMESPACE, "namespace"), help="Policies, by the names of their verbs."),
        Member("permissions", PERMISSIONS, help="Actions by role."),
        Member("subscription-permissions", Named(Names(least=1), "subscription"), help="Roles by subscription."),
    ),
    "key of a namespace",
)
TOPIC = Fields(
    (
        Member("partitions", Number(), help="Number of partitions; 0 or absent for a topic without."),
        Member("properties", PROPERTIES),
        Member("policies", _policies(settings.TOPIC, "topic"), help="Policies, by the names of their verbs."),
        Member("permissions", PERMISSIONS, help="Actions by role."),
        Member("schema", SCHEMA, help="The latest version of the schema."),
        Member("subscriptions", Named(SUBSCRIPTION, "subscription", nullable=True)),
    ),
    "key of a topic",
)
SCALABLE_TOPIC = Fields(
    (
        Member(scalable.SEGMENTS, Number(least=1), help="Number of segments of a new topic. It is not compared."),
        Member("properties", PROPERTIES, help="Properties of a new topic."),
        Member("policies", _policies(scalable.POLICIES, scalable.KIND), help="Policies, by the names of their verbs."),
    ),
    f"key of a {scalable.KIND}",
)
DOCUMENT = Fields(
    (
        Member(
            "scope",
            Names(),
            help=f"What this document describes completely: a tenant, TENANT/NAMESPACE, or '{EVERYTHING}' for the"
            " cluster. Only there does --prune delete what the document leaves out.",
        ),
        Member("clusters", Named(CLUSTER, "cluster", _name_of_tenant, nullable=True), help="Other clusters, by name."),
        Member("tenants", Named(TENANT, "tenant", _name_of_tenant, nullable=True), help="Tenants, by name."),
        Member(
            "namespaces",
            Named(NAMESPACE, "namespace", _name_of_namespace, nullable=True),
            help="Namespaces, by TENANT/NAMESPACE.",
        ),
        Member("topics", Named(TOPIC, "topic", _name_of_topic, nullable=True), help="Topics, by name."),
        Member(
            scalable.SECTION,
            Named(SCALABLE_TOPIC, scalable.KIND, _name_of_scalable_topic, nullable=True),
            help="Scalable topics, by name. Only brokers of Pulsar 5.0 and later have them.",
        ),
    )
)
