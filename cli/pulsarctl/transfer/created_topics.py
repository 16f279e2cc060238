"""When partitions were created. One that was deleted and created again has lost what was sent, under the same name."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import CannotConnect, Conflict, NotAuthorized, NotFound, TimedOut
from pulsarctl.transfer.target import Target, create


def created_at(admin: AdminClient, names: Sequence[str], *, must_tell: bool) -> dict[str, str] | None:
    """The times of those that exist, by their names. None if the admin API does not tell, unless it must."""
    try:
        return _creation_dates(admin, names)
    except (NotAuthorized, CannotConnect, TimedOut):
        if must_tell:
            raise
        return None


def target_created_at(admin: AdminClient, target: Target, *, must_tell: bool) -> dict[str, str]:
    """Those of a target. Empty if the admin API does not tell.

    Creates partitions that are missing, so that each has a time before it has messages; but not if the API must tell,
    since then there are messages already.
    """
    found = created_at(admin, target.partitions, must_tell=must_tell)
    if found is None or must_tell or len(found) == len(target.partitions):
        return found or {}
    create(target.access, target.topic, [name for name in target.partitions if name not in found])
    return created_at(admin, target.partitions, must_tell=must_tell) or {}


def _creation_dates(admin: AdminClient, names: Sequence[str]) -> dict[str, str]:
    """Statistics tell whether a partition exists: what is stored about a missing one is an error 500."""
    found: dict[str, str] = {}
    for name in names:
        with suppress(NotFound):
            admin.topics.stats(name)
            found[name] = str(admin.topics.internal_info(name)["creationDate"])
    return found


def check_partitions(doing: str, before: int, now: int) -> None:
    """Raises `Conflict` if keys may have moved to other partitions. `before` is 0 if it is unknown."""
    if before not in (0, now):
        raise Conflict(
            f"cannot continue the {doing}: it has {now} partitions, and had {before}",
            hint="delete the topic and use --again, or use --again to send everything once more",
        )


def check_created(doing: str, before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raises `Conflict` for the first partition whose messages are gone. There may be more partitions than before."""
    for name, time in before.items():
        if now.get(name) != time:
            raise Conflict(
                f"cannot continue the {doing}: {name} was deleted or created again since",
                hint="use --again to send everything once more",
            )
