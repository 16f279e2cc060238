"""Every route of the admin API: one line per module."""

from __future__ import annotations

from broker_core.admin import (
    auto_scale,
    backlogs,
    bookies,
    broker_stats,
    brokers,
    bundles,
    clusters,
    configuration,
    console_routes,
    failure_domains,
    isolation_policies,
    lookup,
    message_ids,
    messages,
    namespace_backlog,
    namespace_settings,
    namespaces,
    offload,
    openapi,
    other_services,
    pending_acks,
    permissions,
    permissions_asked,
    policies,
    produce,
    quotas,
    replication,
    resource_groups,
    resource_quotas,
    scalable,
    schemas,
    segment_logs,
    segments,
    stats,
    subscriptions,
    tenants,
    topic_migration,
    topic_properties,
    topic_settings,
    topics,
    transactions,
)
from broker_core.admin.routes import Routes


def all_routes() -> Routes:
    listed = (
        *brokers.ROUTES,
        *configuration.ROUTES,
        *clusters.ROUTES,
        *failure_domains.ROUTES,
        *isolation_policies.ROUTES,
        *tenants.ROUTES,
        *namespaces.ROUTES,
        *bundles.ROUTES,
        *namespace_backlog.ROUTES,
        *offload.ROUTES,
        *namespace_settings.ROUTES,
        *permissions.ROUTES,
        *permissions_asked.ROUTES,
        *policies.ROUTES,
        *quotas.ROUTES,
        *replication.ROUTES,
        *topics.ROUTES,
        *message_ids.ROUTES,
        *messages.ROUTES,
        *topic_migration.ROUTES,
        *topic_properties.ROUTES,
        *topic_settings.ROUTES,
        *stats.ROUTES,
        *subscriptions.ROUTES,
        *schemas.ROUTES,
        *backlogs.ROUTES,
        *broker_stats.ROUTES,
        *resource_groups.ROUTES,
        *resource_quotas.ROUTES,
        *bookies.ROUTES,
        *lookup.ROUTES,
        *produce.ROUTES,
        *scalable.ROUTES,
        *auto_scale.ROUTES,
        *segments.ROUTES,
        *segment_logs.ROUTES,
        *transactions.ROUTES,
        *pending_acks.ROUTES,
        *other_services.ROUTES,
    )
    return Routes((*listed, *openapi.routes(listed)))


def served_routes() -> Routes:
    """The admin API, and the console that asks it."""
    api = all_routes()
    return Routes((*api.listed, *console_routes.routes(api)))
