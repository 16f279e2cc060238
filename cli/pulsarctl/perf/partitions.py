"""The partitioned topics of a measurement, which it creates before."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pulsarctl.errors import Conflict

if TYPE_CHECKING:
    from pulsarctl.admin.client import AdminClient


def create_partitioned(admin: "AdminClient", topics: Sequence[str], count: int) -> None:
    """Creates those that do not exist. Raises `Conflict` if one has another number of partitions."""
    for topic in topics:
        try:
            admin.topics.create_partitioned(topic, count, {})
        except Conflict:
            existing = admin.topics.partitions(topic)
            if existing != count:
                raise Conflict(
                    f"cannot measure {topic} with {count} partitions: it exists with {existing or 'none'}",
                    hint="leave out -np, or delete the topic",
                ) from None
