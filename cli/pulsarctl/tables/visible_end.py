"""Where readers of a topic stop: before the first message of an open transaction.

This broker says so in `stats-internal`. Apache Pulsar says it only in the statistics of the topic's transaction buffer.
What a plan passed there would never be read again, although its transaction may commit later.
"""

from typing import Any

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CliError
from pulsarctl.values.message_ids import parse_message_id

RECOVERED = "Ready"  # the state after the first transaction of a topic


def visible_stats(admin: AdminClient, topic: str) -> dict[str, Any]:
    """`stats-internal`, with `visibleEnd` if a transaction is open. Raises what the admin client raises."""
    stats = admin.topics.internal_stats(topic)
    last = parse_message_id(stats["lastConfirmedEntry"]).position
    if "visibleEnd" in stats or last[1] < 0:
        return stats
    end = _end_of_buffer(admin, topic)
    return stats if end is None or parse_message_id(end).position >= last else {**stats, "visibleEnd": end}


def _end_of_buffer(admin: AdminClient, topic: str) -> str | None:
    """None without transactions, which a broker refuses with 503, and without the permission to ask."""
    try:
        buffer = admin.transactions.buffer_stats(topic)
    except CliError:
        return None
    return str(buffer["maxReadPosition"]) if buffer.get("state") == RECOVERED else None
