"""Message IDs that ascend from the source to the copy, so that clients that move skip nothing.

Official clients remember their last cumulative acknowledgment when they connect again, and take messages whose IDs are
not above it for repeated ones (`AckGroupingTracker::isDuplicate` in C++, `ackGroupingTracker` in Go). Each cluster
numbers its own ledgers, so a consumer would skip messages of a copy with smaller IDs, and wait forever.

A bundled broker as the target opens ledgers with greater IDs. Apache Pulsar cannot. There, clients that acknowledge
cumulatively move only if its IDs happen to be greater.
"""

from collections.abc import Mapping

from pulsarctl.admin.client import AdminClient
from pulsarctl.backlog.ledgers import ledgers
from pulsarctl.errors import Conflict, NotAuthorized, NotFound
from pulsarctl.migration.endpoint import Endpoint
from pulsarctl.migration.runs import Position, Runs
from pulsarctl.values.message_ids import parse_message_id


def last_known(admin: AdminClient, topic: str) -> Position:
    """The greatest position that a consumer may have acknowledged; the entry may be trimmed since."""
    internal = admin.topics.internal_stats(topic)
    marks = (cursor["markDeletePosition"] for cursor in internal["cursors"].values())
    return max(parse_message_id(text).position for text in (internal["lastConfirmedEntry"], *marks))


def raise_ids(admin: AdminClient, topic: str, above: int) -> None:
    """Let later entries of the copy have greater ledger IDs, if its broker can do that and the role may ask for it.

    `refuse_skipping` finds out whether it was done.
    """
    if above < 0:
        return
    try:
        admin.topics.open_ledger_above(topic, above)
    except (NotFound, NotAuthorized):
        return


def refuse_skipping(
    source: Endpoint,
    source_topic: str,
    target: Endpoint,
    target_topic: str,
    *,
    copied: Runs,
    first_left: Mapping[str, int],
) -> None:
    """Raises `Conflict` for a subscription that is about to move, if a client of it would skip messages of the copy.

    `first_left`: the number of the first entry that each subscription has left.
    """
    there, here = source.admin(), target.admin()
    try:
        skipping = there.topics.migration(source_topic).get("maySkip", [])
        if not skipping:
            return
        kept = ledgers(here.topics.internal_stats(target_topic))
        stored = Runs.of_ledgers(kept)
        next_is_above = bool(kept) and (kept[-1].id, kept[-1].last + 1) > last_known(there, source_topic)
    finally:
        there.close()
        here.close()
    for name in sorted(first_left.keys() & set(skipping)):
        if not (next_is_above and stored.is_above(copied, first_left[name])):
            raise Conflict(
                f"cannot send the consumers of {source_topic} to {target.name}: those of subscription {name} may "
                "acknowledge cumulatively, and would skip messages of the copy, whose IDs are smaller",
                hint="stop these consumers, run the same command again, and start them again",
            )
