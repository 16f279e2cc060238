"""The verbs of namespaces that are one request and no policy with flags of its own, in the order of the help."""

from pulsarctl.commands.namespaces.bundles import BUNDLE_ROWS
from pulsarctl.commands.namespaces.clusters import CLUSTER_ROWS, MIGRATION_ROWS
from pulsarctl.commands.namespaces.groups import AFFINITY_ROWS, RESOURCE_GROUP_ROWS
from pulsarctl.commands.namespaces.permissions import AUTH_MODE_ROWS, PERMISSION_ROWS
from pulsarctl.requests.auto_scale import auto_scale_requests
from pulsarctl.requests.fields import NAMESPACE, OF_NAMESPACE
from pulsarctl.shell.headings import Heading

AUTO_SCALE_ROWS = auto_scale_requests(
    "namespace",
    "scalable-topic-auto-scale-policy",
    f"{OF_NAMESPACE}/scalableTopicAutoScalePolicy",
    NAMESPACE,
    "public/default",
    Heading.LIMITS,
)

ROWS = (
    *PERMISSION_ROWS,
    *CLUSTER_ROWS,
    *AFFINITY_ROWS,
    *BUNDLE_ROWS,
    *MIGRATION_ROWS,
    *RESOURCE_GROUP_ROWS,
    *AUTH_MODE_ROWS,
    *AUTO_SCALE_ROWS,
)
