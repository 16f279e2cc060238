"""Fields of a namespace that this broker stores and shows as they were sent. Pure.

Five of them have an effect: `auth_policies` (`metadata.tenancy.permissions`), `allowed_clusters`
(`metadata.tenancy.replication`), `migrated` (`topic.migration`), `scalableTopicAutoScalePolicy`
(`metadata.policies.auto_scale`), and `resource_group_name`, whose group cannot be deleted. The others belong to
features that the broker does not have. Most are fields of Pulsar's `Policies` object; `LOCAL_FIELDS` are not, and so
not shown in it. A field of `PolicySet` must not be listed here: after a restart the stored value would replace the one
that was set.
"""

from collections.abc import Mapping
from typing import Any

from broker_core.metadata.policies.auto_scale import AUTO_SCALE, read_override
from broker_core.metadata.policies.json_values import (
    Fields,
    Reader,
    mapping,
    mapping_of,
    names,
    plain_object,
    string,
    truth,
    whole_number,
)


def _list_of_names(value: Any, name: str) -> list[str]:
    return list(names(value, name))


def _auth_policies(value: Any, name: str) -> dict[str, Any]:
    """Permissions: actions by role, by topic and role, and roles by subscription."""
    fields = Fields(mapping(value, name))
    by_name = mapping_of(_list_of_names)
    return {
        "namespace_auth": fields.read("namespace_auth", by_name, {}),
        "destination_auth": fields.read("destination_auth", mapping_of(by_name), {}),
        "subscription_auth_roles": fields.read("subscription_auth_roles", by_name, {}),
    }


AUTH_POLICIES = "auth_policies"
ALLOWED_CLUSTERS = "allowed_clusters"
ENTRY_FILTERS = "entryFilters"
RESOURCE_GROUP = "resource_group_name"
ANTI_AFFINITY = "antiAffinityGroup"
AFFINITY = "bookieAffinityGroup"
MIGRATED = "migrated"
LOCAL_FIELDS = (ANTI_AFFINITY, AFFINITY)

KEPT: Mapping[str, Reader] = {
    AUTH_POLICIES: _auth_policies,
    ALLOWED_CLUSTERS: _list_of_names,
    "latency_stats_sample_rate": mapping_of(whole_number),
    "deleted": truth,
    RESOURCE_GROUP: string,
    ANTI_AFFINITY: string,
    AFFINITY: plain_object,
    MIGRATED: truth,
    ENTRY_FILTERS: plain_object,
    "replicate_subscription_state": truth,
    AUTO_SCALE: read_override,
}


def read_kept(fields: Fields) -> dict[str, Any]:
    values = {name: fields.read(name, read) for name, read in KEPT.items()}
    return {name: value for name, value in values.items() if value is not None}
