"""Every route of the admin API: one line per module."""

from __future__ import annotations

from broker_core.admin import (
    brokers,
    clusters,
    configuration,
    failure_domains,
    isolation_policies,
    lookup,
    message_ids,
    messages,
    namespace_backlog,
    namespaces,
    offload,
    permissions,
    policies,
    quotas,
    replication,
    schemas,
    stats,
    subscriptions,
    tenants,
    topic_properties,
    topics,
)
from broker_core.admin.routes import Routes


def all_routes() -> Routes:
    return Routes(
        (
            *brokers.ROUTES,
            *configuration.ROUTES,
            *clusters.ROUTES,
            *failure_domains.ROUTES,
            *isolation_policies.ROUTES,
            *tenants.ROUTES,
            *namespaces.ROUTES,
            *namespace_backlog.ROUTES,
            *offload.ROUTES,
            *permissions.ROUTES,
            *policies.ROUTES,
            *quotas.ROUTES,
            *replication.ROUTES,
            *topics.ROUTES,
            *message_ids.ROUTES,
            *messages.ROUTES,
            *topic_properties.ROUTES,
            *stats.ROUTES,
            *subscriptions.ROUTES,
            *schemas.ROUTES,
            *lookup.ROUTES,
        )
    )
