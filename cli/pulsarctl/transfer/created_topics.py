"""When partitions were created. One that was deleted and created again has lost what was sent, under the same name."""

from collections.abc import Mapping

from pulsarctl.admin.client import AdminClient
from pulsarctl.errors import Conflict
from pulsarctl.tables.same_topic import created_at
from pulsarctl.transfer.target import Target, create


def target_created_at(admin: AdminClient, target: Target, *, must_tell: bool) -> dict[str, str]:
    """The creation times of a target. Empty if the admin API does not report them.

    Creates partitions that are missing, so that each has a time before it has messages; but not if the API must tell,
    since then there are messages already.
    """
    created = created_at(admin, target.partitions, must_tell=must_tell)
    if created is None or must_tell or len(created) == len(target.partitions):
        return created or {}
    create(target.access, target.topic, [name for name in target.partitions if name not in created])
    return created_at(admin, target.partitions, must_tell=must_tell) or {}


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
