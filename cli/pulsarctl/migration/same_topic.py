"""Whether source and target are one cluster under two addresses, such as localhost and 127.0.0.1.

Its topics would be copied to themselves, and a switch would send their clients back to where they are, forever.
"""

from collections.abc import Sequence

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import UsageProblem
from pulsarctl.migration.holds import HOLD, hold, release
from pulsarctl.migration.topic_copy import PartitionCopy


def refuse_same(parts: Sequence[PartitionCopy]) -> None:
    """Holds the target of the first part that is to be copied. Raises `UsageProblem` if that holds its source."""
    part = next((candidate for candidate in parts if not candidate.has_moved), None)
    if part is None:
        return
    here, there = part.source.admin(), part.target.admin()
    try:
        if _is_held(here, part.source_topic):  # by an earlier run, which has passed this check
            return
        hold(there, part.target_topic)
        if _is_held(here, part.source_topic):
            release(there, part.target_topic)
            raise UsageProblem(
                f"cannot copy {part.source_topic} to itself: "
                f"{part.source.name} and {part.target.name} are the same cluster",
                hint="check the addresses with: pulsarctl context show --resolved",
            )
    finally:
        here.close()
        there.close()


def _is_held(admin: AdminClient, topic: str) -> bool:
    return HOLD in admin.topics.internal_stats(topic).get("cursors", {})
