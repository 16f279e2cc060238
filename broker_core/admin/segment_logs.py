"""`/admin/v2/segments`: ledgers, messages, and tiered storage of single segments, which Pulsar has for topics only.

Jobs that read a scalable topic need them. The permissions are those of the scalable topic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.admin import message_ids, messages, offload, stats
from broker_core.admin.routes import Route
from broker_core.admin.scalable import if_enabled
from broker_core.admin.shapes import POSITION
from broker_core.names import SCALABLE
from broker_core.security.operations import on_topic

if TYPE_CHECKING:
    from broker_core.admin.call import Handler


def _route(method: str, path: str, handler: Handler, operation: str, **more: Any) -> Route:
    path = f"/admin/v2/segments/{{tenant}}/{{namespace}}/{{topic}}/{{descriptor}}/{path}"
    return Route(method, path, if_enabled(handler), on_topic(operation), domain=SCALABLE, **more)


ROUTES = (
    _route("GET", "stats", stats.stats, "GET_STATS", query=stats.STATS_QUERY),
    _route("GET", "internalStats", stats.internal_stats, "GET_STATS", query=("metadata",)),
    _route("GET", "internal-info", stats.internal_info, "GET_STATS"),
    _route("GET", "messageid/{timestamp}", message_ids.message_id_by_time, "PEEK_MESSAGES"),
    _route("GET", "ledger/{ledger}/entry/{entry}", messages.get_message, "PEEK_MESSAGES"),
    _route("PUT", "offload", offload.start, "OFFLOAD", body=POSITION),
    _route("GET", "offload", offload.status, "OFFLOAD"),
    _route("POST", "offload/restore", offload.restore, "OFFLOAD"),
)
