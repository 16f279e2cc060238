"""Every route of the admin API: one line per module."""

from __future__ import annotations

from broker_core.admin import (
    brokers,
    clusters,
    lookup,
    namespaces,
    policies,
    stats,
    subscriptions,
    tenants,
    topics,
)
from broker_core.admin.routes import Routes


def all_routes() -> Routes:
    return Routes(
        (
            *brokers.ROUTES,
            *clusters.ROUTES,
            *tenants.ROUTES,
            *namespaces.ROUTES,
            *policies.ROUTES,
            *topics.ROUTES,
            *stats.ROUTES,
            *subscriptions.ROUTES,
            *lookup.ROUTES,
        )
    )
